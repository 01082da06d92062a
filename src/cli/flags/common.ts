import { type GdnCommand, switchFlag, valueFlag } from '../command.ts'
import { OUTPUT_MODES, type OutputMode } from './output-modes.ts'
import { notEmpty, oneOf, wordList } from './parse.ts'

/** Flags that every command takes. */
export interface CommonFlags {
  json?: boolean
  quiet?: boolean
  debug?: boolean
  /** False with --no-input. */
  input?: boolean
  /** False with --no-color. */
  color?: boolean
}

export interface OutputFlags extends CommonFlags {
  output?: OutputMode
  fields?: string[]
}

/** Flags that say which server, and where state is kept. */
export interface ServerFlags {
  baseUrl?: string
  local?: boolean
  profile?: string
  stateDir?: string
}

const OUTPUT = 'Output'
const SERVER = 'Server'

export function addCommonFlags(command: GdnCommand): GdnCommand {
  switchFlag(command, '-q, --quiet', 'Say nothing but data and errors', OUTPUT)
  switchFlag(command, '--no-color', 'No colors', OUTPUT)
  switchFlag(command, '--no-input', 'Ask nothing', OUTPUT)
  return switchFlag(command, '--debug', 'More on stderr: requests, timings, stack traces', OUTPUT)
}

/** For commands whose output is one record or nothing: `--json` and the common ones. */
export function addJsonFlag(command: GdnCommand, description = 'Print JSON'): GdnCommand {
  switchFlag(command, '--json', description, OUTPUT)
  return addCommonFlags(command)
}

export function addOutputFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '-o, --output <mode>', 'table, json, ndjson, csv or ids', {
    group: OUTPUT,
    parse: oneOf(OUTPUT_MODES),
  })
  switchFlag(command, '--json', 'Same as --output json', OUTPUT)
  valueFlag(command, '--fields <a,b>', 'Print these fields only', { group: OUTPUT, parse: wordList })
  return addCommonFlags(command)
}

export function addServerFlags(command: GdnCommand): GdnCommand {
  switchFlag(command, '--local', 'The backend that gdn local start runs', SERVER)
  valueFlag(command, '--base-url <url>', 'Address of the server', { group: SERVER, parse: notEmpty })
  return addProfileFlags(command)
}

export function addProfileFlags(command: GdnCommand): GdnCommand {
  valueFlag(command, '--profile <name>', 'Profile of your configuration', { group: SERVER, parse: notEmpty })
  return addStateDirFlag(command)
}

export function addStateDirFlag(command: GdnCommand): GdnCommand {
  return valueFlag(command, '--state-dir <dir>', 'Where runs and commands are recorded', {
    group: SERVER,
    parse: notEmpty,
  })
}
