/** A help topic. Its page in `docs/` is read on demand. */
export interface TopicEntry {
  readonly name: string
  readonly summary: string
  /** The file name in `docs/`. */
  readonly page: string
}

export const HELP_TOPICS: readonly TopicEntry[] = [
  { name: 'environment', summary: 'Configuration files and environment variables', page: 'configuration.md' },
  { name: 'exit-codes', summary: 'Exit codes and error codes', page: 'exit-codes.md' },
  { name: 'manifest', summary: 'Columns, formats and limits of a manifest', page: 'manifest.md' },
  { name: 'output', summary: 'Output formats, fields, colors and images', page: 'output.md' },
  { name: 'local', summary: 'The local backend and its endpoints', page: 'local-backend.md' },
  { name: 'blockchains', summary: 'Supported blockchains and their features', page: 'blockchains.md' },
  { name: 'security', summary: 'How keys and wallets are protected', page: 'security.md' },
]

/** Returns the topic with a name or page name. */
export function findTopic(name: string): TopicEntry | undefined {
  return HELP_TOPICS.find((topic) => topic.name === name) ?? HELP_TOPICS.find(({ page }) => page === `${name}.md`)
}
