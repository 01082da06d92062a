import type { Option } from 'commander'
import { ENVIRONMENT_VARIABLES, OTHER_VARIABLES } from '../../config/environment.ts'
import { EXIT_BY_CODE } from '../../core/errors.ts'
import { EXIT } from '../../core/exit-codes.ts'
import { CATALOGUE, isNoun, type Verb } from '../catalogue.ts'
import type { CommandEffect, GdnCommand } from '../command.ts'
import type { CommandTree, TreeCommand, TreeExitCode, TreeFlag } from '../command-tree.ts'
import { VERSION } from '../version.ts'
import { ROOT_FLAGS, SUMMARY } from './help.ts'
import { HELP_TOPICS } from './topics.ts'
import { formatUsage } from './usage.ts'
import { findArgumentType, findFlagType } from './value-type.ts'

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
    commands: await Promise.all(
      verbs.map(async ({ title, verb }) => treeCommand(await make(verb), title, verb.effect)),
    ),
    flags: ROOT_FLAGS.map(([flags, summary]) => rootFlag(flags, summary)),
    topics: HELP_TOPICS.map(({ name, summary }) => ({ name, summary })),
    exit_codes: exitCodes(),
    environment: [...ENVIRONMENT_VARIABLES, ...OTHER_VARIABLES].map(({ name, description, flag }) => ({
      name,
      summary: description,
      flag: flag ?? null,
    })),
  }
}

function treeCommand(command: GdnCommand, group: string, effect: CommandEffect): TreeCommand {
  const { about, examples } = command.text
  return {
    name: command.name(),
    group,
    summary: command.summary(),
    effect,
    about: about ?? null,
    usage: formatUsage(command),
    examples: examples.map(([does, ...lines]) => ({ summary: does, lines: lines.flatMap((line) => line.split('\n')) })),
    arguments: command.registeredArguments.map((argument) => {
      const { type, values } = findArgumentType(argument.name(), argument.argChoices)
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
  const facts = command.flagDetails.get(name)
  const placeholder = /[<[](.*)[>\]]/.exec(option.flags)?.[1] ?? null
  const { type, values } =
    placeholder === null
      ? { type: 'boolean' as const, values: undefined }
      : findFlagType(name, placeholder, facts?.takes)
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
    required: facts?.required ?? false,
    default: parseDefault(option.description, placeholder !== null),
  }
}

function parseDefault(summary: string, takesValue: boolean): string | true | null {
  const [, text = null] = /\(([^()]+)\)$/.exec(summary) ?? []
  if (takesValue) return text
  return text === 'the default' ? true : null
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
    required: false,
    default: null,
  }
}

export function exitCodes(): TreeExitCode[] {
  return (Object.keys(EXIT) as (keyof typeof EXIT)[]).map((name) => ({
    code: EXIT[name],
    meaning: EXIT_MEANINGS[name],
    errors: Object.entries(EXIT_BY_CODE).flatMap(([error, code]) => (code === EXIT[name] ? [error] : [])),
  }))
}

const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'Success. An empty list counts as success.',
  unexpected:
    'Unexpected error, or a missing native package. Run the command again with --debug, and report an unexpected error.',
  usage: 'Invalid command line, manifest, file or configuration, or a conflict with another run or process.',
  notConfirmed:
    'You declined a prompt or canceled it with Ctrl-C, or gdn had no terminal to prompt in. --yes confirms in advance.',
  auth: 'The API key is missing, invalid, expired or revoked, or lacks a permission.',
  refused:
    'The API rejected the request, a cost exceeds its limit, a planned change or an art edition is impossible, an NFT failed, or a verification found a difference.',
  unreachable:
    "The server can't be reached, can't accept the request now, or sent an invalid response. gdn also exits with this code if every retry failed, or if nothing was sent within --timeout.",
  failedRows: 'The run ended with failed rows. gdn batch results <run> lists them.',
  pending:
    'An accepted request is still pending after the timeout, or some rows of a run were not sent. --timeout sets a longer timeout.',
  unknownOutcome:
    "A request was sent, but its outcome is unknown. gdn retries the request only if it can't take effect twice. gdn batch reconcile resolves the rows of a run. If rows seem to be in the collection already, gdn batch mint --adopt treats them as minted.",
  changesPending: 'gdn plan --detailed-exit-code found changes, even if none of them can be applied.',
  undecided: 'gdn art found neither an edition nor a proof that none exists.',
  sigint: 'Interrupted by Ctrl-C outside of a prompt.',
  sigterm: 'Terminated by a signal.',
}
