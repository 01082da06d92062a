import type { CommandEffect, ValueType } from './command.ts'

/**
 * The command line as data. `gdn help --json` prints this data, and the man page and completions are generated from it.
 */
export interface CommandTree {
  name: 'gdn'
  version: string
  summary: string
  groups: TreeGroup[]
  commands: TreeCommand[]
  /** The global flags, which `gdn` and all its commands accept. */
  flags: TreeFlag[]
  topics: { name: string; summary: string }[]
  exit_codes: TreeExitCode[]
  environment: { name: string; summary: string; flag: string | null }[]
}

/** A group in `gdn --help`. Its entries are commands, or nouns that have commands. */
export interface TreeGroup {
  title: string
  entries: { name: string; summary: string; is_command: boolean }[]
}

export interface TreeCommand {
  /** The name without `gdn`, such as `nft mint`. */
  name: string
  group: string
  summary: string
  effect: CommandEffect
  about: string | null
  usage: string
  examples: { summary: string; lines: string[] }[]
  arguments: TreeArgument[]
  flags: TreeFlag[]
}

export interface TreeArgument {
  name: string
  required: boolean
  variadic: boolean
  type: ValueType
  values: string[] | null
}

export interface TreeFlag {
  /** The long flag with its dashes. */
  name: string
  short: string | null
  /** Other long flags with the same meaning. */
  aliases: string[]
  summary: string
  group: string
  /** The placeholder of the value in the help; null for a flag without a value. */
  placeholder: string | null
  type: ValueType | 'boolean'
  values: string[] | null
  repeatable: boolean
  /** Whether the value must be on the command line. If false, the value may come from the configuration. */
  required: boolean
  /**
   * The default, which is in parentheses at the end of the summary. True if the flag has no value and is on by default.
   */
  default: string | true | null
}

export interface TreeExitCode {
  code: number
  meaning: string
  /** Values of `error.code` that have this exit code. */
  errors: string[]
}
