import { blockchainHint } from '../../api/blockchain-hint.ts'
import { type Blockchain, isBlockchain, KNOWN_NAMES } from '../../api/blockchains.ts'
import { flagError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { apiAddressProblem, parseUrl, trimSlashes } from '../../core/parse-url.ts'
import { quoted } from '../../core/quoted.ts'
import { rememberKeysInUrl } from '../../core/secret.ts'
import { shellWord } from '../../core/shell-word.ts'
import { terminalText } from '../../core/terminal-text.ts'
import type { GdnCommand, Parse, TypedValue } from '../command.ts'

/** Flags that all commands accept, and `--json`, which most commands accept. */
export interface CommonFlags {
  json?: boolean
  quiet?: boolean
  debug?: boolean
  /** Whether prompts are allowed. `--no-input` sets this to false. */
  input?: boolean
  /** Whether color is allowed. `--no-color` sets this to false. */
  color?: boolean
}

export interface OutputFlags extends CommonFlags {
  output?: OutputMode
  fields?: string[]
  forSpreadsheet?: boolean
}

/** Flags that select the server and the state directory. */
export interface ServerFlags {
  baseUrl?: string
  local?: boolean
  profile?: string
  stateDir?: string
}

const OUTPUT_GROUP = 'Output'
const SERVER_GROUP = 'Server'

export function addCommonFlags(command: GdnCommand): GdnCommand {
  command.switchFlag('-q, --quiet', 'Omit notes and progress', OUTPUT_GROUP)
  command.switchFlag('--no-color', 'Disable colors', OUTPUT_GROUP)
  command.switchFlag('--no-input', 'Disable prompts', OUTPUT_GROUP)
  return command.switchFlag('--debug', 'Print requests, timings and stack traces to stderr', OUTPUT_GROUP)
}

/** Adds `--json` and the common flags, for commands that print one record or nothing. */
export function addJsonFlag(command: GdnCommand, description = 'Print JSON'): GdnCommand {
  command.switchFlag('--json', description, OUTPUT_GROUP)
  return addCommonFlags(command)
}

/**
 * @param more additional output formats of this command
 * @param intoFile returns a hint about writing a file, for users who type `-o drop.csv`
 */
export function addOutputFlags(
  command: GdnCommand,
  more: readonly string[] = [],
  intoFile = (file: string) => `To write a file, add \`> ${file}\` after the command.`,
): GdnCommand {
  const modes = [...OUTPUT_MODES, ...more]
  command.valueFlag(
    '-o, --output <mode>',
    `Output format: ${modes.slice(0, -1).join(', ')} or ${modes.at(-1)} (${modes[0]})`,
    {
      group: OUTPUT_GROUP,
      parse: oneOf(modes, (raw) => (/\.\w+$/.test(raw) ? intoFile(shellWord(terminalText(raw))) : undefined)),
    },
  )
  command.switchFlag('--json', 'Same as --output json', OUTPUT_GROUP)
  command.valueFlag('--fields <a,b>', 'Print only these fields', { group: OUTPUT_GROUP, parse: wordList })
  command.switchFlag('--for-spreadsheet', 'Write CSV for spreadsheets, with formulas escaped', OUTPUT_GROUP)
  return addCommonFlags(command)
}

export function addServerFlags(command: GdnCommand): GdnCommand {
  command.switchFlag('--local', 'Use the local backend (gdn local start)', SERVER_GROUP)
  command.valueFlag('--base-url <url>', 'URL of the server', { group: SERVER_GROUP, parse: notEmpty })
  return addProfileFlags(command)
}

export function addProfileFlags(command: GdnCommand): GdnCommand {
  command.valueFlag('--profile <name>', 'Configuration profile to use', { group: SERVER_GROUP, parse: notEmpty })
  return addStateDirFlag(command)
}

export function addStateDirFlag(command: GdnCommand): GdnCommand {
  return command.valueFlag('--state-dir <dir>', 'Directory of runs, recorded commands and saved addresses', {
    group: SERVER_GROUP,
    parse: notEmpty,
  })
}

/** Attaches a value type to a parser. The JSON help and the completions use this type. */
const withType = <Value>(takes: TypedValue, parse: Parse<Value>): Parse<Value> => Object.assign(parse, { takes })

/** Parses an integer of ASCII digits. Rejects signs, exponents, hex digits and leading zeros. */
export function integer(min: number, max: number): Parse<number> {
  return withType({ type: 'integer' }, (raw, flag) => {
    const value = Number(raw)
    if (/^(0|[1-9][0-9]{0,15})$/.test(raw) && value >= min && value <= max) return value
    throw flagError(flag, `must be a whole number from ${min} to ${max}, not ${quoted(raw)}`)
  })
}

/** Parses an HTTP URL. The URL of a provider may contain an API key, so errors don't print it. */
export const httpAddress: Parse<string> = withType({ type: 'url' }, (raw, flag) => {
  if (/^https?:$/.test(parseUrl(raw)?.protocol ?? '')) {
    rememberKeysInUrl(raw)
    return raw
  }
  throw flagError(flag, 'must be a URL that begins with https:// or http://')
})

/** Parses the base URL of an API, to which paths are appended. */
export const apiAddress: Parse<string> = withType({ type: 'url' }, (raw, flag) => {
  const problem = apiAddressProblem(raw)
  if (problem !== null) throw flagError(flag, problem)
  rememberKeysInUrl(raw)
  return trimSlashes(raw)
})

/** Parses a positive decimal number, such as `2` or `0.5`. */
export const positiveNumber: Parse<number> = withType({ type: 'number' }, (raw, flag) => {
  const value = Number(raw)
  if (/^[0-9]{1,9}(\.[0-9]{1,9})?$/.test(raw) && value > 0) return value
  throw flagError(flag, `must be a positive number such as 2 or 0.5, not ${quoted(raw)}`)
})

const BYTES_PER_UNIT: Readonly<Record<string, number>> = {
  ...{ B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 },
  ...{ KIB: 2 ** 10, MIB: 2 ** 20, GIB: 2 ** 30, TIB: 2 ** 40 },
}

/**
 * Parses a size such as `50MB` or `2GiB`. Returns bytes. Rejects a number without a unit, because the unit would be
 * ambiguous.
 */
export const byteSize: Parse<number> = withType({ type: 'string' }, (raw, flag) => {
  const [, number, unit = ''] = /^([1-9][0-9]{0,8}(?:\.[0-9]{1,3})?) ?([KMGT]?i?B)$/i.exec(raw) ?? []
  const size = Math.round(Number(number) * (BYTES_PER_UNIT[unit.toUpperCase()] ?? Number.NaN))
  if (Number.isSafeInteger(size)) return size
  throw flagError(flag, `must be a size such as 50MB or 2GiB, not ${quoted(raw)}`)
})

const MS_PER_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/**
 * Parses a duration such as `90s`, `5m` or `1h`. Returns milliseconds. Rejects a number without a unit, because the
 * unit would be ambiguous.
 */
export const duration: Parse<number> = withType({ type: 'duration' }, (raw, flag) => {
  const match = /^([1-9][0-9]{0,8}|0)(ms|s|m|h)$/.exec(raw)
  const unit = MS_PER_UNIT[match?.[2] ?? '']
  const value = match === null || unit === undefined ? Number.NaN : Number(match[1]) * unit
  if (value > 0 && value <= 7 * 24 * 3_600_000) return value
  throw flagError(flag, `must be a time such as 90s, 5m or 1h, at most 168h, not ${quoted(raw)}`)
})

/** Parses the name of a blockchain. Accepts unknown names, because operators can add blockchains to their servers. */
export const blockchainName: Parse<Blockchain> = withType({ type: 'word', values: KNOWN_NAMES }, (raw, flag) => {
  if (isBlockchain(raw)) return raw
  throw flagError(flag, `unknown blockchain ${quoted(raw)}`, blockchainHint(raw))
})

/** Parses a value that must be one of the given words. */
export function oneOf<Word extends string>(
  words: readonly Word[],
  hintFor: (raw: string) => string | undefined = () => undefined,
): Parse<Word> {
  return withType({ type: 'word', values: words }, (raw, flag) => {
    const word = words.find((candidate) => candidate === raw)
    if (word !== undefined) return word
    const near = nearest(raw, words)
    const hint = hintFor(raw) ?? (near && `Did you mean ${near}?`)
    throw flagError(flag, `must be one of ${words.join(', ')}, not ${quoted(raw)}`, hint)
  })
}

/** Parses a list such as `a,b,c`. */
export const wordList: Parse<string[]> = withType({ type: 'list' }, (raw, flag) => {
  const words = raw.split(',').map((word) => word.trim())
  if (words.every((word) => word !== '')) return words
  throw flagError(flag, `must be a comma-separated list of names, not ${quoted(raw)}`)
})

/** Parses a list of the given words, such as `failed,unknown`. */
export function someOf<Word extends string>(words: readonly Word[]): Parse<Word[]> {
  const parseOne = oneOf(words)
  const parseList: Parse<Word[]> = (raw, flag) => wordList(raw, flag).map((word) => parseOne(word, flag))
  return withType({ type: 'words', values: words }, parseList)
}

export const notEmpty: Parse<string> = (raw, flag) => {
  if (raw !== '') return raw
  throw flagError(flag, 'must not be empty')
}

/** Parses a UUID and converts it to lower case. */
export const uuid: Parse<string> = (raw, flag) => {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(raw)) return raw.toLowerCase()
  throw flagError(flag, 'must be a UUID')
}

