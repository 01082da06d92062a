import type * as z from 'zod'
import { ZERO_ADDRESS } from '../../api/address.ts'
import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import type { getnfts } from '../../api/endpoints/getnfts.ts'
import type { NftMetadata } from '../../api/metadata.ts'
import { isContentUrl } from '../../core/ipfs-url.ts'
import { findNfts, ownerOf } from '../store/nfts.ts'
import { countTransfers, pendingTransfers } from '../store/transfers.ts'
import { pendingUpdates } from '../store/updates.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

type Chains = Pick<ServiceDeps['chains'], 'remote' | 'solana'>

type Found = Awaited<ReturnType<typeof findNfts>>[number]

type Pending = { kind: string; reference_id?: string | null } | undefined

function toRecord(row: Found, pending: Pending, chains: Chains) {
  const metadata = JSON.parse(row.metadata) as NftMetadata
  return {
    nft_gdn_id: row.id,
    token_id: row.token_id,
    contract_address: row.contract_address,
    receiver_wallet_address: ownerOf(row),
    status: row.status,
    request_metadata: metadata,
    metadata_url: row.metadata_url,
    minted_to: row.receiver,
    revision: row.revision,
    ...(row.revision_reference_id === null ? {} : { revision_reference_id: row.revision_reference_id }),
    ...(pending === undefined ? {} : { pending_change: pending }),
    is_dynamic: row.dynamic === 1 || row.collection_dynamic === 1,
    is_frozen: row.frozen === 1 || row.collection_frozen === 1,
    burned: row.owner === ZERO_ADDRESS,
    ...reasonOf(row, metadata, chains),
    ...notStoredOf(row),
  }
}

/** Returns why an NFT failed, or what delays its mint: its files, or what the signers of its blockchain lack. */
function reasonOf({ status, step, error, blockchain }: Found, { file_fields }: NftMetadata, chains: Chains) {
  if (status === 'failed') return error === null ? {} : { error }
  if (step === 'mint') {
    const problem = problemOf(chains, blockchain as Blockchain)
    return problem === null ? {} : { pending_reason: problem }
  }
  if (step !== 'files' || file_fields.length === 0) return {}
  return { pending_reason: error ?? 'its files are being fetched' }
}

/** Returns what the signers of a blockchain lack; null if one can sign. */
export const problemOf = ({ remote, solana }: Chains, blockchain: Blockchain): string | null =>
  isEvm(blockchain) ? remote.problem(blockchain) : solana.clusters.problem(blockchain)

/** Files that aren't stored here: their place is their URL. */
function notStoredOf({ files }: Found) {
  const places = Object.entries(JSON.parse(files ?? '{}') as Record<string, string>)
  const keys = places.flatMap(([key, place]) => (isContentUrl(place) ? [key] : []))
  return keys.length === 0 ? {} : { files_not_stored: keys }
}

/** Returns the account's NFTs in the order of the IDs; unknown IDs are left out. */
export async function getNfts(
  { store, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  { accountId, parsed }: ServiceRequest<z.output<typeof getnfts.request>>,
) {
  const ids = [...new Set(parsed.nft_gdn_ids)]
  const byId = new Map((await findNfts(store.db, accountId, ids)).map((row) => [row.id, row]))
  const pending = new Map<string, Pending>([
    ...(await pendingTransfers(store.db, ids)),
    ...(await pendingUpdates(store.db, ids)),
  ])
  const transfers = await countTransfers(store.db, ids)
  return {
    requests: { nft_gdn_ids: parsed.nft_gdn_ids },
    nfts: ids.flatMap((id) => {
      const row = byId.get(id)
      return row === undefined ? [] : [{ ...toRecord(row, pending.get(id), chains), transfers: transfers.get(id) ?? 0 }]
    }),
  }
}
