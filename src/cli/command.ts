import { Argument, Command, Option } from 'commander'
import { flagError, GdnError } from '../core/errors.ts'
import { hidePrivateKey } from '../core/quoted.ts'
import type { Deps } from './deps.ts'

/** Exports of a command's file: a factory that receives the dependencies and returns the command. */
export interface CommandModule {
  readonly command: (deps: Deps) => GdnCommand
}

/**
 * The side effects of a command. `read` changes only caches. `write` changes files, settings, or records on this
 * machine or a server. `spend` sends transactions, or requests them from a server, which costs money on a public
 * network.
 */
export type CommandEffect = 'read' | 'write' | 'spend'

/** Help text of a command. Its name and summary are in the catalogue. */
export interface CommandText {
  /** Details beyond the summary, if there are any. */
  about?: string
  /** At least one example: a comment and the lines to type. */
  examples: readonly [does: string, line: string, ...more: string[]][]
  /** Aliases for long flags. Most of them are names of API fields. */
  aliases?: Readonly<Record<string, string>>
}

/** The type of a value, for the JSON command tree and for completions. */
export interface TypedValue {
  readonly type: ValueType
  /** All allowed values, if there are only a few. */
  readonly values?: readonly string[]
}

export type ValueType =
  | 'string'
  | 'integer'
  | 'number'
  | 'duration'
  | 'url'
  | 'file'
  | 'directory'
  /** `word` is one of `values`. `words` is several of them, separated by commas. */
  | 'word'
  | 'words'
  | 'list'
  | 'pair'
  /** A name from the records of this machine. */
  | 'profile'
  | 'run'
  | 'run_name'
  | 'collection'
  /** Address or name (`@alice`) of a wallet. The command always receives the address. */
  | 'address'
  /** Another program and its arguments. */
  | 'command'

/** A Commander command with additional data for gdn's help and flag parsing. */
export class GdnCommand extends Command {
  readonly text: CommandText
  /** Data about each long flag that Commander's `Option` doesn't store. */
  readonly flagDetails = new Map<string, { takes: TypedValue | undefined; repeatable: boolean; required: boolean }>()

  /** Whether `--timeout` limits the duration of the whole command. */
  endsAtTimeout = false

  constructor(text: CommandText) {
    super()
    this.text = text
    this.usageLine = ''
    this.exitOverride()
    this.configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
    this.showSuggestionAfterError(false)
    this.helpOption('-h, --help', 'Help for this command')
    this.allowExcessArguments(false)
  }

  /** Whether flags after the first argument belong to another program. */
  passesThrough = false

  override passThroughOptions(passThrough = true): this {
    this.passesThrough = passThrough
    return super.passThroughOptions(passThrough)
  }

  /** The usage line without the command's name, for commands whose generated usage line would be misleading. */
  usageLine: string

  /** Adds flags and arguments that several commands share. */
  with(...groups: readonly ((command: this) => unknown)[]): this {
    for (const add of groups) add(this)
    return this
  }

  /**
   * Adds a flag with a value. If the flag isn't repeatable, two different values are an error.
   *
   * @param parseOrSettings the function that parses the value, or all settings of the flag
   */
  valueFlag<Value = string>(
    flags: string,
    description: string,
    parseOrSettings: Parse<Value> | ValueFlag<Value> = {},
  ): this {
    const option = new Option(flags, description)
    const name = option.long ?? flags
    const settings = typeof parseOrSettings === 'function' ? { parse: parseOrSettings } : parseOrSettings
    const { repeatable = false, required = false, hidden = false, group = 'Flags' }: ValueFlag<Value> = settings
    const parse = (raw: string): unknown => settings.parse?.(raw, name) ?? raw
    let earlier: string | undefined
    const list: unknown[] = []
    option.argParser((raw: string) => {
      if (option.short !== undefined && raw.startsWith('=')) throw equalsAfterShortError(option.short, name, raw)
      if (repeatable) {
        list.push(parse(raw))
        return [...list]
      }
      if (earlier !== undefined && earlier !== raw) {
        throw flagError(name, 'is specified twice with different values', 'Use the flag only once.')
      }
      earlier = raw
      return parse(raw)
    })
    this.flagDetails.set(name, { repeatable, required, takes: settings.parse?.takes })
    return this.addOption(option.hideHelp(hidden).helpGroup(group))
  }

