import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { KNOWN_NAMES } from '../../src/api/blockchains.ts'
import { COMMANDS, ENTRIES } from '../../src/cli/catalogue.ts'
import { EXIT } from '../../src/core/exit-codes.ts'
import { cli } from './harness.ts'

// The contract: fields are added to it, never renamed or removed.
const type = z.enum([
  'boolean',
  'string',
  'integer',
  'number',
  'duration',
  'url',
  'file',
  'directory',
  'word',
  'words',
  'list',
  'pair',
  'profile',
  'run',
  'run_name',
  'collection',
  'address',
  'command',
])
const values = z.array(z.string()).min(1).nullable()
const line = z.string().regex(/^\S.*\S$|^\S$/)
const flag = z.strictObject({
  name: z.string().regex(/^--[a-z][a-z-]+$/),
  short: z
    .string()
    .regex(/^-[a-zA-Z]$/)
    .nullable(),
  aliases: z.array(z.string().regex(/^--[a-z-]+$/)),
  summary: line,
  group: line,
  placeholder: line.nullable(),
  type,
  values,
  repeatable: z.boolean(),
  required: z.boolean(),
  default: z.union([line, z.literal(true), z.null()]),
})
const command = z.strictObject({
  name: line,
  group: line,
  summary: line,
  effect: z.enum(['read', 'write', 'spend']),
  about: z.string().min(1).nullable(),
  usage: z.string().startsWith('gdn '),
  examples: z.array(z.strictObject({ summary: line, lines: z.array(z.string()).min(1) })).min(1),
  arguments: z.array(z.strictObject({ name: line, required: z.boolean(), variadic: z.boolean(), type, values })),
  flags: z.array(flag).min(1),
})
const tree = z.strictObject({
  name: z.literal('gdn'),
  version: line,
  summary: line,
  groups: z.array(
    z.strictObject({
      title: line,
      entries: z.array(z.strictObject({ name: line, summary: line, is_command: z.boolean() })).min(1),
    }),
  ),
  commands: z.array(command),
  flags: z.array(flag),
  topics: z.array(z.strictObject({ name: line, summary: line })).min(6),
  exit_codes: z.array(z.strictObject({ code: z.int(), meaning: line, errors: z.array(line) })),
  environment: z.array(z.strictObject({ name: line, summary: line, flag: z.string().nullable() })),
})

