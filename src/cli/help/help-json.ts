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
export async function helpInJson(route: HelpRoute, io: Io, make: MakeCommand): Promise<string> {
  return `${JSON.stringify(await commandHelpJson(route, make), null, io.stdoutTty ? 2 : undefined)}\n`
}

async function commandHelpJson(route: HelpRoute, make: MakeCommand): Promise<unknown> {
  if (route.kind === 'topic') {
    const { readTopic } = await import('./topic.ts')
    return { name: route.topic.name, ...(await readTopic(route.topic.page)) }
  }
  if (route.kind === 'search') {
    const [{ findHelp }, { searchData }] = await Promise.all([import('./find-help.ts'), import('./search-text.ts')])
    return searchData(route.words, (await findHelp(route.words)).sections)
  }
  const tree = await commandTree(make)
  if (route.kind === 'root-help') return tree
  if (route.kind === 'noun-help') return tree.commands.filter(({ name }) => name.startsWith(`${route.noun.name} `))
  return tree.commands.find(({ name }) => name === route.verb.command)
}
