import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runLabel } from '../../../batch/runs/run-label.ts'
import type { BatchOptions, Run } from '../../../batch/types.ts'
import { findProjectFileIn } from '../../../config/project-file.ts'
import { isUnrevealed } from '../../../state/drops.ts'

/** Returns the label of a run's reference IDs; null if they have no label. */
export const findRunLabel = async (manifestPath: string | null, runName: string | undefined): Promise<string | null> =>
  await runLabel(
    { manifestPath, runName },
    {
      isRepository: (folder) => existsSync(join(folder, '.git')),
      isProject: async (folder) => (await findProjectFileIn(folder)) !== null,
    },
  )

/**
 * Returns the options for resuming a run.
 *
 * @param finds whether the command looks for NFTs that other machines have minted
 * @throws GdnError `file_error` if the leaves file of an unrevealed drop can't be read
 */
export async function runOptions(run: Run, finds: boolean): Promise<BatchOptions> {
  const { stateDir, origin, blockchain, contractAddress, manifestPath, generation } = run
  const runName = run.runName ?? undefined
  const label = await findRunLabel(manifestPath, runName)
  const committedRow =
    finds && isUnrevealed(run)
      ? await (await import('../../../reveal/unrevealed.ts')).createCommittedRowLookup(run)
      : undefined
  return { stateDir, origin, blockchain, contractAddress, manifestPath, generation, label, runName, committedRow }
}
