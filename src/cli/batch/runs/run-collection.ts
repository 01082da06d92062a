import { isSameAddress } from '../../../api/same-address.ts'
import { formatMintListHint } from '../../../batch/runs/how-to-resume.ts'
import { listRuns, type Run } from '../../../batch/runs/runs.ts'
import type { BatchOptions } from '../../../batch/types.ts'
import { type IdentifiedBackend, refuseOtherBackend } from '../../../client/backend.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { parseUrl } from '../../../core/parse-url.ts'
import { findCollectionByAddress, knownCollections } from '../../connect/known-collections.ts'
import type { CollectionOfRun, ResolvedCollection } from '../../connect/resolve-collection.ts'
import type { Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import type { BatchMintFlags } from '../options/flags.ts'
import { addRunSelection } from '../options/format-flags.ts'
import { addRunServerFlag, type RunFlags } from './resolve-server.ts'

/** The fields that identify the runs of a manifest on a server. */
type RunSelector = Pick<BatchOptions, 'stateDir' | 'origin' | 'manifestPath'> & { runName: string | undefined }

type RunSelectorOnBlockchain = RunSelector & { blockchain: string | undefined }

interface RunTarget {
  settings: Settings
  server: Server
  runSelector: Pick<RunSelectorOnBlockchain, 'origin' | 'manifestPath' | 'runName'>
  backend: IdentifiedBackend
}

/** Returns the collections of a manifest's runs on this machine, each with the name of its newest run. */
export async function findRunCollections({
  stateDir,
  origin,
  manifestPath,
  runName,
  blockchain,
}: RunSelectorOnBlockchain): Promise<CollectionOfRun[]> {
  const collections = new Map<string, CollectionOfRun>()
  for (const run of await listRuns(stateDir)) {
    if (!isSelectedRun(run, { manifestPath, runName }) || run.origin !== origin) continue
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
export async function findSelectingFlags(
  deps: Deps,
  run: Run,
  { contract: _, ...flags }: RunFlags,
): Promise<BatchMintFlags> {
  const serverFlags: BatchMintFlags = await addRunServerFlag(deps, run, flags)
  const { contract, blockchain } = await deps.settings(serverFlags)
  const selector = { ...run, runName: run.runName ?? undefined, blockchain: blockchain?.value }
  const [selected, ...others] =
    contract === null ? (await findRunCollections(selector)).map((collection) => collection.contract) : [contract.value]
  const all = addRunSelection(run, serverFlags)
  if (selected === undefined || others.length > 0 || !isSameAddress(selected, run.contractAddress)) return all
  const { contract: _contract, blockchain: _blockchain, ...withoutCollection } = all
  return withoutCollection
}

const MAX_SHOWN_LISTS = 3

/**
 * Warns that a manifest has runs with lists of receivers, because --to may be missing. Doesn't warn if the manifest has
 * a run without a list.
 */
export async function warnOfLists(
  { io }: Pick<Deps, 'io'>,
  manifest: string,
  selector: RunSelector,
  serverFlags: string,
): Promise<void> {
  const { stateDir, origin, manifestPath } = selector
  if (manifestPath === null) return
  const runs = (await listRuns(stateDir)).filter((run) => run.origin === origin)
  if (runs.some((run) => isSelectedRun(run, selector))) return
  const newest = new Map(runs.toReversed().map((run) => [run.family, run]))
  const ofManifest = [...newest.values()].filter((run) => run.manifestPath === manifestPath)
  const hints = ofManifest.flatMap(
    (run) => formatMintListHint({ ...run, manifest: manifestPath, contract: run.contractAddress }, serverFlags) ?? [],
  )
  if (hints.length === 0) return
  io.warn(safe(`${manifest} was minted to a list of receivers. ${hints.slice(0, MAX_SHOWN_LISTS).join('\n')}`))
}

const isSelectedRun = (
  run: Run,
  { manifestPath, runName }: Pick<RunSelectorOnBlockchain, 'manifestPath' | 'runName'>,
): boolean =>
  runName === undefined ? run.runName === null && run.manifestPath === manifestPath : run.runName === runName

/**
 * Refuses a manifest whose run in the collection belongs to a different backend that had the same address, for example
 * before `gdn local reset`. If the current backend is known to have a collection with this address, that is another
 * collection, and the manifest is accepted.
 *
 * @throws GdnError `wrong_backend`
 */
export async function refuseRunOfOtherBackend(
  deps: Deps,
  { settings, server, runSelector, backend }: RunTarget,
  { contract, blockchain }: ResolvedCollection,
): Promise<void> {
  if (backend.id === null) return
  const runs = (await listRuns(settings.stateDir)).filter(
    (run) =>
      isSelectedRun(run, runSelector) && run.blockchain === blockchain && isSameAddress(run.contractAddress, contract),
  )
  const other = runs.find(({ url, backendId }) => backendId !== null && parseUrl(url)?.origin === server.origin)
  if (other === undefined || runs.some(({ origin }) => origin === runSelector.origin)) return
  if (findCollectionByAddress(await knownCollections(deps, { settings, server }), contract) !== undefined) return
  refuseOtherBackend(`the run ${other.name}`, { url: other.url, id: other.backendId, incarnation: null }, backend)
}
