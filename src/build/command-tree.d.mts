import type { CommandTree } from '../cli/help/tree.ts'

export function readCommandTree(): Promise<CommandTree>
