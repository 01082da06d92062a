import { ZERO_ADDRESS } from '../../api/address.ts'
import type { NftMetadata } from '../../api/metadata.ts'
import { isContentUrl } from '../../core/ipfs-url.ts'
import { findNfts, resolveOwner } from '../store/nfts.ts'
import { type FinalTransfers, finalTransfers, pendingTransfers, resolveReceiverName } from '../store/transfers.ts'
import { pendingUpdates } from '../store/updates.ts'
import { toSignedTransactions } from './get-transactions.ts'
import {
  findHeldReasons,
  findLimitReasons,
  findSigningProblem,
  findStallReason,
  findStuckReasons,
} from './pending-reason.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

type Deps = Pick<ServiceDeps, 'store' | 'chains' | 'now'>
type Chains = Pick<ServiceDeps['chains'], 'remote' | 'solana'>

type FoundNft = Awaited<ReturnType<typeof findNfts>>[number]

/** The reasons why NFTs are pending, except reasons that concern their files or the signers. */
interface PendingReasons {
  /** The reason why no block includes the NFTs' transactions, by blockchain. */
  stalls: ReadonlyMap<string, string | null>
  /** The reason why mints can't be signed yet, by collection. */
  held: ReadonlyMap<string, string>
  /**
   * The reason why the limit of an NFT's run delays the NFT: `stuck` by transaction, and `limits` by request for NFTs
   * without a transaction.
   */
  stuck: ReadonlyMap<string, string>
  limits: ReadonlyMap<string, string>
}

type PendingOperation = { kind: string; reference_id?: string | null } | undefined

function toRecord(row: FoundNft, pending: PendingOperation, chains: Chains, waits: PendingReasons) {
  const metadata = JSON.parse(row.metadata) as NftMetadata
  return {
    nft_gdn_id: row.id,
    token_id: row.token_id,
    contract_address: row.contract_address,
    receiver_wallet_address: resolveOwner(row),
    status: row.status,
    request_metadata: metadata,
    metadata_url: row.metadata_url,
    minted_to: row.receiver,
    revision: row.revision,
    ...(row.revision_reference_id === null ? {} : { revision_reference_id: row.revision_reference_id }),
    pending_change: pending,
    is_dynamic: row.dynamic === 1 || row.collection_dynamic === 1,
    is_frozen: row.frozen === 1 || row.collection_frozen === 1,
    burned: row.owner === ZERO_ADDRESS,
    ...statusReasonFields(row, metadata, chains, waits),
    ...unstoredFileFields(row),
  }
}

/**
 * Returns why an NFT failed, or what delays its mint. Possible causes of a delay are its files, missing funds of the
 * signers, the nodes or blocks of its blockchain, the limit of its run, and an earlier transaction of its collection.
 */
function statusReasonFields(
  { status, step, error, blockchain, collection_id, transaction_id, request_id }: FoundNft,
  { file_fields }: NftMetadata,
  chains: Chains,
  { stalls, held, stuck, limits }: PendingReasons,
) {
  if (status === 'failed') return error === null ? {} : { error }
  if (status === 'initiated' && (step === 'mint' || step === 'chain')) {
    const problem = findSigningProblem(chains, blockchain, step === 'chain')
    const limit = transaction_id === null ? limits.get(request_id) : stuck.get(transaction_id)
    const reason = limit ?? problem ?? stalls.get(blockchain) ?? held.get(collection_id) ?? null
    return reason === null ? {} : { pending_reason: reason }
  }
  if (step !== 'files' || file_fields.length === 0) return {}
  return { pending_reason: error ?? 'its files are being fetched' }
}

async function findPendingReasons(deps: Deps, rows: readonly FoundNft[]): Promise<PendingReasons> {
  const { store, chains } = deps
  const waiting = rows.filter(({ status, step }) => status === 'initiated' && (step === 'mint' || step === 'chain'))
  const stalls = new Map<string, string | null>()
  for (const blockchain of new Set(waiting.map((row) => row.blockchain))) {
    stalls.set(blockchain, await findStallReason(chains, blockchain))
  }
  const collections = waiting.map((row) => ({ id: row.collection_id, blockchain: row.blockchain }))
  return {
    stalls,
    held: await findHeldReasons(store.db, chains, collections),
    stuck: await findStuckReasons(deps, waiting.flatMap(toSignedTransactions)),
    limits: await findLimitReasons(deps, waiting),
  }
}

function transferFields(row: FoundNft, last: FinalTransfers | undefined) {
  const receiver_name = resolveReceiverName(row, last)
  return { ...(receiver_name === null ? {} : { receiver_name }), transfers: last?.count ?? 0 }
}

/**
 * Returns the keys of files that aren't in the backend's storage. Such a file has its original URL instead of an IPFS
 * path.
 */
function unstoredFileFields({ files }: FoundNft) {
  const places = Object.entries(JSON.parse(files ?? '{}') as Record<string, string>)
  const keys = places.flatMap(([key, place]) => (isContentUrl(place) ? [key] : []))
  return keys.length === 0 ? {} : { files_not_stored: keys }
}

/** Returns the account's NFTs in the order of the IDs. Omits unknown IDs. */
export async function getNfts(deps: Deps, { accountId, parsed }: RequestOf<'getnfts'>) {
  const { store, chains } = deps
  const ids = [...new Set(parsed.nft_gdn_ids)]
  const rows = await findNfts(store.db, accountId, ids)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const waits = await findPendingReasons(deps, rows)
  const pending = new Map<string, PendingOperation>([
    ...(await pendingTransfers(store.db, ids)),
    ...(await pendingUpdates(store.db, ids)),
  ])
  const transfers = await finalTransfers(store.db, ids)
  return {
    requests: { nft_gdn_ids: parsed.nft_gdn_ids },
    nfts: ids.flatMap((id) => {
      const row = byId.get(id)
      return row === undefined
        ? []
        : [{ ...toRecord(row, pending.get(id), chains, waits), ...transferFields(row, transfers.get(id)) }]
    }),
  }
}
