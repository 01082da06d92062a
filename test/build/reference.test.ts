/** @module-tag slow */
import { spawnSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { manPage } from '../../src/build/man-page.mjs'
import { generateReference, manPageFile } from '../../src/build/reference.mjs'
import type { CommandTree } from '../../src/cli/command-tree.ts'
import { cli } from '../cli/harness.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

let dir: string
let tree: CommandTree
let man: string
/** The pages of docs/commands by name. */
let markdown: Map<string, string>
let blockchains: string

beforeAll(async () => {
  dir = await temporaryFolder('gdn-reference-', whenFileDone)
  man = Buffer.from((await manPageFile('dist')).contents).toString()
  await generateReference(dir)
  const commands = join(dir, 'docs/commands')
  markdown = new Map(
    await Promise.all(
      (await readdir(commands)).map(async (name) => [name, await readFile(join(commands, name), 'utf8')] as const),
    ),
  )
  blockchains = await readFile(join(dir, 'docs/blockchains.md'), 'utf8')
  tree = JSON.parse((await cli(['help', '--json'], { env: { HOME: dir } })).stdout)
})

/** The section under a heading, up to the next heading of the same level. */
const partOf = (text: string, heading: string, next: RegExp) =>
  text.slice(text.indexOf(heading) + heading.length).split(next)[0] ?? ''

describe('the man page', () => {
  test('is at the path in package.json, where npm installs it from', async () => {
    const manifest = JSON.parse(await readFile(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'))
    expect(manifest.man).toEqual(['./dist/man/gdn.1'])
    expect(man).toContain(`"gdn ${manifest.version}"`)
  })

  test('has every command with its flags, every topic, variable and exit code', () => {
    for (const { name, flags } of tree.commands) {
      const part = partOf(man, `\n.SH "GDN ${name.toUpperCase().replaceAll('-', '\\-')}"\n`, /^\.SH /m)
      expect(part.length, name).toBeLessThan(man.length / 2)
      for (const flag of flags) expect(part, `${name} ${flag.name}`).toContain(flag.name.replaceAll('-', '\\-'))
    }
    for (const { name } of tree.topics) expect(man).toContain(`.SH "${name.toUpperCase().replaceAll('-', ' ')}"`)
    for (const { name } of tree.environment) expect(man).toContain(`.B ${name}\n`)
    for (const { code } of tree.exit_codes) expect(man).toContain(`.B ${code}\n`)
  })

  test('escapes macros and escapes in a text', () => {
    const hostile = '.so /etc/passwd\n\'br\n\\fBbold\\fP \\*[x] "quoted" …'
    const [first] = tree.commands
    if (first === undefined) throw new Error('no command')
    const commands = [{ ...first, about: hostile, examples: [{ summary: hostile, lines: hostile.split('\n') }] }]
    for (const page of [man, manPage({ tree: { ...tree, commands }, topics: [] })]) {
      const macros = /^\.(TH|SH|SS|TP|PP|B|RS|RE|nf|fi|br)( |$)/
      expect(page.split('\n').filter((line) => /^[.']/.test(line) && !macros.test(line))).toEqual([])
      expect(page).toMatch(/^[\n\x20-\x7e]*$/)
      // Only escapes for a backslash, a dash, a quote, nothing, and a character by its number.
      expect(page.replaceAll(/\\(e|-|&|\(dq|\[u[0-9A-F]{4,6}\])/g, '')).not.toContain('\\')
    }
  })

  describe('printed by groff', () => {
    const hasGroff = spawnSync('groff', ['--version']).error === undefined
    beforeEach(({ skip }) => skip(!hasGroff, 'groff is not installed'))

    test('has no warning, and matches the help', async () => {
      const file = join(dir, 'gdn.1')
      await writeFile(file, man)
      const { stdout, stderr, status } = spawnSync('groff', ['-man', '-ww', '-Tutf8', '-P-cbou', file], {
        encoding: 'utf8',
        maxBuffer: 16 * 1024 * 1024,
      })
      expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
      const printed = stdout.replaceAll(/-\n\s+/g, '-').replaceAll(/\s+/g, ' ')
      const typed = tree.commands.flatMap(({ examples }) => examples.flatMap(({ lines }) => lines))
      expect(typed.filter((line) => !printed.includes(line.trim().replaceAll(/\s+/g, ' ')))).toEqual([])
    })
  })
})

describe('the Markdown reference', () => {
  test('has a page for each noun, with its commands and their flags', () => {
    const common = tree.flags.map(({ name }) => name)
    for (const { name, flags } of tree.commands) {
      const page = markdown.get(`${name.split(' ')[0]}.md`) ?? ''
      const part = name.includes(' ') ? partOf(page, `\n## gdn ${name}\n`, /^## /m) : page
      expect(part, name).toContain(`\nUsage: \`gdn ${name}`)
      for (const flag of flags) {
        if (!common.includes(flag.name)) expect(part, `${name} ${flag.name}`).toContain(flag.name)
      }
    }
    expect(markdown.size).toBe(new Set(tree.commands.map(({ name }) => name.split(' ')[0])).size + 1)
  })

  test('lists the flags of every command and the blockchains once', () => {
    const listing = (text: string) => [...markdown].filter(([, page]) => page.includes(text)).map(([name]) => name)
    for (const { name, summary } of tree.flags) expect(listing(`${name}\` | ${summary} |`)).toEqual(['README.md'])
    expect(listing('`astar-shibuya`')).toEqual([])
    expect(blockchains.split('`astar-shibuya`')).toHaveLength(2)
  })

  test('has an index that links each command to its section', () => {
    const index = markdown.get('README.md') ?? ''
    for (const { name } of tree.commands) {
      const [noun = '', verb] = name.split(' ')
      const target = verb === undefined ? `[gdn ${noun}](${noun}.md)` : `[${verb}](${noun}.md#gdn-${noun}-${verb})`
      expect(index).toContain(target)
    }
  })

  test('has as many cells in every row of a table as in its head', () => {
    for (const table of [...markdown.values()].flatMap((page) => page.match(/(?:^\|.*\n)+/gm) ?? [])) {
      const cells = table
        .trim()
        .split('\n')
        .map((row) => row.replaceAll('\\|', '').split('|').length)
      expect(new Set(cells).size, table).toBe(1)
    }
  })
})
