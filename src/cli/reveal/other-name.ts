import { existsSync } from 'node:fs'
import { sameAddress } from '../../api/same-address.ts'
import { howToTake } from '../../batch/runs/moved-run.ts'
import { listRuns } from '../../batch/runs/runs.ts'
import type { BatchOptions } from '../../batch/types.ts'
import { GdnError } from '../../core/errors.ts'
import { commitmentOf, keptCommitment } from '../../reveal/unrevealed.ts'

/** @throws GdnError `refused` if this machine minted the drop from another file, whose run would not be updated */
export async function refuseOtherName(options: BatchOptions, provenance: string): Promise<void> {
  if ((await keptCommitment(options)) !== undefined) return
  const { stateDir, contractAddress, manifestPath } = options
  const own = (await listRuns(stateDir)).find(
    (run) => commitmentOf(run)?.provenance === provenance && sameAddress(run.contractAddress, contractAddress),
  )
  if (own === undefined) return
  const { name, runName, manifestPath: manifest } = own
  const isGone = manifest !== null && !existsSync(manifest)
  throw new GdnError(
    'refused',
    `this machine minted the drop as the run ${name}, from ${manifest ?? 'standard input'}`,
    {
      place: { file: manifestPath ?? undefined },
      hint: `Nothing was sent. ${
        isGone
          ? `If that file was moved or renamed to this path, add ${howToTake({ runName, manifest })}.`
          : 'Use that file and the name of the run, so that gdn also updates its records.'
      }`,
    },
  )
}
