import { existsSync } from 'node:fs'
import { isSameAddress } from '../../api/same-address.ts'
import { formatTakeoverFlags } from '../../batch/runs/moved-run.ts'
import { listRuns } from '../../batch/runs/runs.ts'
import type { BatchOptions } from '../../batch/types.ts'
import { GdnError } from '../../core/errors.ts'
import type { Commitment } from '../../reveal/leaves.ts'
import { findCommittedRun, readStoredCommitment } from '../../reveal/unrevealed.ts'

/**
 * Returns the generation of the manifest's run that has committed to its rows. A later generation, started with
 * --again, may have minted them again. Returns undefined if this machine has no such run.
 */
export async function committedGeneration(
  { stateDir, contractAddress, blockchain, manifestPath, runName }: BatchOptions,
  commitment: Commitment,
): Promise<number | undefined> {
  for (const run of await listRuns(stateDir)) {
    const isSame =
      run.manifestPath === manifestPath && run.runName === (runName ?? null) && run.blockchain === blockchain
    const ownCommitment =
      isSame && isSameAddress(run.contractAddress, contractAddress) ? readStoredCommitment(run) : null
    if (ownCommitment !== null && commitment.withRule(ownCommitment.shuffle).provenance === ownCommitment.provenance)
      return run.generation
  }
  return undefined
}

/**
 * @throws GdnError `refused` if this machine minted the drop from a different file, because that file's run would not
 * be updated
 */
export async function refuseOtherName(options: BatchOptions, provenance: string): Promise<void> {
  if ((await findCommittedRun(options)) !== undefined) return
  const { stateDir, contractAddress, manifestPath } = options
  const committedRun = (await listRuns(stateDir)).find(
    (run) =>
      readStoredCommitment(run)?.provenance === provenance && isSameAddress(run.contractAddress, contractAddress),
  )
  if (committedRun === undefined) return
  const { name, runName, manifestPath: manifest } = committedRun
  const isGone = manifest !== null && !existsSync(manifest)
  throw new GdnError(
    'refused',
    `this machine minted the drop as the run ${name}, from ${manifest ?? 'standard input'}`,
    {
      place: { file: manifestPath ?? undefined },
      hint: `Nothing was sent. ${
        isGone
          ? `If that file was moved or renamed to this path, add ${formatTakeoverFlags({ runName, manifest })}.`
          : 'Use that file and the name of the run, so that gdn also updates its records.'
      }`,
    },
  )
}
