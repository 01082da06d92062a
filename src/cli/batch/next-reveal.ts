import { basename, relative } from 'node:path'
import { shellWord } from '../../core/shell-word.ts'
import { isUnrevealed } from '../../state/drops.ts'
import { safe } from '../io/io.ts'
import type { BatchMintFlags } from './flags.ts'
import { planFlagsAgain } from './flags-again.ts'

interface MintedRun {
  reading: Readonly<Record<string, unknown>>
  manifestPath: string | null
}

/** Returns the note that an unrevealed drop can't be revealed without its manifest. */
export const backUpText = (manifest: string | null): string =>
  `Back up ${safe(basename(manifest ?? 'the manifest'))} and its files: without them, no one can reveal the drop.`

/** Whether the rows of a run are drawn after its mint, so that they can be minted only once. */
export const isShuffled = ({ reading }: Pick<MintedRun, 'reading'>): boolean => reading.shuffle !== undefined

/** Returns the next steps after an unrevealed mint; none for other runs, or if the run is known to be revealed. */
export function stepsToReveal({ reading, manifestPath }: MintedRun, flags: BatchMintFlags, cwd: string): string[] {
  if (!isUnrevealed({ reading }) || reading.draw !== undefined || manifestPath === null) return []
  const inside = relative(cwd, manifestPath)
  const path = inside.startsWith('..') ? manifestPath : inside
  const command = `gdn reveal ${shellWord(safe(path))}${planFlagsAgain({ ...flags, newRows: false, allowExchanged: false })}`
  return [`Next: ${command}`, backUpText(manifestPath)]
}
