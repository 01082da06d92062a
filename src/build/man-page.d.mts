import type { Topic } from '../cli/help/topic.ts'
import type { CommandTree } from '../cli/help/tree.ts'

export function manPage(help: { tree: CommandTree; topics: (Topic & { name: string })[] }): string
