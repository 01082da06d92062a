import { addressProblem, evmAddressProblem } from '../../api/address.ts'
import type { Blockchain } from '../../api/blockchains.ts'
import { isSameAddress } from '../../api/same-address.ts'
import type { Server } from '../../config/server.ts'
import type { Settings } from '../../config/settings.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import type { KnownCollection } from '../../state/known-collections.ts'
import { missingCollectionError, wrongAddressError } from '../command.ts'
import type { Deps } from '../deps.ts'
import type { Io } from '../io/io.ts'
import {
  askBlockchain,
  askCollection,
  type CollectionChoice,
  formatRunSuffix,
  promptIfMissing,
} from '../prompt/ask-missing.ts'
import { findCollectionByAddress, knownCollections, readCollections } from './known-collections.ts'

export interface ResolvedCollection {
  contract: string
  blockchain: Blockchain
}

/** A collection that has a run of the command's manifest. */
export interface CollectionOfRun extends ResolvedCollection {
  run: string
}

interface ResolveOptions {
  /** Prompts for missing values. Default: an error reports them. */
  io?: Io | undefined
  /** The flag or argument that names the collection, for errors. Default: `--contract` */
  place?: '--contract' | '<address>'
  /** The collections with runs of a manifest, which are the first choices. */
  ofRuns?: readonly CollectionOfRun[]
}

/**
 * Returns the collection of a command, from flags, environment, project or profile. If none is specified, returns the
 * collection that this machine created on the server, if there is only one. The blockchain may also come from the
 * records of this machine.
 */
export async function resolveCollection(
  deps: Deps,
  settings: Settings,
  server: Server,
  options: ResolveOptions = {},
): Promise<ResolvedCollection> {
  const isNamed = settings.contract !== null && settings.blockchain !== null
  const collections = isNamed ? [] : await knownCollections(deps, { settings, server })
  const wantedBlockchain = settings.blockchain?.value
  const { contract, blockchain: knownBlockchain } =
    settings.contract === null
      ? await chooseCollection(deps, settings, collections, options)
      : { contract: settings.contract.value, blockchain: undefined }
  if (wantedBlockchain === undefined) refuseInvalidAddress(contract, settings)
  const blockchain =
    wantedBlockchain ??
    knownBlockchain ??
    findCollectionByAddress(collections, contract)?.blockchain ??
    (await promptIfPossible(options.io, (at) => askBlockchain(at, { message: `Blockchain of ${contract}` })))
  if (blockchain === undefined) {
    throw flagError('--blockchain', `the blockchain of ${contract} is not known`, 'Add --blockchain <name>.')
  }
  const problem = addressProblem(contract, blockchain)
  if (problem !== null) throw wrongAddressError(contract, problem, settings.contract?.from ?? '--contract')
  return { contract, blockchain }
}

/** Returns the only collection that fits the settings, or prompts for one. */
async function chooseCollection(
  deps: Deps,
  settings: Settings,
  collections: readonly KnownCollection[],
  { io, place = '--contract', ofRuns = [] }: ResolveOptions,
): Promise<{ contract: string; blockchain?: Blockchain }> {
  const wantedBlockchain = settings.blockchain?.value
  const onBlockchain = collections
    .filter(
      (collection) =>
        collection.contract_address !== null && (wantedBlockchain ?? collection.blockchain) === collection.blockchain,
    )
    .toReversed()
  const fitting = withRunsFirst(await filterByAccount(deps, settings, onBlockchain), ofRuns)
  const chosen =
    findOnlyCollection(fitting) ?? (await promptIfPossible(io, (at) => askCollection(at, fitting, wantedBlockchain)))
  if (chosen === undefined) throw noCollectionError(fitting, collections, { place, hasRuns: ofRuns.length > 0 })
  return chosen
}

const promptIfPossible = async <Answer>(io: Io | undefined, ask: (io: Io) => Promise<Answer>) =>
  io === undefined ? undefined : await promptIfMissing(io, undefined, () => ask(io))

