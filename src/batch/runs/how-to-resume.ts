import { shellWord } from '../../core/shell-word.ts'
import { type Drop, isUnrevealed } from '../../state/drops.ts'

type Resumable = Pick<Drop, 'name' | 'runName' | 'manifest' | 'reading'>

/**
 * Whether unsent rows need the manifest. Only the manifest of an unrevealed drop shows whether another machine minted
 * the rows, and revealed them since.
 */
export const needsManifest = (run: Pick<Drop, 'reading'>, pending: number): boolean => isUnrevealed(run) && pending > 0

/** Returns the command that resumes a run with this number of unsent rows. */
export function howToResume(run: Resumable, pending: number): string {
  if (!needsManifest(run, pending)) return `gdn batch resume ${run.name}`
  const named = run.runName === null ? '' : ` --run ${shellWord(run.runName)}`
  return `gdn batch mint ${shellWord(run.manifest ?? '<manifest>')}${named} --unrevealed <file>`
}
