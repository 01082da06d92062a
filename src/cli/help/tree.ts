import type { Option } from 'commander'
import { OTHER_VARIABLES, OWN_VARIABLES } from '../../config/environment.ts'
import { EXIT_BY_CODE } from '../../core/errors.ts'
import { EXIT } from '../../core/exit-codes.ts'
import { EXIT_MEANINGS } from '../../core/exit-meanings.ts'
import { CATALOGUE, isNoun, type Verb } from '../catalogue.ts'
import type { GdnCommand, ValueType } from '../command.ts'
import { VERSION } from '../version.ts'
import { ROOT_FLAGS, SUMMARY } from './help.ts'
import { TOPICS } from './topics.ts'
import { usageOf } from './usage.ts'
import { takesOfArgument, takesOfFlag } from './value-type.ts'

/** The command line as data: the output of `gdn help --json`, and the source of man page and completions. */
export interface CommandTree {
  name: 'gdn'
  version: string
  summary: string
  groups: TreeGroup[]
  commands: TreeCommand[]
  /** The flags of every command, and those of `gdn` itself. */
  flags: TreeFlag[]
  topics: { name: string; summary: string }[]
  exit_codes: TreeExitCode[]
  environment: { name: string; summary: string; flag: string | null }[]
}

/** A group of `gdn --help`. Its entries are commands, or nouns with commands. */
export interface TreeGroup {
  title: string
  entries: { name: string; summary: string; is_command: boolean }[]
}

export interface TreeCommand {
  /** The name without `gdn`: `nft mint`. */
  name: string
  group: string
  summary: string
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
}

export interface TreeExitCode {
  code: number
  meaning: string
  /** Values of `error.code` with this exit code. */
  errors: string[]
}

/** Builds the command of a verb without running it. */
export type MakeCommand = (verb: Verb) => Promise<GdnCommand>

export async function commandTree(make: MakeCommand): Promise<CommandTree> {
  const verbs = CATALOGUE.flatMap(({ title, entries }) =>
    entries.flatMap((entry) => (isNoun(entry) ? entry.verbs : [entry])).map((verb) => ({ title, verb })),
  )
  return {
    name: 'gdn',
    version: VERSION,
    summary: SUMMARY,
    groups: CATALOGUE.map(({ title, entries }) => ({
      title,
      entries: entries.map((entry) => ({ name: entry.name, summary: entry.summary, is_command: !isNoun(entry) })),
    })),
    commands: await Promise.all(verbs.map(async ({ title, verb }) => treeCommand(await make(verb), title))),
    flags: ROOT_FLAGS.map(([flags, summary]) => rootFlag(flags, summary)),
    topics: TOPICS.map(({ name, summary }) => ({ name, summary })),
    exit_codes: exitCodes(),
    environment: [...OWN_VARIABLES, ...OTHER_VARIABLES].map(({ name, what, flag }) => ({
      name,
      summary: what,
      flag: flag ?? null,
    })),
  }
}

export function treeCommand(command: GdnCommand, group: string): TreeCommand {
  const { about, examples } = command.text
  return {
    name: command.name(),
    group,
    summary: command.summary(),
    about: about ?? null,
    usage: usageOf(command),
    examples: examples.map(([does, ...lines]) => ({ summary: does, lines: lines.flatMap((line) => line.split('\n')) })),
    arguments: command.registeredArguments.map((argument) => {
      const { type, values } = takesOfArgument(argument.name(), argument.argChoices)
      return {
        name: argument.name(),
        required: argument.required,
        variadic: argument.variadic,
        type,
        values: values === undefined ? null : [...values],
      }
    }),
    flags: command
      .createHelp()
      .visibleOptions(command)
      .map((option) => treeFlag(command, option)),
  }
}

function treeFlag(command: GdnCommand, option: Option): TreeFlag {
  const name = option.long ?? option.flags
  const facts = command.flagFacts.get(name)
  const placeholder = /[<[](.*)[>\]]/.exec(option.flags)?.[1] ?? null
  const { type, values } =
    placeholder === null
      ? { type: 'boolean' as const, values: undefined }
      : takesOfFlag(name, placeholder, facts?.takes)
  return {
    name,
    short: option.short ?? null,
    aliases: Object.entries(command.text.aliases ?? {}).flatMap(([alias, of]) => (of === name ? [alias] : [])),
    summary: option.description,
    group: option.helpGroupHeading ?? 'Output',
    placeholder,
    type,
    values: values === undefined ? null : [...values],
    repeatable: facts?.repeatable ?? false,
  }
}

function rootFlag(flags: string, summary: string): TreeFlag {
  const [first = '', second] = flags.trim().split(', ')
  const [short, name] = second === undefined ? [null, first] : [first, second]
  return {
    name,
    short,
    aliases: [],
    summary,
    group: 'Flags of every command',
    placeholder: null,
    type: 'boolean',
    values: null,
    repeatable: false,
  }
}

/** Returns the exit codes in ascending order. */
export function exitCodes(): TreeExitCode[] {
  return (Object.keys(EXIT) as (keyof typeof EXIT)[]).map((name) => ({
    code: EXIT[name],
    meaning: EXIT_MEANINGS[name].long,
    errors: Object.entries(EXIT_BY_CODE).flatMap(([error, code]) => (code === EXIT[name] ? [error] : [])),
  }))
}
