import type { Noun, Verb } from '../catalogue.ts'
import type { Io } from '../io/io.ts'
import type { TopicEntry } from './topics.ts'
import { commandTree, type MakeCommand } from './tree.ts'

/** The subject of a help request. */
export type HelpRoute =
  | { kind: 'root-help' }
  | { kind: 'topic'; topic: TopicEntry }
  | { kind: 'noun-help'; noun: Noun }
  | { kind: 'verb-help'; verb: Verb }
  | { kind: 'search'; words: readonly string[] }

/**
 * Returns the output of `gdn help --json`: the whole command tree, the part for a command or noun, the text of a topic,
 * or the sections that match the words.
 */
export async function helpInJson(found: HelpRoute, io: Io, make: MakeCommand): Promise<string> {
  return `${JSON.stringify(await asked(found, make), null, io.stdoutTty ? 2 : undefined)}\n`
}

async function asked(found: HelpRoute, make: MakeCommand): Promise<unknown> {
  if (found.kind === 'topic') {
    const { readTopic } = await import('./topic.ts')
    return { name: found.topic.name, ...(await readTopic(found.topic.page)) }
  }
  if (found.kind === 'search') {
    const [{ findHelp }, { searchData }] = await Promise.all([import('./find-help.ts'), import('./search-text.ts')])
    return searchData(found.words, (await findHelp(found.words)).sections)
  }
  const tree = await commandTree(make)
  if (found.kind === 'root-help') return tree
  if (found.kind === 'noun-help') return tree.commands.filter(({ name }) => name.startsWith(`${found.noun.name} `))
  return tree.commands.find(({ name }) => name === found.verb.command)
}