/** Rejects a value that isn't an address on any blockchain, before the prompt for the blockchain. */
function refuseInvalidAddress(contract: string, { contract: contractSetting }: Settings): void {
  const isOfSolana = addressProblem(contract, 'solana') === null
  const problem = isOfSolana ? null : evmAddressProblem(contract)
  if (problem !== null) throw wrongAddressError(contract, problem, contractSetting?.from ?? '--contract')
}

/**
 * Filters the known collections by the API key's account, because other accounts may have created collections on this
 * machine. Returns all collections if there are fewer than two or the server doesn't respond.
 */
async function filterByAccount(
  deps: Deps,
  settings: Settings,
  collections: readonly KnownCollection[],
): Promise<readonly KnownCollection[]> {
  if (collections.length < 2) return collections
  try {
    const ids = collections.map(({ transaction_gdn_id }) => transaction_gdn_id)
    const records = await readCollections(await deps.connect(settings), ids, deps.signals.signal)
    const ownIds = new Set(records.map(({ transaction_gdn_ids: id }) => id))
    return collections.filter(({ transaction_gdn_id }) => ownIds.has(transaction_gdn_id))
  } catch (error) {
    // Even without the server, gdn can report that no collection is specified.
    if (!(error instanceof GdnError) || deps.signals.signal.aborted) throw error
    return collections
  }
}

function withRunsFirst(
  collections: readonly KnownCollection[],
  ofRuns: readonly CollectionOfRun[],
): CollectionChoice[] {
  const runOf = ({ contract_address: contract, blockchain }: KnownCollection) =>
    ofRuns.find((of) => of.blockchain === blockchain && isSameAddress(of.contract, contract ?? ''))
  const nameOf = (of: CollectionOfRun) =>
    collections.find((collection) => runOf(collection) === of)?.name ?? 'a collection'
  return [
    ...ofRuns.map((of) => ({ ...of, name: nameOf(of), contract_address: of.contract })),
    ...collections.filter((collection) => runOf(collection) === undefined),
  ]
}

function findOnlyCollection(fitting: readonly CollectionChoice[]): ResolvedCollection | undefined {
  const [only, ...otherCollections] = fitting
  if (only === undefined || only.contract_address === null || otherCollections.length > 0) return undefined
  return { contract: only.contract_address, blockchain: only.blockchain }
}

const MAX_LISTED_CHOICES = 10

/** Formats collections to choose from, as a hint. */
function formatChoices(
  fitting: readonly CollectionChoice[],
  collections: readonly KnownCollection[],
  flag: string,
): string {
  const lines = fitting.slice(0, MAX_LISTED_CHOICES).map(({ name, contract_address: contract, blockchain, run }) => {
    const isFound = findCollectionByAddress(collections, contract ?? '')?.blockchain === blockchain
    return `  ${flag}${contract}${isFound ? '' : ` --blockchain ${blockchain}`}  ${name} on ${blockchain}${formatRunSuffix(run)}`
  })
  const more = fitting.length > MAX_LISTED_CHOICES ? ['Run `gdn collection list` to list all of them.'] : []
  return ['Add one of these:', ...lines, ...more].join('\n')
}

function noCollectionError(
  fitting: readonly CollectionChoice[],
  collections: readonly KnownCollection[],
  { place, hasRuns }: { place: '--contract' | '<address>'; hasRuns: boolean },
): GdnError {
  const flag = place === '--contract' ? '--contract ' : ''
  if (fitting.length > 0) {
    const several = hasRuns ? 'the manifest has runs in several collections' : 'several collections are known'
    return flagError(place, `${several}, and none is specified`, formatChoices(fitting, collections, flag))
  }
  const blockchains = [...new Set(collections.map(({ blockchain }) => blockchain))].join(', ')
  const elsewhere = blockchains === '' ? '' : `The known collections are on other blockchains: ${blockchains}.\n`
  return missingCollectionError(
    place,
    `${elsewhere}Add ${flag}<address>, or run \`gdn collection create\` to create a collection.`,
  )
}
