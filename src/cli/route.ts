import { GdnError } from '../core/errors.ts'
import { nearest } from '../core/nearest.ts'
import { ENTRIES, isNoun, type Noun, type Verb } from './catalogue.ts'

export type Route =
  | { kind: 'root-help' }
  | { kind: 'noun-help'; noun: Noun }
  | { kind: 'verb-help'; verb: Verb }
  | { kind: 'verb'; verb: Verb; argv: string[] }

const HELP = new Set(['-h', '--help', 'help'])
const LEADING_VALUE_FLAGS = new Set(['--profile', '--base-url', '--state-dir', '-o', '--output', '--fields'])

/**
 * Finds the command that the arguments name. Flags may stand before it: `gdn --json nft show …`.
 * Unknown words are never run as something near: the error names it.
 */
export function route(argv: readonly string[]): Route {
  const { flags, word: first, rest } = takeWord(argv)
  if (first === undefined) return { kind: 'root-help' }
  if (first === 'help') return helpRoute(rest)
  const entry = find(first, ENTRIES, 'gdn')
  if (!isNoun(entry)) return verbRoute(entry, [...flags, ...rest])
  const second = takeWord(rest)
  if (second.word === undefined || second.word === 'help') return { kind: 'noun-help', noun: entry }
  const verb = find(second.word, entry.verbs, `gdn ${entry.name}`)
  return verbRoute(verb, [...flags, ...second.flags, ...second.rest])
}

function verbRoute(verb: Verb, argv: string[]): Route {
  const end = argv.indexOf('--')
  const own = end < 0 ? argv : argv.slice(0, end)
  return own.some((word) => word === '-h' || word === '--help')
    ? { kind: 'verb-help', verb }
    : { kind: 'verb', verb, argv }
}

function helpRoute(words: readonly string[]): Route {
  const [first, second] = words.filter((word) => !word.startsWith('-'))
  if (first === undefined) return { kind: 'root-help' }
  const entry = find(first, ENTRIES, 'gdn')
  if (!isNoun(entry)) return { kind: 'verb-help', verb: entry }
  if (second === undefined) return { kind: 'noun-help', noun: entry }
  return { kind: 'verb-help', verb: find(second, entry.verbs, `gdn ${entry.name}`) }
}

/** The first word that is no flag, the flags before it, and what follows. */
function takeWord(argv: readonly string[]): { flags: string[]; word: string | undefined; rest: string[] } {
  let at = 0
  while (at < argv.length) {
    const word = argv[at] ?? ''
    if (!word.startsWith('-') || word === '-') break
    if (HELP.has(word)) return { flags: [], word: undefined, rest: [] }
    at += LEADING_VALUE_FLAGS.has(word) ? 2 : 1
  }
  return { flags: argv.slice(0, at), word: argv[at], rest: argv.slice(at + 1) }
}

function find<Entry extends { name: string }>(word: string, entries: readonly Entry[], before: string): Entry {
  const entry = entries.find(({ name }) => name === word)
  if (entry !== undefined) return entry
  const names = entries.map(({ name }) => name)
  const near = nearest(word, names)
  throw new GdnError('usage', `unknown command "${before} ${word}"`, {
    hint:
      near === undefined ? `commands are ${names.join(', ')}; see ${before} --help` : `did you mean ${before} ${near}?`,
  })
}