/** Parses an address, or a name such as `@alice`. The name is resolved before the command runs. */
export const addressOrName: Parse<string> = withType({ type: 'address' }, (raw, flag) => notEmpty(raw, flag))

export interface KeyValue {
  key: string
  value: string
}

/** Parses a `key=value` pair. The value may contain `=`. */
export const keyValue: Parse<KeyValue> = withType({ type: 'pair' }, (raw, flag) => {
  const at = raw.indexOf('=')
  if (at > 0) return { key: raw.slice(0, at), value: raw.slice(at + 1) }
  throw flagError(flag, `must be key=value, not ${quoted(raw)}`)
})

/** Flags of commands that create or change something on a chain. */
export interface WaitFlags {
  /** Whether to wait. `--no-wait` sets this to false. */
  wait?: boolean | undefined
  /** The timeout in milliseconds. */
  timeout?: number | undefined
}

const WAITING_GROUP = 'Sending and waiting'

/** Adds --timeout, which limits the duration of the command. */
export function addTimeoutFlag(
  command: GdnCommand,
  description = 'How long the command may take (5m after acceptance)',
): GdnCommand {
  command.endsAtTimeout = true
  return command.valueFlag('--timeout <time>', description, { group: WAITING_GROUP, parse: duration })
}

/**
 * @param until the condition that the command waits for, as the end of "Wait until …"
 * @param texts descriptions of flags that have a different effect in this command
 */
