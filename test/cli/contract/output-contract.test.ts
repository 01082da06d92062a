/** @module-tag slow */
import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test, vi } from 'vitest'
import { COMMANDS, makeCommand } from '../../../src/cli/catalogue.ts'
import type { Deps } from '../../../src/cli/deps.ts'
import { OUTPUT_MODES, type OutputMode } from '../../../src/cli/flags/common.ts'
import { type CliResult, cli, errorOf } from '../harness.ts'
import { EMPTY_FIELDS, NO_RECORDS, SCENARIOS, type Scenario } from './scenarios.ts'

// Keystores with the default cost would take a minute here.
vi.mock(import('../../../src/keystore/limits.ts'), async (original) => ({
  ...(await original()),
  DEFAULT_SCRYPT: { n: 1024, r: 8, p: 1 } as never,
}))

test.each(COMMANDS)('gdn $command has its output format in this table', ({ command: name }) => {
  expect([SCENARIOS[name] !== undefined, NO_RECORDS[name] !== undefined]).toContain(true)
})

test.each(COMMANDS)('gdn $command accepts --output and --fields, unless it prints no records', async (verb) => {
  const flags = (await makeCommand(verb, {} as Deps)).options.map(({ long }) => long)
  expect(flags.includes('--output') && flags.includes('--fields')).toBe(NO_RECORDS[verb.command] === undefined)
})

const WAITING = [
  'collection create',
  'nft mint',
  'nft grant',
  'nft transfer',
  'nft wait',
  'batch mint',
  'batch resume',
  'batch retry',
  'batch reconcile',
  'apply',
  'reveal',
]

test.each(WAITING)('gdn %s waits for a chain, and accepts --timeout', async (name) => {
  const verbs = COMMANDS.filter(({ command }) => command === name)
  const commands = await Promise.all(verbs.map((verb) => makeCommand(verb, {} as Deps)))
  expect(commands.map(({ options }) => options.some(({ long }) => long === '--timeout'))).toEqual([true])
})

