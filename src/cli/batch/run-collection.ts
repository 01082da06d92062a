import { listRuns } from '../../batch/runs.ts'
import type { BatchOptions } from '../../batch/types.ts'
import type { Collection } from '../connect/which-collection.ts'

/** What names the runs of a manifest on a server. */
type Named = Pick<BatchOptions, 'stateDir' | 'origin' | 'manifestPath'> & {
  runName: string | undefined
  blockchain: string | undefined
}

/** Returns the collection of a manifest's runs on this machine; null if it has none, or several collections. */
export async function collectionOfRuns({
  stateDir,
  origin,
  manifestPath,
  runName,
  blockchain,
}: Named): Promise<Collection | null> {
  const found = new Map<string, Collection>()
  for (const run of await listRuns(stateDir)) {
    const isNamed =
      runName === undefined ? run.runName === null && run.manifestPath === manifestPath : run.runName === runName
    if (!isNamed || run.origin !== origin || (blockchain ?? run.blockchain) !== run.blockchain) continue
    const { contractAddress: contract } = run
    found.set(`${run.blockchain} ${contract.toLowerCase()}`, { contract, blockchain: run.blockchain })
  }
  const [only, ...others] = found.values()
  return others.length === 0 ? (only ?? null) : null
}
