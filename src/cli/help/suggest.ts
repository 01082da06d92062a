import { GdnError } from '../../core/errors.ts'
import { distance, nearest } from '../../core/nearest.ts'
import { hidePrivateKey } from '../../core/quoted.ts'
import { ENTRIES, isNoun, type Noun } from '../catalogue.ts'
import { HELP_TOPICS } from './topics.ts'

const CREATE_VERBS = ['create', 'generate', 'add', 'mint']

/**
 * Words that other tools use for gdn's commands, and the commands in order of likelihood. gdn suggests these commands
 * but never runs them.
 */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(['add', 'create', 'generate', 'make', 'new'].map((word) => [word, CREATE_VERBS])),
  run: ['mint', 'exec', 'start'],
  upload: ['mint'],
  ls: ['list'],
  all: ['list'],
  get: ['show', 'get'],
  info: ['show', 'status'],
  view: ['show'],
  describe: ['show'],
  send: ['transfer'],
  move: ['transfer'],
  check: ['validate', 'status', 'verify'],
  continue: ['resume'],
  delete: ['rm', 'revoke', 'unset', 'reset'],
  remove: ['rm', 'revoke', 'unset'],
  log: ['logs'],
  up: ['start'],
  down: ['stop'],
}

/** Commands that users may expect but gdn doesn't have, and the alternatives. Keyed by noun, then by verb. */
const MISSING_COMMANDS: Readonly<Record<string, readonly [verbs: readonly string[], instead: string][]>> = {
  wallet: [
    [['restore', 'recover'], 'To use a key from another program: gdn wallet import <file>'],
    [['balance', 'balances', 'funds'], 'gdn does not read wallet balances. Look up the address in a block explorer.'],
  ],
  collection: [
    [
      ['update', 'edit', 'modify', 'change', 'enable', 'disable'],
      'To change a collection, its owner runs: gdn collection set <address> --wallet @<owner>',
    ],
    [
      ['burn', 'delete', 'rm', 'remove', 'destroy'],
      'A collection is a contract and cannot be deleted. The owner can disable minting:\ngdn collection set <address> --no-enable-api --wallet @<owner>',
    ],
  ],
}

/** Returns the alternative to a command that gdn doesn't have; undefined for other words. */
function findAlternative([noun = '', verb = '']: readonly string[]): string | undefined {
  const entries = Object.hasOwn(MISSING_COMMANDS, noun) ? MISSING_COMMANDS[noun] : undefined
  return entries?.find(([verbs]) => verbs.includes(verb.toLowerCase()))?.[1]
}

/** Returns the error for words that aren't a command, with a suggestion. */
export function unknownCommandError(words: readonly string[]): GdnError {
  const { before, word, near, known } = suggestCommands(words)
  return new GdnError('usage', `unknown command "${before} ${hidePrivateKey(word)}"`, {
    hint:
      findAlternative(words) ??
      (near.length === 0
        ? `The commands are ${known.join(', ')}. Run \`${before} --help\` for details.`
        : `Did you mean ${joinWithOr(near)}?`),
  })
}

/** Returns whether the words are a noun and an unknown verb for which there is a suggestion. */
export const isMistyped = (words: readonly string[]): boolean =>
  words.length === 2 &&
  NOUNS.some(({ name }) => name === words[0]) &&
  (findAlternative(words) !== undefined || suggestCommands(words).near.length > 0)

/**
 * Returns a question that suggests the commands and topics that a word after `gdn help` resembles; null if there are
 * none. The word may also be a search term, so the required similarity is higher than for a word after `gdn`.
 */
export function suggestInHelp(word: string): string | null {
  const isTypo = (name: string) =>
    name.startsWith(word) || distance(word, name) <= Math.max(1, Math.floor(word.length / 5))
  const near = suggestCommands([word]).near.filter((command) => command.split(' ').some(isTypo))
  return near.length === 0 ? null : `Did you mean ${joinWithOr(near.map(toHelpCommand))}?`
}

const toHelpCommand = (command: string) =>
  command.startsWith('gdn help ') ? command : command.replace(/^gdn/, 'gdn help')

const joinWithOr = (names: readonly string[]) =>
  [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' or ')

export interface Suggestion {
  /** The words that were recognized. */
  before: string
  /** The first word that wasn't recognized. */
  word: string
  /** Up to three commands that the user probably meant, for the user to paste. */
  near: string[]
  /** The names of all commands in the catalogue that are valid at this point of the command line. */
  known: string[]
}

const NOUNS = ENTRIES.filter(isNoun)
const FIRST_WORDS = ENTRIES.map(({ name }) => name)
/** Valid first words that aren't commands in the catalogue. */
const OTHER_FIRST_WORDS = ['help', 'version']

/** Suggests commands for words that don't form a command. */
export function suggestCommands(words: readonly string[]): Suggestion {
  const [first = '', second] = words
  const noun = NOUNS.find(({ name }) => name === first)
  if (noun !== undefined && second !== undefined) {
    const verb = findNearVerb(second, noun)
    const near = verb === undefined ? [] : [`gdn ${noun.name} ${verb}`]
    return { before: `gdn ${noun.name}`, word: second, near, known: noun.verbs.map(({ name }) => name) }
  }
  return { before: 'gdn', word: first, near: findNearCommands(first, second).slice(0, 3), known: FIRST_WORDS }
}

function findNearCommands(word: string, next: string | undefined): string[] {
  const turned = NOUNS.find(({ name }) => name === next)
  const turnedVerb = turned === undefined ? undefined : findNearVerb(word, turned)
  if (turned !== undefined && turnedVerb !== undefined) return [`gdn ${turned.name} ${turnedVerb}`]
  const joined = NOUNS.flatMap(({ name, verbs }) => verbs.map((verb) => `${name} ${verb.name}`)).filter(
    (command) => toBareName(command) === toBareName(word),
  )
  if (joined.length > 0) return joined.map((command) => `gdn ${command}`)
  const first = nearest(word, [...FIRST_WORDS, ...OTHER_FIRST_WORDS])
  if (first !== undefined) return [addNearVerb(first, next)]
  const verbs = NOUNS.flatMap((noun) => noun.verbs.map((verb) => [noun.name, verb.name] as const))
  const verb = nearest(word, [...new Set(verbs.map(([, name]) => name))])
  if (verb !== undefined) return verbs.filter(([, name]) => name === verb).map(([noun, name]) => `gdn ${noun} ${name}`)
  const topic = nearest(
    word,
    HELP_TOPICS.map(({ name }) => name),
  )
  return topic === undefined ? [] : [`gdn help ${topic}`]
}

/** Returns the command for a first word. Includes the verb if the next word resembles a verb of the noun. */
function addNearVerb(first: string, next: string | undefined): string {
  const noun = NOUNS.find(({ name }) => name === first)
  const verb = noun === undefined || next === undefined ? undefined : findNearVerb(next, noun)
  return verb === undefined ? `gdn ${first}` : `gdn ${first} ${verb}`
}

function findNearVerb(word: string, { verbs }: Noun): string | undefined {
  const names = verbs.map(({ name }) => name)
  const lower = word.toLowerCase()
  const synonyms = Object.hasOwn(SYNONYMS, lower) ? SYNONYMS[lower] : undefined
  return nearest(word, names) ?? synonyms?.find((name) => names.includes(name))
}

const toBareName = (command: string) => command.toLowerCase().replaceAll(/[\s:._/-]/g, '')
