/** @module-tag slow */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { generateCompletions } from '../../src/build/completions.mjs'
import type { CommandTree } from '../../src/cli/command-tree.ts'
import { cli } from '../cli/harness.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

// Checks the text of the script without running it. Where PowerShell is installed, static.test.ts runs it.

let dir: string
let script: string
let tree: CommandTree

beforeAll(async () => {
  dir = await temporaryFolder('gdn-powershell-', whenFileDone)
  await generateCompletions(dir)
  script = await readFile(join(dir, 'completions', 'gdn.ps1'), 'utf8')
  tree = JSON.parse((await cli(['help', '--json'], { env: { HOME: dir } })).stdout)
})

/** The script without strings and comments. */
const bare = () => script.replaceAll(/'(?:[^']|'')*'|"(?:[^"`]|`.|"")*"|#.*$/gm, '')

/** Reads the table with that name as PowerShell does. */
function table(name: string): Map<string, string> {
  const body = new RegExp(`^  \\$${name} = @\\{\\n([^]*?)^  \\}$`, 'm').exec(script)?.[1] ?? ''
  const unquoted = (text = '') => text.replaceAll("''", "'")
  return new Map(
    [...body.matchAll(/^ {4}'((?:[^']|'')*)' = '((?:[^']|'')*)'$/gm)].map(([, key, text]) => [
      unquoted(key),
      unquoted(text),
    ]),
  )
}

test('the script for PowerShell closes every string, bracket and brace that it opens', () => {
  const open: string[] = []
  const pairs: Record<string, string> = { ')': '(', ']': '[', '}': '{' }
  for (const char of bare()) {
    if ('([{'.includes(char)) open.push(char)
    else if (char in pairs) expect(open.pop()).toBe(pairs[char])
    else expect(char).not.toMatch(/['"]/)
  }
  expect(open).toEqual([])
})

test('the script for PowerShell has every command and flag, and every value that a flag accepts', () => {
  const [bundles, flags, words, values] = ['bundles', 'flags', 'words', 'values'].map(table)
  for (const command of tree.commands) {
    const [noun = '', verb] = command.name.split(' ')
    expect(words?.get(verb === undefined ? '' : noun)).toMatch(new RegExp(`^${verb ?? noun} `, 'm'))
    const lines = (bundles?.get(command.name) ?? '').split(' ').flatMap((id) => flags?.get(id)?.split('\n') ?? [])
    for (const flag of command.flags) {
      const [, short, takes, ...summary] = lines.find((line) => line.startsWith(`${flag.name} `))?.split(' ') ?? []
      expect({ short, summary: summary.join(' ') }, `${command.name} ${flag.name}`).toEqual({
        short: flag.short ?? '-',
        summary: flag.summary,
      })
      if (flag.values !== null)
        expect(values?.get((takes ?? '').slice(1).replace('+', ''))?.split('\n')).toEqual(flag.values)
    }
  }
})