async function readTree() {
  const { code, stdout, stderr } = await cli(['help', '--json'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return tree.parse(JSON.parse(stdout))
}

const flagOf = async (name: string, long: string) =>
  (await readTree()).commands.find((found) => found.name === name)?.flags.find((found) => found.name === long)

describe('gdn help --json', () => {
  test('prints the whole command tree, in the order of the help', async () => {
    const found = await readTree()
    expect(found.commands.map(({ name, summary }) => [name, summary])).toEqual(
      COMMANDS.map(({ command: name, summary }) => [name, summary]),
    )
    expect(found.groups.flatMap(({ entries }) => entries.map(({ name }) => name))).toEqual(
      ENTRIES.map(({ name }) => name),
    )
    expect(found.exit_codes.map(({ code }) => code)).toEqual(Object.values(EXIT))
  })

  test('lists every flag that the help of a command shows', async () => {
    for (const { name, flags } of (await readTree()).commands) {
      const { stdout } = await cli([...name.split(' '), '--help'])
      const usage = stdout.slice(stdout.indexOf('\nUSAGE\n'))
      const shownFlags = [...usage.matchAll(/^ {2}(?:-\w, | {4})(--[a-z-]+)/gm)].map(([, long]) => long)
      expect(shownFlags.length, name).toBeGreaterThan(0)
      expect(new Set(flags.map((one) => one.name)), name).toEqual(new Set(shownFlags))
    }
  })

  test('describes the values of each flag', async () => {
    expect(await flagOf('nft list', '--blockchain')).toMatchObject({
      short: '-b',
      type: 'word',
      values: [...KNOWN_NAMES],
      placeholder: 'name',
    })
    expect(await flagOf('nft list', '--limit')).toMatchObject({ type: 'integer', values: null })
    expect(await flagOf('nft list', '--json')).toMatchObject({ type: 'boolean', placeholder: null })
    expect(await flagOf('nft mint', '--timeout')).toMatchObject({ type: 'duration' })
    expect(await flagOf('nft mint', '--extra')).toMatchObject({ type: 'pair', repeatable: true })
    expect(await flagOf('nft mint', '--file')).toMatchObject({ type: 'file', short: '-f' })
    expect(await flagOf('nft mint', '--contract')).toMatchObject({
      type: 'collection',
      aliases: expect.arrayContaining(['--contract-address']),
    })
    expect(await flagOf('nft mint', '--profile')).toMatchObject({ type: 'profile' })
    expect(await flagOf('batch results', '--status')).toMatchObject({ type: 'words' })
  })

  test('has --for-spreadsheet in every command that prints CSV', async () => {
    for (const { name, flags } of (await readTree()).commands) {
      const names = flags.map((one) => one.name)
      expect(names.includes('--for-spreadsheet'), name).toBe(names.includes('--output'))
    }
  })

  test('prints the part of the tree that belongs to one command or noun', async () => {
    const { commands } = await readTree()
    const json = async (...argv: string[]) => JSON.parse((await cli(argv)).stdout)
    expect(await json('help', 'nft', 'mint', '--json')).toEqual(commands.find(({ name }) => name === 'nft mint'))
    expect(await json('nft', 'mint', '--help', '--json')).toEqual(commands.find(({ name }) => name === 'nft mint'))
    expect(await json('help', 'nft', '--json')).toEqual(commands.filter(({ name }) => name.startsWith('nft ')))
    expect(await json('help', 'output', '--json')).toMatchObject({ name: 'output', sections: expect.any(Array) })
  })

  test('says what each command does: it reads, writes or spends', async () => {
    const of = Object.fromEntries((await readTree()).commands.map(({ name, effect }) => [name, effect]))
    expect(of).toMatchObject({ 'nft show': 'read', plan: 'read', 'wallet add': 'write', 'nft burn': 'spend' })
    expect(of).toEqual(Object.fromEntries(COMMANDS.map(({ command: name, effect }) => [name, effect])))
  })

  test('says which flags a command needs, and their defaults', async () => {
    expect(await flagOf('key create', '--email')).toMatchObject({ required: true, default: null })
    expect(await flagOf('nft mint', '--wait')).toMatchObject({ required: false, default: true })
    expect(await flagOf('nft mint', '--no-wait')).toMatchObject({ default: null })
    expect(await flagOf('nft mint', '--chunk-size')).toMatchObject({ default: '50' })
    const defaults = (await readTree()).commands.flatMap(({ flags }) => flags.map((one) => one.default))
    // What stands in parentheses at the end of a summary is a default.
    expect(
      [...new Set(defaults)].filter((value) => typeof value === 'string' && /^(- |alias|required|PEM)/.test(value)),
    ).toEqual([])
  })

  test('fails without a flag that it calls required', async () => {
    for (const { name, flags } of (await readTree()).commands) {
      for (const { name: flag } of flags.filter(({ required }) => required)) {
        const others = flags
          .filter((one) => one.required && one.name !== flag)
          .flatMap((one) => [one.name, one.type === 'integer' ? '1' : 'a@b.example'])
        const { code, stderr } = await cli([...name.split(' '), ...others, '--json'])
        expect({ code, stderr }, flag).toMatchObject({
          code: 2,
          stderr: expect.stringMatching(/required|must be one of/),
        })
      }
    }
  })

  test.each([
    ['nft show', '--nft-gdn-id'],
    ['nft wait', '--nft-gdn-id'],
    ['nft transfer', '--nft-gdn-id'],
    ['nft verify', '--nft-gdn-id'],
    ['nft verify', '--owner'],
    ['collection show', '--transaction-gdn-id'],
  ])('hides a flag of %s that its help hides: %s', async (command, flag) => {
    // The command knows it.
    const { stderr } = await cli([...command.split(' '), flag, 'x'])
    expect(stderr).not.toMatch(/unknown (flag|option)/)
    expect(await flagOf(command, flag)).toBeUndefined()
    expect((await cli([...command.split(' '), '--help'])).stdout).not.toContain(`${flag} `)
  })

  test.each(['_gdn', 'gdn.bash', 'gdn.fish', 'gdn.ps1'])('has no hidden flag in the completions %s', async (name) => {
    const script = await readFile(join(import.meta.dirname, '../../completions', name), 'utf8')
    expect(script).toContain('for-spreadsheet')
    expect(script).not.toMatch(/nft-gdn-id|transaction-gdn-id/)
  })

  test('hides what the help hides', async () => {
    expect((await readTree()).commands.map(({ name }) => name)).not.toContain('__complete')
  })
})
