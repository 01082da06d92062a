import { findTransactions, ownerChanges, type SeenTransaction, transfersOf } from '../store/explorer-transactions.ts'
import type { Explorer } from './explorer.ts'
import { timeOf } from './metadata.ts'
import type { OwnerChange, Transaction } from './types.ts'

/** Number of owner changes shown for an NFT, newest first. */
const MOST_CHANGES = 200

export const showTransaction = ({ linkOf }: Explorer, row: SeenTransaction): Transaction => ({
  transaction_hash: row.hash,
  kind: row.kind,
  state: row.state,
  block_number: row.block_number,
  gas_used: row.gas_used,
  created_at: timeOf(row.created_at),
  token_count: row.token_count,
  explorer_url: linkOf(row.blockchain, row.hash),
})

interface Minted {
  id: string
  collection_id: string
  token_id: string | null
  transaction_id: string | null
  sender: string | null
  receiver: string
  owner: string | null
}

/** Returns the transactions of an NFT that this backend signed, oldest first. */
export async function transactionsOf({ db }: Explorer, nft: Minted): Promise<SeenTransaction[]> {
  const ids = [...(nft.transaction_id === null ? [] : [nft.transaction_id]), ...(await transfersOf(db, nft.id))]
  return await findTransactions(db, { by: 'id', ids: [...new Set(ids)] })
}

/** Returns the owners of an NFT, newest first: from chain events, then from the mint request. */
export async function ownersOf(
  { db, linkOf }: Explorer,
  nft: Minted,
  blockchain: string,
  mint: SeenTransaction | undefined,
): Promise<OwnerChange[]> {
  if (nft.token_id === null || nft.owner === null) return []
  const change = (from: string | null, to: string, hash: string | null, block: number | null): OwnerChange => ({
    from,
    to,
    transaction_hash: hash,
    block_number: block,
    explorer_url: hash === null ? null : linkOf(blockchain, hash),
  })
  const stored = await ownerChanges(db, nft.collection_id, nft.token_id, MOST_CHANGES)
  const changes = stored.map((row) => change(row.previous, row.next, row.transaction_hash, row.block_number))
  if (stored.length === MOST_CHANGES) return changes
  const [hash, block] = [mint?.hash ?? null, mint?.block_number ?? null]
  const first = stored.at(-1)?.previous ?? nft.sender ?? nft.receiver
  // It was granted in its mint transaction, and the chain's events aren't read yet.
  if (stored.length === 0 && nft.sender !== null) changes.push(change(nft.sender, nft.receiver, hash, block))
  return [...changes, change(null, first, hash, block)]
}
