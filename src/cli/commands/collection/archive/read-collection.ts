import type { ArchivedCollection, ArchiveStore } from '../../../../archive/archive-store.ts'
import type { ArchiveProblem } from '../../../../archive/index-lines.ts'
import type { ArchiveLimits } from '../../../../archive/limits.ts'
import { listContractUri, listMintedUris } from '../../../../archive/list-more.ts'
import { listTokens, readFirstUris } from '../../../../archive/list-tokens.ts'
import { openSourceReader } from '../../../../archive/read-source.ts'
import { readTokens } from '../../../../archive/read-tokens.ts'
import { count } from '../../../../core/count.ts'
import { flagError, GdnError } from '../../../../core/errors.ts'
import { isIpfsUrl } from '../../../../core/ipfs-url.ts'
import type { WantedBlock } from '../../../../holders/block-of.ts'
import type { Deps } from '../../../deps.ts'
import { withProgress } from '../../../io/progress.ts'
import { clock } from '../../../text/clock.ts'
import { VERSION } from '../../../version.ts'
import type { ChainContract } from '../chain-contract.ts'
import { type ReadHolders, withHolders } from '../holders/read.ts'
import { noGatewayError, type ReadingFlags, resolveArweaveGateway, resolveGateways } from './reading-flags.ts'

export interface ReadCollectionOptions {
  target: ChainContract
  flags: ReadingFlags
  store: ArchiveStore
  limits: ArchiveLimits
  wanted: WantedBlock
  wholeDirectory: boolean
  /** Whether the files stay in the store. */
  keepsFiles: boolean
  /** Called when all tokens are in the store. */
  onListed?: () => Promise<void>
  /** Called for each file that can't be read now and that the store keeps from the existing archive. */
  onKept?: ((file: ArchiveProblem) => void) | undefined
}

/**
 * Maximum number of attempts to list the tokens. An attempt fails if the node discards the state of the block while the
 * tokens are listed.
 */
const MAX_LISTING_ATTEMPTS = 3

/**
 * Reads a collection into the store: its tokens at one block, their metadata and their files. Resumes where an
 * interrupted call stopped.
 */
export async function readCollection(deps: Deps, options: ReadCollectionOptions): Promise<ArchivedCollection> {
  const { store, flags, target } = options
  const archived = store.readCollection() ?? (await listCollection(deps, options))
  if (resolveGateways(flags, target.server).length === 0 && hasIpfsUri(store)) throw noGatewayError()
  await options.onListed?.()
  store.forgetProblems()
  await readFiles(deps, options, archived)
  return archived
}

function hasIpfsUri(store: ArchiveStore): boolean {
  for (const { uri } of store.tokens()) if (uri !== null && isIpfsUrl(uri)) return true
  return false
}

/** Stores the list of the collection's tokens. */
async function listCollection(deps: Deps, options: ReadCollectionOptions): Promise<ArchivedCollection> {
  const { target, flags, store, wanted } = options
  const { contract, blockchain, server, settings } = target
  for (let listing = 1; ; listing++) {
    let archived: ArchivedCollection | null = null
    let isEmbedded = false
    store.clear()
    const connect = server === null || wanted !== null ? null : async () => (await deps.connect(settings)).client
    const before = resolveGateways(flags, server).length > 0 ? undefined : requireGateway(contract)
    const chain = { contract, blockchain, server, flags, wanted, stateDir: settings.stateDir, connect, before }
    await withHolders(deps, chain, async (holders) => {
      isEmbedded = holders.isEmbedded
      if (await listAt(deps, options, holders)) archived = archivedAt(options, holders)
    })
    if (archived !== null) {
      store.setCollection(archived)
      return archived
    }
    if (wanted !== null) throw noStateError(flags.block, isEmbedded)
    if (listing === MAX_LISTING_ATTEMPTS) {
      throw new GdnError('refused', 'the node does not have the state of the block whose tokens were listed', {
        hint: 'Run the command again, or use the URL of an archive node.',
      })
    }
  }
}

function noStateError(block: number | undefined, isEmbedded: boolean): GdnError {
  return isEmbedded
    ? flagError('--block', 'an embedded chain keeps only the state of its newest block', 'Omit --block.')
    : flagError('--block', `the node does not have the state of block ${block}`, 'Use the URL of an archive node.')
}

