import { shellWord } from '../../core/shell-word.ts'
import { type Drop, isUnrevealed } from '../../state/drops.ts'

type Resumable = Pick<Drop, 'name' | 'runName' | 'manifest' | 'reading' | 'contract' | 'blockchain'>

/**
 * Returns the command that resumes a run with this number of unsent rows. For an unrevealed drop with unsent rows, this
 * is the mint command, because only the manifest has the metadata that identifies rows which were minted revealed.
 */
export function howToResume(run: Resumable, pending: number): string {
  if (!isUnrevealed(run) || pending === 0) return `gdn batch resume ${run.name}`
  const named = run.runName === null ? '' : ` --run ${shellWord(run.runName)}`
  const collection = ` --contract ${run.contract} --blockchain ${run.blockchain}`
  return `gdn batch mint ${shellWord(run.manifest ?? '<manifest>')}${collection}${named} --unrevealed <file>`
}
