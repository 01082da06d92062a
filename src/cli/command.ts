import { Argument, Command, Option } from 'commander'
import { GdnError } from '../core/errors.ts'
import type { Deps } from './deps.ts'

/** What a command's file exports: a factory that takes the dependencies and returns the command. */
export interface CommandModule {
  readonly command: (deps: Deps) => GdnCommand
}

/** What a command's help says besides its name and summary, which stand in the catalogue. */
export interface CommandText {
  /** More than the summary, if there is more to say. */
  about?: string
  /** What it does, and the line to type. At least one. */
  examples: readonly [does: string, line: string, ...more: string[]][]
  /** Long flags that mean another: names of the API's fields, mostly. */
  aliases?: Readonly<Record<string, string>>
}

/** What a value is: for the command tree in JSON, and for completions. */
export interface Takes {
  readonly type: ValueType
  /** All there are, where they are a few words. */
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
  /** One of `values`; `words` are several of them, with commas between. */
  | 'word'
  | 'words'
  | 'list'
  | 'pair'
  /** What this machine knows by name. */
  | 'profile'
  | 'run'
  | 'run_name'
  | 'collection'
  /** The address of a wallet, or the name of one: `@alice`. It is an address when the command gets it. */
  | 'address'
  /** Another program and its arguments. */
  | 'command'

/** A command with what its help and the reading of its flags need beyond Commander. */
export class GdnCommand extends Command {
  readonly text: CommandText
  /** By long flag: what is known of it beyond Commander's own option. */
  readonly flagFacts = new Map<string, { takes?: Takes; repeatable: boolean }>()

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

  /** Overrides what stands after the name in the usage line, where Commander's own would mislead. */
  usageLine: string
}

/** Reads the value of a flag; throws a GdnError that names the flag. */
export interface Parse<Value> {
  (raw: string, flag: string): Value
  /** Without it, the flag's own name and placeholder tell what it takes. */
  readonly takes?: Takes
}

interface ValueFlag<Value> {
  group?: string
  parse?: Parse<Value>
  /** Given several times, it makes a list. */
  repeatable?: boolean
  hidden?: boolean
}

/** Adds a flag that takes a value. Given twice with different values it is an error, unless it may be repeated. */
export function valueFlag<Value = string>(
  command: GdnCommand,
  flags: string,
  description: string,
  settings: ValueFlag<Value> = {},
): GdnCommand {
  const option = new Option(flags, description)
  const name = option.long ?? flags
  const parse = (raw: string): unknown => settings.parse?.(raw, name) ?? raw
  let earlier: string | undefined
  const list: unknown[] = []
  option.argParser((raw: string) => {
    if (settings.repeatable) {
      list.push(parse(raw))
      return [...list]
    }
    if (earlier !== undefined && earlier !== raw) {
      throw new GdnError('usage', 'is given twice with different values', {
        place: { flag: name },
        hint: 'give it once',
      })
    }
    earlier = raw
    return parse(raw)
  })
  const takes = settings.parse?.takes
  command.flagFacts.set(name, { repeatable: settings.repeatable ?? false, ...(takes === undefined ? {} : { takes }) })
  if (settings.hidden) option.hideHelp()
  command.addOption(option.helpGroup(settings.group ?? 'Flags'))
  return command
}

/** Adds a flag that is given or not. */
export function switchFlag(command: GdnCommand, flags: string, description: string, group = 'Flags'): GdnCommand {
  command.addOption(new Option(flags, description).helpGroup(group))
  return command
}

/** Adds `--name` and `--no-name`; both at once are an error. */
export function eitherFlag(command: GdnCommand, name: string, yes: string, no: string, group = 'Flags'): GdnCommand {
  command.addOption(new Option(`--${name}`, yes).helpGroup(group))
  command.addOption(new Option(`--no-${name}`, no).helpGroup(group))
  const seen = new Set<string>()
  for (const form of [name, `no-${name}`]) {
    command.on(`option:${form}`, () => {
      seen.add(form)
      if (seen.size < 2) return
      throw new GdnError('usage', `--${name} and --no-${name} contradict each other`, { hint: 'give one of them' })
    })
  }
  return command
}

/** Adds an argument that is one of a few words. The command itself refuses others, and suggests the nearest. */
export function wordArgument(command: GdnCommand, name: string, words: readonly string[]): GdnCommand {
  const argument = new Argument(name)
  argument.argChoices = [...words]
  command.addArgument(argument)
  return command
}