export function addWaitFlags(
  command: GdnCommand,
  until = 'all NFTs are deployed',
  {
    dryRun = 'Print the request without sending it',
    noWait = 'Return when the request is accepted',
    yes = "Don't prompt before spending coins that have value",
  }: { dryRun?: string; noWait?: string; yes?: string } = {},
): GdnCommand {
  command.eitherFlag('wait', `Wait until ${until} (the default)`, noWait, WAITING_GROUP)
  addTimeoutFlag(command)
  command.switchFlag('--dry-run', dryRun, WAITING_GROUP)
  return command.switchFlag('-y, --yes', yes, WAITING_GROUP)
}

export const OUTPUT_MODES = ['table', 'json', 'ndjson', 'csv', 'ids'] as const

export type OutputMode = (typeof OUTPUT_MODES)[number]

/** Parses a percentage such as `5%` or `2.5%`. Returns basis points (1/10,000). */
export const percentage: Parse<number> = (raw, flag) => {
  const [, digits] = /^([0-9]{1,3}(?:\.[0-9]{1,2})?)%$/.exec(raw) ?? []
  const parts = Math.round(Number(digits) * 100)
  if (parts <= 10_000) return parts
  throw flagError(flag, `must be a percentage such as 5% or 2.5%, at most 100%, not ${quoted(raw)}`)
}
