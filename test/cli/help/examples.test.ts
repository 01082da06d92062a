/** @module-tag slow */
import { expect, test } from 'vitest'
import { evmAddressProblem } from '../../../src/api/address.ts'
import { KNOWN_NAMES } from '../../../src/api/blockchains.ts'
import { findRetirement } from '../../../src/api/retired.ts'
import { COMMANDS, makeCommand, type Verb } from '../../../src/cli/catalogue.ts'
import type { Deps } from '../../../src/cli/deps.ts'
import { HELP_TOPICS } from '../../../src/cli/help/topics.ts'
import { eachCase } from '../../helpers/each-case.ts'
import { cli } from '../harness.ts'

const PAGES: string[] = [
  'help',
  ...COMMANDS.map(({ command }) => `${command} --help`),
  ...HELP_TOPICS.map(({ name }) => `help ${name}`),
]

const known = new Map<string, Promise<string[]>>()

/** The lines of the examples that a user would type, without comments. */
function typedLines(page: string): Promise<string[]> {
  const lines = known.get(page) ?? readLines(page)
  known.set(page, lines)
  return lines
}

async function readLines(page: string): Promise<string[]> {
  const { stdout } = await cli(page.split(' '), { columns: 120 })
  const [, examples = ''] = /EXAMPLES\n([\s\S]*?)\n\n[A-Z]/.exec(stdout) ?? []
  return examples.split('\n').filter((line) => /^( {2}\$| {3}) \S/.test(line))
}

test('examples can be pasted: they contain no placeholders, and every address is valid', async () => {
  await eachCase(PAGES, async (page) => {
    const lines = await typedLines(page)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.filter((line) => /…|\.\.\.|<[a-z]+>/.test(line))).toEqual([])
    const addresses = lines.join('\n').match(/\b0x(?![0-9a-f]{64}\b)\w*/g) ?? []
    expect(addresses.filter((address) => evmAddressProblem(address) !== null)).toEqual([])
  })
})

test('examples name no network that was retired', async () => {
  const retired = KNOWN_NAMES.filter((name) => findRetirement(name) !== null)
  expect(retired).not.toEqual([])
  await eachCase(PAGES, async (page) => {
    const words = (await typedLines(page)).join(' ').split(/\s+/)
    expect(words.filter((word) => retired.some((name) => name === word))).toEqual([])
  })
})

test('examples use only flags that the help of their command lists', async () => {
  const verbs = new Map(COMMANDS.map((verb) => [verb.command, verb]))
  await eachCase([...verbs.keys()], async (name) => {
    const verb = verbs.get(name) as Verb
    const command = await makeCommand(verb, {} as Deps)
    const visible = command.createHelp().visibleOptions(command)
    const known = visible.flatMap(({ long, short }) => [long, short])
    const own = new RegExp(`^(?:\\S+=\\S+ )*gdn ${verb.command}(?= |$)`)
    const commands = command.text.examples
      .map(([, ...lines]) => lines.join('\n').replaceAll(/\\\n\s*/g, ''))
      .flatMap((text) => text.split(/\n| (?:\||&&|;|>) | -- /))
      .map((part) => part.trim())
      .filter((part) => own.test(part))
    const flags = commands.flatMap((part) => part.match(/(?<= )--?[a-z][a-z-]*/g) ?? [])
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([])
  })
})

test('examples quote what zsh expands or rejects: [, ], ?, * and !', async () => {
  await eachCase(PAGES, async (page) => {
    const unquoted = (await typedLines(page)).map((line) => line.replaceAll(/'[^']*'|"(?:[^"\\]|\\.)*"|\$\?/g, ''))
    // In a shell test, brackets have spaces around them.
    expect(unquoted.filter((line) => /[?*!]|\[(?! )|(?<! )\]/.test(line))).toEqual([])
  })
})

test('examples contain complete IDs', async () => {
  await eachCase(PAGES, async (page) => {
    const ids = (await typedLines(page)).join('\n').match(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]*/g) ?? []
    expect(ids.filter((id) => !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))).toEqual([])
  })
})

test('the examples of completion create the folder that a completion script is written to', async () => {
  const lines = await typedLines('completion --help')
  const folders = lines.flatMap((line) => / > (\S+)\/[^/]+$/.exec(line)?.[1] ?? [])
  expect(folders.length).toBe(3)
  for (const folder of folders) expect(lines).toContain(`  $ mkdir -p ${folder}`)
})
