import type { Topic } from './topic.ts'

/** The help topics with their summaries; the text of each is loaded when it is asked for. */
export interface TopicEntry {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<Topic>
}

export const TOPICS: readonly TopicEntry[] = [
  {
    name: 'environment',
    summary: 'Environment variables, and which setting takes precedence',
    load: async () => (await import('./topics/environment.ts')).environment,
  },
  {
    name: 'exit-codes',
    summary: 'What each exit code means, and what to do',
    load: async () => (await import('./topics/exit-codes.ts')).exitCodes,
  },
  {
    name: 'manifest',
    summary: 'Columns of a drop, its formats and limits',
    load: async () => (await import('./topics/manifest.ts')).manifest,
  },
  {
    name: 'output',
    summary: 'JSON, CSV, ids, tables; fields; colors; what scripts may rely on',
    load: async () => (await import('./topics/output.ts')).output,
  },
  {
    name: 'local',
    summary: 'The backend of your own: what it is and where it lives',
    load: async () => (await import('./topics/local.ts')).local,
  },
  {
    name: 'blockchains',
    summary: 'The blockchains of the API, and what each can do',
    load: async () => (await import('./topics/blockchains.ts')).blockchains,
  },
  {
    name: 'security',
    summary: 'Where keys are kept, where they go, what is never shown',
    load: async () => (await import('./topics/security.ts')).security,
  },
]

export function findTopic(name: string): TopicEntry | undefined {
  return TOPICS.find((topic) => topic.name === name)
}