/**
 * Refuses a collection whose first tokens have `ipfs://` URLs if no gateway is known. Runs before other data of the
 * collection is read.
 */
const requireGateway =
  (contract: string) =>
  async ({ reader, block }: Pick<ReadHolders, 'reader' | 'block'>): Promise<void> => {
    const uris = await readFirstUris({ reader, contract, block })
    if (uris.some(isIpfsUrl)) throw noGatewayError()
  }

function archivedAt(
  { target, wholeDirectory }: ReadCollectionOptions,
  { standard, block, chainId }: ReadHolders,
): ArchivedCollection {
  const { contract, blockchain } = target
  const facts = { contract, blockchain, chainId, block, wholeDirectory }
  return { ...facts, standard: standard === 'erc1155' ? standard : 'erc721' }
}

/** Lists the tokens at the block. Returns false if the node no longer has the state of this block. */
async function listAt(
  deps: Deps,
  { target, store, limits }: ReadCollectionOptions,
  { standard, block, store: holders, reader }: ReadHolders,
): Promise<boolean> {
  const { contract } = target
  if (standard === 'erc20') {
    throw flagError(
      '<address>',
      `${contract} is an ERC-20 contract, which has no NFTs`,
      'Use the address of an NFT contract.',
    )
  }
  return await withProgress(deps.io, 'Reading token URIs', async ({ update }) => {
    const onProgress = (done: number, all: number) => update(`Reading token URIs: ${done} of ${all}`)
    const { maxTotalBytes: maxBytes } = limits
    if (!(await listTokens({ reader, holders, store, contract, standard, block, maxBytes, onProgress }))) return false
    await listContractUri({ reader, store, contract, block })
    if (standard === 'erc721') await listMintedUris({ reader, store, contract, block })
    return true
  })
}

async function readFiles(
  deps: Deps,
  { target, flags, store, limits, wholeDirectory, keepsFiles, onKept }: ReadCollectionOptions,
  { standard, block }: ArchivedCollection,
): Promise<void> {
  const { io, sleep, signals, steadyNow } = deps
  const { signal } = signals
  const all = store.count('tokens')
  const before = store.count('done')
  io.note(`${count(all, 'token')} at block ${block.number}.`)
  if (before > 0) io.note(`Resuming after ${count(before, 'token')}.`)
  const arweave = resolveArweaveGateway(flags)
  const reader = openSourceReader({
    urls: resolveGateways(flags, target.server),
    allowPrivate: flags.allowPrivateFiles === true,
    trustedArweave: flags.arweaveGateway === undefined ? null : new URL(arweave).origin,
    limits,
    userAgent: `gdn/${VERSION}`,
    sleep,
    store,
    signal,
  })
  const since = steadyNow()
  let done = 0
  try {
    await withProgress(io, 'Reading files', async ({ update }) => {
      const onToken = () => {
        done++
        const ms = Math.max(1, steadyNow() - since)
        const timeLeft = clock((ms / done) * (all - before - done))
        const rate = (done / (ms / 1000)).toFixed(1)
        const size = `${(store.bytes / 1e6).toFixed(1)} MB`
        update(`Reading files: ${before + done} of ${count(all, 'token')}, ${size}, ${rate}/s, about ${timeLeft} left`)
      }
      const facts = { standard, arweave, wholeDirectory, keepsFiles }
      await readTokens({ store, reader, limits, ...facts, signal, onToken, onKept })
    })
    // An unreachable gateway is an error only if no data was read. Otherwise, the archive and the report contain the
    // data, and the same command can read the rest later.
    const failure = (store.count('readable') === 0 ? reader.unreachableError() : null) ?? reader.connectionError()
    if (failure !== null) throw unreachableError(failure)
  } finally {
    await reader.close()
  }
}

const unreachableError = (failure: GdnError) =>
  new GdnError('unreachable', `no gateway responds: ${failure.message}`, {
    place: { flag: '--gateway' },
    hint: 'Check the URL, or add --gateway for another gateway. Then run the same command again.',
    cause: failure,
  })
