/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { CATALOGUE, COMMANDS, makeCommand } from '../../../src/cli/catalogue.ts'
import type { CommandTree, TreeCommand } from '../../../src/cli/command-tree.ts'
import type { Deps } from '../../../src/cli/deps.ts'
import { docsLink } from '../../../src/cli/help/help.ts'
import { HELP_TOPICS } from '../../../src/cli/help/topics.ts'
import { displayWidth } from '../../../src/cli/text/display-width.ts'
import { eachCase } from '../../helpers/each-case.ts'
import { cli } from '../harness.ts'

const COMMAND_NAMES = COMMANDS.map(({ command }) => command)

const known = new Map<string, ReturnType<typeof cli>>()

/** Returns the help of a command, in 80 columns. Each is rendered once. */
function helpOf(name: string): ReturnType<typeof cli> {
  const help = known.get(name) ?? cli([...name.split(' '), '--help'], { columns: 80 })
  known.set(name, help)
  return help
}

describe('gdn <command> --help', () => {
  test('shows examples before usage, and output after it', async () => {
    await eachCase(COMMAND_NAMES, async (name) => {
      const { code, stdout, stderr } = await helpOf(name)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      const [examples, usage, output] = ['EXAMPLES', 'USAGE', 'OUTPUT'].map((heading) =>
        stdout.indexOf(`\n${heading}\n`),
      )
      expect(examples).toBeGreaterThan(0)
      expect(usage).toBeGreaterThan(examples ?? 0)
      expect(output).toBeGreaterThan(usage ?? 0)
    })
  })

  test('shows each flag once, under the heading of its group, and refers to help topics', async () => {
    await eachCase(COMMAND_NAMES, async (name) => {
      const { stdout } = await helpOf(name)
      const { flags }: TreeCommand = JSON.parse((await cli([...name.split(' '), '--help', '--json'])).stdout)
      for (const { name: flag, group } of flags) {
        const line = new RegExp(`^ {2}(?:-\\w, | {4})${flag}(?: |$)`, 'm')
        const under = stdout.split('\n\n').filter((part) => line.test(part))
        expect(under.map((part) => part.split('\n')[0])).toEqual([group.toUpperCase()])
      }
      const topics = [...stdout.matchAll(/See gdn help ([\w-]+) and gdn help ([\w-]+)\.$/gm)].flatMap(
        ([, ...two]) => two,
      )
      expect(topics.length).toBe(2)
      expect(stdout).not.toContain('Exit codes:')
      expect(HELP_TOPICS.map((topic) => topic.name)).toEqual(expect.arrayContaining(topics))
    })
  })

  test('explains only flags that its help shows, or those of other commands', async () => {
    const tree: CommandTree = JSON.parse((await cli(['help', '--json'])).stdout)
    const shownBy = new Map(tree.commands.map(({ name, flags }) => [name, flags.map((flag) => flag.name)]))
    const anywhere = new Set([...shownBy.values()].flat())
    await eachCase(COMMAND_NAMES, async (name) => {
      const commands = await Promise.all(
        COMMANDS.filter(({ command }) => command === name).map((verb) => makeCommand(verb, {} as Deps)),
      )
      const accepted = commands.flatMap(({ options }) => options.map(({ long }) => long))
      const about = tree.commands.find((command) => command.name === name)?.about ?? ''
      const named = about.match(/(?<![\w-])--[a-z][a-z-]*/g) ?? []
      const hidden = named.filter((flag) => !shownBy.get(name)?.includes(flag))
      expect(hidden.filter((flag) => accepted.includes(flag) || !anywhere.has(flag))).toEqual([])
    })
  })

  test('fits into 80 columns', async () => {
    await eachCase(COMMAND_NAMES, async (name) => {
      const { stdout } = await helpOf(name)
      expect(stdout.split('\n').filter((line) => displayWidth(line) > 80)).toEqual([])
    })
  })

  test('shows a prompt at the start of each command, and none on continuation lines', async () => {
    await eachCase(COMMAND_NAMES, async (name) => {
      const { stdout } = await helpOf(name)
      const lines = stdout.slice(stdout.indexOf('\nEXAMPLES\n'), stdout.indexOf('\nUSAGE\n')).split('\n')
      const typed = lines.slice(2).filter((line) => line !== '' && !line.startsWith('  # '))
      expect(typed.length).toBeGreaterThan(0)
      for (const [i, line] of typed.entries()) {
        expect(line.startsWith('  $ '), line).toBe(typed[i - 1]?.endsWith('\\') !== true)
      }
    })
  })
})

test('gdn, gdn --help, gdn help and gdn -h print the same help, which lists every command', async () => {
  const { stdout, code } = await cli(['help'])
  expect(code).toBe(0)
  for (const { name } of CATALOGUE.flatMap(({ entries }) => entries))
    expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
  expect((await cli([])).stdout).toBe(stdout)
  expect((await cli(['-h'])).stdout).toBe(stdout)
  expect((await cli(['--help'])).stdout).toBe(stdout)
})

test('gdn --help shows each command under the heading of its group', async () => {
  const parts = (await cli(['--help'])).stdout.split('\n\n')
  for (const { title, entries } of CATALOGUE) {
    const part = parts.find((text) => text.startsWith(`${title.toUpperCase()}\n`)) ?? ''
    expect(part.match(/(?<=^ {2})[\w-]+/gm)).toEqual(entries.map(({ name }) => name))
  }
})

test('gdn --help fits into 80 columns and shows the global flags', async () => {
  const { stdout } = await cli(['--help'], { columns: 80 })
  // The path of this installation may be longer.
  const lines = stdout.split('\n').filter((line) => line !== `  ${docsLink()}`)
  expect(lines.filter((line) => displayWidth(line) > 80)).toEqual([])
  for (const flag of ['-q, --quiet', '--no-input', '--debug', '--json', '--local', '--base-url']) {
    expect(stdout).toContain(flag)
  }
})

test('gdn nft, gdn nft --help and gdn help nft list the commands of nft', async () => {
  const { stdout, code } = await cli(['nft'])
  expect(code).toBe(0)
  for (const word of ['mint', 'list', 'show', 'wait']) expect(stdout).toMatch(new RegExp(`^  ${word} `, 'm'))
  expect((await cli(['nft', '--help'])).stdout).toBe(stdout)
  expect((await cli(['help', 'nft'])).stdout).toBe(stdout)
})

test('gdn help nft mint prints the same as gdn nft mint --help', async () => {
  expect((await cli(['help', 'nft', 'mint'])).stdout).toBe((await cli(['nft', 'mint', '-h'])).stdout)
})

test('gdn local exec --help prints the usage with the command to run after --', async () => {
  const { stdout } = await cli(['local', 'exec', '--help'])
  expect(stdout).toContain('gdn local exec [flags] -- <command> [args...]')
})

test.each([
  [['local', 'start'], /--port <port> .*\(the last one, or 4680\)/],
  [['nft', 'list'], /--output <mode> .*csv or ids \(table\)/],
])('gdn %j --help names the default of its flag', async (argv, line) => {
  expect((await cli([...argv, '--help'])).stdout).toMatch(line)
})
