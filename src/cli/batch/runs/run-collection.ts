import { sameAddress } from '../../../api/same-address.ts'
import { howToMintList } from '../../../batch/runs/how-to-resume.ts'
import { listRuns, type Run } from '../../../batch/runs/runs.ts'
import type { BatchOptions } from '../../../batch/types.ts'
import { type IdentifiedBackend, refuseOtherBackend } from '../../../client/backend.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import { findByAddress, knownCollections } from '../../connect/known-collections.ts'
import type { CollectionOfRun, ResolvedCollection } from '../../connect/resolve-collection.ts'
import type { Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import type { BatchMintFlags } from '../options/flags.ts'
import { flagsOfRun } from '../options/format-flags.ts'
import { flagsOfServer, type RunFlags } from './resolve-server.ts'

/** The fields that identify the runs of a manifest on a server. */
type NamedRun = Pick<BatchOptions, 'stateDir' | 'origin' | 'manifestPath'> & { runName: string | undefined }

type NamedRunOnBlockchain = NamedRun & { blockchain: string | undefined }

interface RunTarget {
  settings: Settings
  server: Server
  named: Pick<NamedRunOnBlockchain, 'origin' | 'manifestPath' | 'runName'>
  backend: IdentifiedBackend
}

/** Returns the collections of a manifest's runs on this machine, each with the name of its newest run. */
export async function collectionsOfRuns({
  stateDir,
  origin,
  manifestPath,
  runName,
  blockchain,
}: NamedRunOnBlockchain): Promise<CollectionOfRun[]> {
  const collections = new Map<string, CollectionOfRun>()
  for (const run of await listRuns(stateDir)) {
    if (!isNamedRun(run, { manifestPath, runName }) || run.origin !== origin) continue
    if ((blockchain ?? run.blockchain) !== run.blockchain) continue
    const { contractAddress: contract } = run
    const id = `${run.blockchain} ${contract.toLowerCase()}`
    if (!collections.has(id)) collections.set(id, { contract, blockchain: run.blockchain, run: run.name })
  }
  return [...collections.values()]
}

/**
 * Returns the flags that select a run by its manifest, for use in another command. The collection is omitted if the
 * command selects it without flags.
 */
export async function flagsToSelect(
  deps: Deps,
  run: Run,
  { contract: _, ...flags }: RunFlags,
): Promise<BatchMintFlags> {
  const serverFlags: BatchMintFlags = await flagsOfServer(deps, run, flags)
  const { contract, blockchain } = await deps.settings(serverFlags)
  const named = { ...run, runName: run.runName ?? undefined, blockchain: blockchain?.value }
  const [selected, ...others] =
    contract === null ? (await collectionsOfRuns(named)).map((collection) => collection.contract) : [contract.value]
  const all = flagsOfRun(run, serverFlags)
  if (selected === undefined || others.length > 0 || !sameAddress(selected, run.contractAddress)) return all
  const { contract: _contract, blockchain: _blockchain, ...withoutCollection } = all
  return withoutCollection
}

const MAX_LISTS = 3

/**
 * Warns that a manifest has runs with lists of receivers, because --to may be missing. Doesn't warn if the manifest has
 * a run without a list.
 */
export async function warnOfLists(
  { io }: Pick<Deps, 'io'>,
  manifest: string,
  named: NamedRun,
  serverFlags: string,
): Promise<void> {
  const { stateDir, origin, manifestPath } = named
  if (manifestPath === null) return
  const runs = (await listRuns(stateDir)).filter((run) => run.origin === origin)
  if (runs.some((run) => isNamedRun(run, named))) return
  const newest = new Map(runs.toReversed().map((run) => [run.family, run]))
  const ofManifest = [...newest.values()].filter((run) => run.manifestPath === manifestPath)
  const hints = ofManifest.flatMap(
    (run) => howToMintList({ ...run, manifest: manifestPath, contract: run.contractAddress }, serverFlags) ?? [],
  )
  if (hints.length === 0) return
  io.warn(safe(`${manifest} was minted to a list of receivers. ${hints.slice(0, MAX_LISTS).join('\n')}`))
}

const isNamedRun = (
  run: Run,
  { manifestPath, runName }: Pick<NamedRunOnBlockchain, 'manifestPath' | 'runName'>,
): boolean =>
  runName === undefined ? run.runName === null && run.manifestPath === manifestPath : run.runName === runName

/**
 * Refuses a manifest whose run in the collection belongs to a different backend that had the same address, for example
 * before `gdn local reset`. If the current backend is known to have a collection with this address, that is another
 * collection, and the manifest is accepted.
 *
 * @throws GdnError `wrong_backend`
 */
export async function refuseRunOfOther(
  deps: Deps,
  { settings, server, named, backend }: RunTarget,
  { contract, blockchain }: ResolvedCollection,
): Promise<void> {
  if (backend.id === null) return
  const runs = (await listRuns(settings.stateDir)).filter(
    (run) => isNamedRun(run, named) && run.blockchain === blockchain && sameAddress(run.contractAddress, contract),
  )
  const other = runs.find(({ url, backendId }) => backendId !== null && parseUrl(url)?.origin === server.origin)
  if (other === undefined || runs.some(({ origin }) => origin === named.origin)) return
  if (findByAddress(await knownCollections(deps, { settings, server }), contract) !== undefined) return
  refuseOtherBackend(`the run ${other.name}`, { url: other.url, id: other.backendId, incarnation: null }, backend)
}