const ANSI = /\u001b/
const COLOR = /\u001b\[[\d;]*m/

/** Without numbers, because ages and durations change. */
const words = (text: string) => text.match(/[a-z_]+/gi)

async function run({ prepare }: Scenario, ...more: string[]): Promise<CliResult> {
  const { argv, options } = await prepare()
  return await cli([...argv, ...more], options)
}

/** The field names that a mode printed with two fields selected; null if the mode prints no names. */
const NAMES_IN: Readonly<Record<OutputMode, (stdout: string, shape: Scenario['shape']) => string[] | null>> = {
  json(stdout, shape) {
    const value: unknown = JSON.parse(stdout)
    expect(Array.isArray(value)).toBe(shape === 'array')
    const records = (shape === 'array' ? value : [value]) as object[]
    return Object.keys(records[0] ?? {})
  },
  ndjson(stdout) {
    const records: object[] = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    return Object.keys(records.at(-1) ?? {}).filter((name) => name !== 'event')
  },
  csv(stdout) {
    const [head = '', ...rows] = stdout.split('\r\n')
    expect(rows.length).toBeGreaterThan(1)
    return head.split(',')
  },
  ids(stdout) {
    expect(stdout).toMatch(/^([^\t\n]+\n)*$/)
    return null
  },
  table(stdout, shape) {
    const cells = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'))
    for (const line of cells) expect(line).toHaveLength(2)
    return shape === 'object' ? cells.map(([name = '']) => name) : null
  },
}

describe.each(Object.entries(SCENARIOS).filter(([name]) => COMMANDS.some(({ command }) => command === name)))(
  'gdn %s',
  (name, scenario) => {
    const { fields, isShownOnce = false } = scenario
    const modes = isShownOnce ? OUTPUT_MODES.filter((mode) => mode !== 'ids') : OUTPUT_MODES
    const empty = EMPTY_FIELDS[name] ?? []
    const chosen = [fields.at(-1) ?? '', fields[0] ?? '']

    test('prints these JSON fields, in an object for one thing or an array for a list, and nothing on stderr', async () => {
      const { code, stdout, stderr } = await run(scenario, '--json')
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout.split('\n')).toHaveLength(2)
      const value: unknown = JSON.parse(stdout)
      expect(Array.isArray(value)).toBe(scenario.shape === 'array')
      for (const record of scenario.shape === 'array' ? (value as object[]) : [value as object]) {
        expect(Object.keys(record).sort()).toEqual([...fields].sort())
      }
    })

    test.each(modes)('--fields selects and orders fields with -o %s; a pipe gets no colors', async (mode) => {
      const { code, stdout } = await run(scenario, '-o', mode, '--fields', chosen.join(','))
      expect(code).toBe(0)
      expect(stdout).not.toMatch(ANSI)
      const names = NAMES_IN[mode](stdout, scenario.shape)
      if (names !== null) expect(names).toEqual(chosen)
    })

    test('prints only data with -q', async () => {
      expect(await run(scenario, '-q')).toMatchObject({ code: 0, stderr: '' })
    })

    test('prints a piped table without heading, padding or truncation', async () => {
      const { argv, options } = await scenario.prepare()
      const { stdout } = await cli([...argv, '-o', 'table'], { ...options, columns: 20 })
      // Keys are shown only by their prefix, in every mode.
      expect(stdout.replace('se…', '')).not.toContain('…')
      expect(stdout).not.toMatch(/ {2}|^[A-Z ]+\t/)
      for (const line of stdout.trimEnd().split('\n')) expect(line).toMatch(/\t|^\S+$/)
    })

    test('shows people amounts in coins, and never in wei', async () => {
      const { argv, options } = await scenario.prepare()
      const { stdout, stderr } = await cli([...argv, '-o', 'table'], { ...options, tty: true, columns: 1000 })
      const text = stripVTControlCharacters(stdout + stderr).replaceAll(/0x[0-9a-f]+/gi, '')
      expect(text).not.toMatch(/\bwei\b|(?<![\w.-])\d{12,}\b|about less/i)
    })

    test('--fields accepts every heading of the table', async () => {
      const { argv, options } = await scenario.prepare()
      const wide = { ...options, tty: true, columns: 1000 }
      const [head = ''] = (await cli([...argv, '-o', 'table'], wide)).stdout.split('\n')
      const headings = /^[A-Z ]+$/.test(head) && scenario.shape === 'array' ? head.trim().split(/ {2,}/) : []
      if (headings.length === 0) return
      const again = await scenario.prepare()
      const words = headings.map((heading) => heading.toLowerCase().replaceAll(' ', '_'))
      const { code, stdout } = await cli([...again.argv, '--json', '--fields', words.join(',')], again.options)
      expect(code).toBe(0)
      expect(Object.keys(JSON.parse(stdout)[0])).toHaveLength(words.length)
    })

    test('accepts each JSON field, also without a value here, and rejects an unknown field with the nearest name', async () => {
      const { argv, options } = await scenario.prepare()
      const typo = `${chosen[0]}x`
      const result = await cli([...argv, '--json', '--fields', typo], options)
      expect(result).toMatchObject({ code: 2, stdout: '' })
      const { message, hint } = errorOf(result)
      expect(message).toContain(`--fields: unknown field "${typo}"`)
      expect(hint?.split('\n')).toEqual([`Did you mean ${chosen[0]}?`, expect.stringMatching(/^The fields are /)])
      const all = [...new Set([...fields, ...empty])]
      const { stdout } = await cli([...argv, '--json', '--fields', all.join(',')], options)
      const value = JSON.parse(stdout)
      expect(Object.keys(Array.isArray(value) ? value[0] : value)).toEqual(all)
    })
  },
)

test('no command prints colors to a terminal with NO_COLOR, --no-color or TERM=dumb, and colors change no word', async () => {
  const calm = ['collection show', 'nft show', 'batch list', 'batch status', 'batch results', 'config list']
  for (const name of calm) {
    const { prepare } = SCENARIOS[name] as Scenario
    const { argv, options } = await prepare()
    for (const [flags, env] of [
      [[], { NO_COLOR: '1', FORCE_COLOR: '1' }],
      [['--no-color'], { FORCE_COLOR: '1' }],
      [[], { TERM: 'dumb' }],
    ] as const) {
      const terminal = { ...options, tty: true, stderrTty: true, env: { ...options.env, ...env } }
      const { stdout, stderr } = await cli([...argv, ...flags], terminal)
      expect(stdout, name).not.toMatch(ANSI)
      expect(stderr, name).not.toMatch(COLOR)
      expect(stdout, name).not.toBe('')
    }
    // An empty NO_COLOR counts as not set.
    const forced = { ...options, env: { ...options.env, NO_COLOR: '', FORCE_COLOR: '1' }, tty: true }
    const colored = (await cli(argv, forced)).stdout
    expect(colored, name).toMatch(ANSI)
    const plain = (await cli([...argv, '--no-color'], forced)).stdout
    expect(words(stripVTControlCharacters(colored)), name).toEqual(words(plain))
    // No color without a word in it.
    for (const [, text = ''] of colored.matchAll(/\u001b\[\d+m([^\u001b]*)/g)) {
      if (text.trim() !== '') expect(text, name).toMatch(/\w/)
    }
  }
})