  switchFlag(flags: string, description: string, group = 'Flags'): this {
    return this.addOption(new Option(flags, description).helpGroup(group))
  }

  /** Adds `--name` and `--no-name`. Using both is an error. */
  eitherFlag(name: string, yes: string, no: string, group = 'Flags'): this {
    this.switchFlag(`--${name}`, yes, group)
    this.switchFlag(`--no-${name}`, no, group)
    const givenForms = new Set<string>()
    for (const form of [name, `no-${name}`]) {
      this.on(`option:${form}`, () => {
        givenForms.add(form)
        if (givenForms.size < 2) return
        throw new GdnError('usage', `--${name} and --no-${name} contradict each other`, { hint: 'Use one of them.' })
      })
    }
    return this
  }

  /**
   * Adds an argument that must be one of a few words. The command itself rejects other words and suggests the nearest
   * word.
   */
  wordArgument(name: string, words: readonly string[]): this {
    const argument = new Argument(name)
    argument.argChoices = [...words]
    return this.addArgument(argument)
  }
}

/** The hint for an error in a command's arguments. */
export const usageHint = (command: GdnCommand) => `Run \`gdn ${command.name()} --help\` for usage.`

/** Parses the value of a flag. Throws a GdnError that names the flag. */
export interface Parse<Value> {
  (raw: string, flag: string): Value
  /** The type of the value. By default, it is inferred from the flag's name and placeholder. */
  readonly takes?: TypedValue
}

interface ValueFlag<Value> {
  group?: string | undefined
  parse?: Parse<Value> | undefined
  /** Whether the flag may be repeated. Its values form a list. */
  repeatable?: boolean
  /** Whether the command requires the value. The command itself reports a missing value. */
  required?: boolean
  hidden?: boolean
}

/** Adds a flag with a value to a command. */
export function valueFlag<Value = string>(
  command: GdnCommand,
  flags: string,
  description: string,
  settings: ValueFlag<Value> = {},
): GdnCommand {
  return command.valueFlag(flags, description, settings)
}

/** Adds a flag without a value to a command. */
export function switchFlag(command: GdnCommand, flags: string, description: string, group?: string): GdnCommand {
  return command.switchFlag(flags, description, group)
}

export const requiredFlagError = (flag: string, hint: string) => flagError(flag, 'is required', hint)

export const cannotPromptError = (flag: string, hint: string) =>
  flagError(flag, 'is required, because gdn cannot prompt here', hint)

export const missingCollectionError = (flag: string, hint: string) =>
  flagError(flag, 'no collection is specified', hint)

export const noServerNamedError = (flag: string, hint: string) => flagError(flag, 'no server is specified', hint)

/**
 * Creates the error for a value that isn't an address.
 *
 * @param from the flag, argument, variable, file or profile that contains the value
 */
export function wrongAddressError(address: string, problem: string, from: string): GdnError {
  const isTyped = /^[-<]/.test(from)
  const hint = isTyped ? undefined : `Change the contract in ${from}, or add --contract <address>.`
  return flagError(from, `"${hidePrivateKey(address)}" ${problem}`, hint)
}

/** Creates the error for `-c=0x…`, in which an equals sign precedes the value of a short flag. */
function equalsAfterShortError(short: string, long: string, raw: string): GdnError {
  const value = hidePrivateKey(raw.slice(1))
  return flagError(short, `the value "=${value}" begins with "="`, `Use ${short} ${value} or ${long}=${value}.`)
}
