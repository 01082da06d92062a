import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../../src/cli/catalogue.ts'
import type { CommandTree } from '../../../src/cli/command-tree.ts'
import { NOT_TOOLS, OMITTED_FLAGS } from '../../../src/cli/mcp/not-tools.ts'
import { Toolbox } from '../../../src/cli/mcp/toolbox.ts'
import { commandWords, formatArgv, type Tool } from '../../../src/cli/mcp/tools.ts'
import { findToolset, TOOLSET_WORDS } from '../../../src/cli/mcp/toolsets.ts'
import { route } from '../../../src/cli/route.ts'
import { cli } from '../harness.ts'

let tree: CommandTree
let tools: Tool[]

beforeAll(async () => {
  tree = JSON.parse((await cli(['help', '--json'], { env: { HOME: tmpdir() } })).stdout)
  const permitted = { allowWrites: true, passwordFile: 'password', toolsets: ['all' as const] }
  tools = new Toolbox(tree.commands, permitted).offeredTools
})

describe('the tools of gdn mcp', () => {
  test('leave out only commands and flags that exist', () => {
    const commands = COMMANDS.map(({ command }) => command)
    expect(Object.keys(NOT_TOOLS).filter((name) => !commands.includes(name))).toEqual([])
    const flags = new Set(tree.commands.flatMap((command) => command.flags.map(({ name }) => name)))
    expect(Object.keys(OMITTED_FLAGS).filter((name) => name !== '--help' && !flags.has(name))).toEqual([])
  })

  test('are in one toolset each, unless it is said why a command is no tool', () => {
    const commands = COMMANDS.map(({ command }) => command)
    expect(commands.filter((name) => (findToolset(name) === null) !== Object.hasOwn(NOT_TOOLS, name))).toEqual([])
    expect(new Set(tools.map(({ command }) => command)).size).toBe(tools.length)
    expect(tools.length).toBe(commands.length - Object.keys(NOT_TOOLS).length)
  })

  test('are listed by toolset in docs/agents.md', async () => {
    const docs = await readFile(new URL('../../../docs/agents.md', import.meta.url), 'utf8')
    for (const word of TOOLSET_WORDS.filter((one) => one !== 'all')) {
      const [, row = ''] = new RegExp(`^\\| \`${word}\`[^|]*\\|(.*)\\|$`, 'm').exec(docs) ?? []
      const names = tools.filter(({ command }) => findToolset(command) === word).map(({ name }) => name)
      expect([...row.matchAll(/`([a-z_]+)`/g)].map(([, name]) => name).sort(), word).toEqual(names.sort())
    }
  })

  test('have parameters and tools in their descriptions, not flags and commands', () => {
    const found = tools.flatMap(({ name, description, inputSchema }) =>
      (JSON.stringify([description, inputSchema.properties]).match(/--[a-z-]+|(?<=\bgdn )[a-z]+ [a-z]+/g) ?? [])
        .filter((word) => word.startsWith('--') || findToolset(word) !== null || Object.hasOwn(NOT_TOOLS, word))
        .map((word) => `${name}: ${word}`),
    )
    expect(found).toEqual([])
  })

  test('describe no command, flag or standard input in their parameters', () => {
    const found = tools.flatMap(({ name, inputSchema }) =>
      (JSON.stringify(inputSchema.properties).match(/standard input|\bflags?\b|`gdn [a-z ]+`/g) ?? []).map(
        (words) => `${name}: ${words}`,
      ),
    )
    expect(found).toEqual([])
  })

  test('leave out what administers a backend', () => {
    const administers = /^(webhook|key|tx|chain|db) /
    const offered = tools.filter(({ command }) => administers.test(command))
    expect(offered.filter(({ effect }) => effect !== 'read').map(({ name }) => name)).toEqual([])
  })

  test('are commands that print JSON and need no terminal', () => {
    expect(tools.length).toBeGreaterThan(40)
    expect(tools.filter(({ flags }) => !flags.has('--json')).map(({ name }) => name)).toEqual(['batch_template'])
  })

  test('are named so that all clients accept them, with arguments that differ', () => {
    for (const { name, inputs, inputSchema } of tools) {
      expect(name).toMatch(/^[a-z_]{1,40}$/)
      const names = inputs.map(({ property }) => property)
      expect(new Set(names).size, name).toBe(names.length)
      for (const property of Object.keys(inputSchema.properties)) expect(property).toMatch(/^[a-z][a-z_]*$/)
    }
  })

  test('check the place of every argument that names a file', () => {
    const unchecked = tools.flatMap(({ inputs, inputSchema }) =>
      inputs.flatMap(({ property, file }) => {
        const { description = '' } = (inputSchema.properties[property] ?? {}) as { description?: string }
        const isNamed = /\b(file|files|directory|folder|path)\b/i.test(`${property} ${description}`)
        return isNamed && file === null ? [property] : []
      }),
    )
    expect([...new Set(unchecked)].sort()).toEqual(UNCHECKED)
  })

  test('pass any values as values, never as flags or another command', () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom(
        '--yes',
        '--json',
        '-h',
        '--help',
        '--version',
        '--',
        '-',
        '--base-url=http://x',
        'help',
        'serve',
        '',
      ),
    )
    fc.assert(
      fc.property(fc.nat(), fc.array(text, { minLength: 1, maxLength: 3 }), fc.boolean(), (at, texts, isOn) => {
        const tool = tools[at % tools.length] as Tool
        const values = Object.fromEntries(
          tool.inputs.map(({ property, form }) => [property, form === 'switch' ? isOn : texts]),
        )
        const argv = formatArgv(tool.command, commandWords(tool, values, tool.flags))
        const found = route(argv)
        expect(found).toMatchObject({ kind: 'verb', verb: { command: tool.command } })
        const words = argv.slice(tool.command.split(' ').length, argv.indexOf('--'))
        for (const word of words) {
          const [, flag = word] = /^(--[a-z-]+)(?:=|$)/s.exec(word) ?? []
          expect(tool.flags.has(flag), word).toBe(true)
          expect(Object.hasOwn(OMITTED_FLAGS, flag), word).toBe(false)
        }
      }),
      { numRuns: process.env.GDN_SOAK === '1' ? 100_000 : 2000 },
    )
  })
})

/** Their descriptions have the word, but they name no file. */
const UNCHECKED = ['check_files', 'run']
