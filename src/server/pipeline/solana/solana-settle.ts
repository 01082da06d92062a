import type { SignatureStatus, SolanaNetwork } from '../../chain/solana/network.ts'
import { updateCollection } from '../../store/collections.ts'
import { failBatch, failNftsOfCollection } from '../../store/nfts.ts'
import type { Store } from '../../store/open-store.ts'
import type { Db } from '../../store/schema.ts'
import { deployMinted } from '../../store/solana-nfts.ts'
import { type SignedRow, updateSolanaSigned } from '../../store/solana-transactions.ts'
import type { Log } from '../log.ts'

/** What is known for good about a transaction; `expired`: it had no effect, and never will. */
export type Fate =
  | { transaction: SignedRow; fate: 'deployed'; slot: number | null }
  | { transaction: SignedRow; fate: 'failed'; slot: number; error: string }
  | { transaction: SignedRow; fate: 'expired' | 'pending' }

/** What became of transactions. */
export async function observe(network: SolanaNetwork, transactions: readonly SignedRow[]): Promise<Fate[]> {
  // In this order: see SolanaNetwork.blockHeight.
  const height = await network.blockHeight()
  const statuses = await network.statuses(transactions.map(({ signature }) => signature))
  return Promise.all(
    transactions.map((transaction, index) => fateOf(network, height, transaction, statuses[index] ?? null)),
  )
}

async function fateOf(
  network: SolanaNetwork,
  height: number,
  transaction: SignedRow,
  status: SignatureStatus | null,
): Promise<Fate> {
  if (status?.error === null) return { transaction, fate: 'deployed', slot: status.slot }
  if (status === null && height <= transaction.last_valid_height) return { transaction, fate: 'pending' }
  // Only this service can make an account at that address: if it is there, an earlier transaction has made it, or
  // this one did so long ago that its signature is forgotten.
  if ((await network.account(transaction.mint)) !== null) {
    return { transaction, fate: 'deployed', slot: status?.slot ?? null }
  }
  return status === null || status.unpaid
    ? { transaction, fate: 'expired' }
    : { transaction, fate: 'failed', slot: status.slot, error: status.error ?? '' }
}

/** Writes down what is final, and resolves with the collections that it concerns. */
export async function settle({ store, log }: { store: Store; log: Log }, fates: readonly Fate[]): Promise<Set<string>> {
  const final = fates.filter((fate) => fate.fate === 'deployed' || fate.fate === 'failed')
  const touched = new Set<string>()
  if (final.length === 0) return touched
  await store.transaction(async (db) => {
    const minted: string[] = []
    for (const fate of final) {
      const { transaction, slot } = fate
      const changes =
        fate.fate === 'deployed' ? { state: 'final' as const } : { state: 'failed' as const, error: fate.error }
      if (!(await updateSolanaSigned(db, transaction, { ...changes, slot, raw: null }))) continue
      touched.add(transaction.collection_id)
      if (fate.fate === 'failed') await fail(db, transaction, fate.error)
      else if (transaction.kind === 'mint') minted.push(transaction.id)
      else await updateCollection(db, transaction.collection_id, { status: 'deployed' })
    }
    await deployMinted(db, minted)
  })
  for (const fate of final) {
    if (fate.fate !== 'failed') continue
    const { blockchain, id, signature } = fate.transaction
    log.warn({ blockchain, transaction: id, signature, error: fate.error }, 'a transaction failed')
  }
  return touched
}

async function fail(db: Db, { id, kind, collection_id, signature }: SignedRow, error: string): Promise<void> {
  if (kind === 'mint') {
    return failBatch(db, id, `the network refused to mint it: its transaction ${signature} failed: ${error}`)
  }
  const reason = `the collection could not be deployed: its transaction ${signature} failed: ${error}`
  await updateCollection(db, collection_id, { status: 'failed', error: reason })
  await failNftsOfCollection(db, collection_id, reason)
}
