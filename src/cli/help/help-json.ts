import type { Noun, Verb } from '../catalogue.ts'
import type { Io } from '../io/io.ts'
import type { TopicEntry } from './topics.ts'
import { commandTree, type MakeCommand } from './tree.ts'

/** What `gdn help` explains. */
export type HelpRoute =
  | { kind: 'root-help' }
  | { kind: 'topic'; topic: TopicEntry }
  | { kind: 'noun-help'; noun: Noun }
  | { kind: 'verb-help'; verb: Verb }

/**
 * `gdn help --json`: the command tree. Of one command or noun, its part of it; of a topic, its text as it stands for
 * people.
 */
export async function helpInJson(found: HelpRoute, io: Io, make: MakeCommand): Promise<string> {
  return `${JSON.stringify(await asked(found, make), null, io.stdoutTty ? 2 : undefined)}\n`
}

async function asked(found: HelpRoute, make: MakeCommand): Promise<unknown> {
  if (found.kind === 'topic') {
    const { readTopic } = await import('./topic.ts')
    return { name: found.topic.name, ...(await readTopic(found.topic.page)) }
  }
  const tree = await commandTree(make)
  if (found.kind === 'root-help') return tree
  if (found.kind === 'noun-help') return tree.commands.filter(({ name }) => name.startsWith(`${found.noun.name} `))
  return tree.commands.find(({ name }) => name === found.verb.command)
}
