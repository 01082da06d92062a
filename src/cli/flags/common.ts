import { shellWord } from '../../core/shell-word.ts'
import { terminalText } from '../../core/terminal-text.ts'
import type { GdnCommand } from '../command.ts'
import { OUTPUT_MODES, type OutputMode } from './output-modes.ts'
import { notEmpty, oneOf, wordList } from './parse.ts'

/** Flags that every command accepts, and `--json`, which most commands accept. */
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
  forSpreadsheet?: boolean
}

/** Flags that select the server and the state directory. */
export interface ServerFlags {
  baseUrl?: string
  local?: boolean
  profile?: string
  stateDir?: string
}

const OUTPUT = 'Output'
const SERVER = 'Server'

export function addCommonFlags(command: GdnCommand): GdnCommand {
  command.switchFlag('-q, --quiet', 'Omit notes and progress', OUTPUT)
  command.switchFlag('--no-color', 'Disable colors', OUTPUT)
  command.switchFlag('--no-input', 'Disable prompts', OUTPUT)
  return command.switchFlag('--debug', 'Print requests, timings and stack traces to stderr', OUTPUT)
}

/** Adds `--json` and the common flags, for commands that print one record or nothing. */
export function addJsonFlag(command: GdnCommand, description = 'Print JSON'): GdnCommand {
  command.switchFlag('--json', description, OUTPUT)
  return addCommonFlags(command)
}

/**
 * @param more output formats that only this command has
 * @param intoFile returns a hint on how to write a file, for `-o drop.csv`
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
      group: OUTPUT,
      parse: oneOf(modes, (raw) => (/\.\w+$/.test(raw) ? intoFile(shellWord(terminalText(raw))) : undefined)),
    },
  )
  command.switchFlag('--json', 'Same as --output json', OUTPUT)
  command.valueFlag('--fields <a,b>', 'Print only these fields', { group: OUTPUT, parse: wordList })
  command.switchFlag('--for-spreadsheet', 'Write CSV for spreadsheets, with formulas escaped', OUTPUT)
  return addCommonFlags(command)
}

export function addServerFlags(command: GdnCommand): GdnCommand {
  command.switchFlag('--local', 'Use the local backend (gdn local start)', SERVER)
  command.valueFlag('--base-url <url>', 'URL of the server', { group: SERVER, parse: notEmpty })
  return addProfileFlags(command)
}

export function addProfileFlags(command: GdnCommand): GdnCommand {
  command.valueFlag('--profile <name>', 'Configuration profile to use', { group: SERVER, parse: notEmpty })
  return addStateDirFlag(command)
}

export function addStateDirFlag(command: GdnCommand): GdnCommand {
  return command.valueFlag('--state-dir <dir>', 'Directory of runs, recorded commands and saved addresses', {
    group: SERVER,
    parse: notEmpty,
  })
}
