import { GdnError } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { ENTRIES, isNoun, type Noun, type Verb } from './catalogue.ts'
import type { HelpRoute } from './help/help-json.ts'
import { findTopic } from './help/topics.ts'

export type CommandRoute = HelpRoute | { kind: 'verb'; verb: Verb; argv: string[] } | UnknownRoute

/** Words that don't name a command. */
interface UnknownRoute {
  kind: 'unknown'
  words: readonly string[]
}

const HELP_WORDS = new Set(['-h', '--help', 'help'])
const LEADING_VALUE_FLAGS = new Set(['--profile', '--base-url', '--state-dir', '-o', '--output', '--fields'])

const HELP_FLAGS = ['--json', '--help', '-h', '--no-color', '--no-input', '--quiet', '-q', '--debug']

/** Flags that may precede a command, so that they may also be the only arguments. */
const ROOT_FLAGS = [...new Set([...HELP_FLAGS, ...LEADING_VALUE_FLAGS, '--version', '-V', '--local', '--'])]

/**
 * Finds the command that the arguments specify. Flags may precede the command, as in `gdn --json nft show …`. A
 * misspelled command never runs a similar one.
 */
export function route(argv: readonly string[]): CommandRoute {
  const { flags, word: first, rest } = takeWord(argv, ENTRIES)
  if (first === undefined) {
    for (const flag of flags) checkFlagAlone(flag)
    return { kind: 'root-help' }
  }
  if (HELP_WORDS.has(first)) return helpRoute(rest, searchRoute)
  const entry = ENTRIES.find(({ name }) => name === first)
  if (entry === undefined)
    return wantsHelp(rest) ? helpRoute([first, ...rest], unknownRoute) : unknownRoute([first, ...omitFlags(rest)])
  if (!isNoun(entry)) return verbRoute(entry, [...flags, ...rest])
  const second = takeWord(rest, entry.verbs)
  if (second.word === undefined) {
    for (const flag of [...flags, ...second.flags]) checkFlagAlone(flag, `${entry.name} `)
    return { kind: 'noun-help', noun: entry }
  }
  if (HELP_WORDS.has(second.word)) return helpRoute([entry.name, ...second.rest], unknownRoute, entry)
  const verb = entry.verbs.find(({ name }) => name === second.word)
  if (verb === undefined) return unknownRoute([entry.name, second.word])
  return verbRoute(verb, [...flags, ...second.flags, ...second.rest])
}

function verbRoute(verb: Verb, argv: string[]): CommandRoute {
  return wantsHelp(argv) ? { kind: 'verb-help', verb } : { kind: 'verb', verb, argv }
}

/**
 * Returns whether the arguments request help. `--help` after `--` belongs to the command that `gdn local exec` runs.
 */
function wantsHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end < 0 ? argv : argv.slice(0, end)).some((word) => word === '-h' || word === '--help')
}

/**
 * @param otherwise returns the route for words that name neither a topic nor a command
 * @param noun the noun before `help`. If it is set, no topic matches.
 */
function helpRoute(
  argv: readonly string[],
  otherwise: (words: readonly string[]) => CommandRoute,
  noun?: Noun,
): CommandRoute {
  for (const flag of argv.filter((word) => word.startsWith('-'))) checkHelpFlag(flag)
  const words = omitFlags(argv)
  const [first, second] = words
  if (first === undefined) return { kind: 'root-help' }
  const topic = noun === undefined ? findTopic(words.join('-').toLowerCase()) : undefined
  if (topic !== undefined) return { kind: 'topic', topic }
  const entry = noun ?? ENTRIES.find(({ name }) => name === first)
  if (entry === undefined) return otherwise(words)
  if (!isNoun(entry)) return words.length === 1 ? { kind: 'verb-help', verb: entry } : otherwise(words)
  if (second === undefined) return { kind: 'noun-help', noun: entry }
  const verb = entry.verbs.find(({ name }) => name === second)
  return verb === undefined || words.length > 2 ? otherwise(words) : { kind: 'verb-help', verb }
}

const searchRoute = (words: readonly string[]): CommandRoute => ({ kind: 'search', words })

const omitFlags = (argv: readonly string[]) => argv.filter((word) => !word.startsWith('-'))

function checkHelpFlag(flag: string): void {
  if (HELP_FLAGS.includes(flag)) return
  const near = nearest(flag, HELP_FLAGS)
  throw new GdnError('usage', `unknown option "${flag}"`, {
    hint:
      near === undefined
        ? 'Use `gdn help [--json] [<command>]`, such as `gdn help nft mint`.'
        : `Did you mean ${near}?`,
  })
}

/**
 * Rejects an unknown flag that isn't followed by a command. Global flags alone print the help, but `gdn --versoin` must
 * fail in a script.
 */
function checkFlagAlone(flag: string, noun = ''): void {
  const name = flag.startsWith('-o=') ? flag : (flag.split('=', 1)[0] ?? flag)
  if (!name.startsWith('-') || ROOT_FLAGS.includes(name)) return
  const near = name === '-v' ? '--version' : nearest(name, ROOT_FLAGS)
  throw new GdnError('usage', `unknown option "${name}"`, {
    hint: near === undefined ? `Run \`gdn ${noun}--help\` to list commands and flags.` : `Did you mean ${near}?`,
  })
}

/**
 * Splits the arguments at the first word that is neither a flag nor the value of a flag, or that requests help. Only
 * the command knows which of its flags take a value. A word after an unknown flag therefore counts as its value, unless
 * it names a command.
 */
function takeWord(
  argv: readonly string[],
  names: readonly { name: string }[],
): { flags: string[]; word: string | undefined; rest: string[] } {
  const isName = (word: string) => HELP_WORDS.has(word) || names.some(({ name }) => name === word)
  const takesNext = (flag: string, next: string) =>
    LEADING_VALUE_FLAGS.has(flag) ||
    !(ROOT_FLAGS.includes(flag) || flag.includes('=') || next.startsWith('-') || isName(next))
  let at = 0
  while (at < argv.length) {
    const word = argv[at] ?? ''
    if (!word.startsWith('-') || word === '-' || HELP_WORDS.has(word)) break
    at += takesNext(word, argv[at + 1] ?? '-') ? 2 : 1
  }
  return { flags: argv.slice(0, at), word: argv[at], rest: argv.slice(at + 1) }
}

const unknownRoute = (words: readonly string[]): UnknownRoute => ({ kind: 'unknown', words })
