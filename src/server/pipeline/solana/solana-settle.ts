import { TOKEN_2022 } from '../../chain/solana/mint-address.ts'
import type { SignatureStatus, SolanaNetwork } from '../../chain/solana/network.ts'
import { readMint } from '../../chain/solana/read-mint.ts'
import type { Log } from '../../log.ts'
import { deployCollection, failCollection } from '../../state/collections.ts'
import { deployNfts, failBatch } from '../../state/nfts.ts'
import { endTransaction } from '../../state/transactions.ts'
import { lockCollection } from '../../store/collections.ts'
import { updateSignedNfts } from '../../store/nfts.ts'
import type { Store } from '../../store/open-store.ts'
import type { Db } from '../../store/schema.ts'
import type { TransactionRow } from '../../store/transactions.ts'
import { parseFileUri, restoreDirectory } from './restore-directory.ts'

/** What is known for good about a transaction; `expired`: it had no effect, and never will. */
export type Outcome =
  | {
      transaction: TransactionRow
      fate: 'deployed'
      slot: number | null
      /** Of the metadata file, where an earlier transaction made the token; null where it can't be told. */
      file?: ReturnType<typeof parseFileUri>
    }
  | { transaction: TransactionRow; fate: 'failed'; slot: number; error: string }
  | { transaction: TransactionRow; fate: 'expired' | 'pending' }

/** What became of transactions. */
export async function observe(network: SolanaNetwork, transactions: readonly TransactionRow[]): Promise<Outcome[]> {
  // In this order: see SolanaNetwork.blockHeight.
  const height = await network.blockHeight()
  const statuses = await network.statuses(transactions.map(({ hash }) => hash))
  return Promise.all(
    transactions.map((transaction, index) => outcomeOf(network, height, transaction, statuses[index] ?? null)),
  )
}

async function outcomeOf(
  network: SolanaNetwork,
  height: number,
  transaction: TransactionRow,
  status: SignatureStatus | null,
): Promise<Outcome> {
  if (status?.error === null) return { transaction, fate: 'deployed', slot: status.slot }
  if (status === null && height <= (transaction.last_valid_height ?? 0)) return { transaction, fate: 'pending' }
  // Only this service can make a mint at that address: if it is there, an earlier transaction has made it, or this one
  // did so long ago that its signature is forgotten. The earlier one may name another file: a restored database does
  // not know which NFTs shared a directory.
  const account = await network.account(transaction.mint ?? '')
  if (account?.owner === TOKEN_2022) {
    const file = parseFileUri(readMint(account.data).uri)
    return { transaction, fate: 'deployed', slot: status?.slot ?? null, file }
  }
  return status === null || status.unpaid
    ? { transaction, fate: 'expired' }
    : { transaction, fate: 'failed', slot: status.slot, error: status.error ?? '' }
}

/** Writes down what is final, and resolves with the collections that it concerns. */
export async function settle(
  { store, log }: { store: Store; log: Log },
  fates: readonly Outcome[],
): Promise<Set<string>> {
  const final = fates.filter((fate) => fate.fate === 'deployed' || fate.fate === 'failed')
  const touched = new Set<string>()
  if (final.length === 0) return touched
  await store.transaction(async (db) => {
    const moved = new Map<string, { collectionId: string; directory: string }>()
    for (const collectionId of [...new Set(final.filter(isMoved).flatMap(collectionOf))].sort()) {
      await lockCollection(db, collectionId)
    }
    const minted: string[] = []
    for (const fate of final) {
      const { transaction, slot } = fate
      const { id, kind, collection_id: collectionId } = transaction
      if (collectionId === null) continue
      const file = fate.fate === 'deployed' && kind === 'mint' ? fate.file : undefined
      const directory = file?.directory ?? transaction.directory
      const end =
        fate.fate === 'deployed'
          ? { state: 'final' as const, directory, block_number: slot, raw: '' }
          : { state: 'reverted' as const, error: fate.error, block_number: slot, raw: '' }
      if (!(await endTransaction(db, transaction, end))) continue
      touched.add(collectionId)
      if (fate.fate === 'failed') await fail(db, transaction, fate.error)
      else if (kind === 'mint') minted.push(id)
      else await deployCollection(db, collectionId)
      if (file && directory !== null && directory !== transaction.directory) {
        await updateSignedNfts(db, id, { batch_index: file.index })
        moved.set(directory, { collectionId, directory })
      }
    }
    await deployNfts(db, minted)
    for (const place of moved.values()) await restoreDirectory(db, { store, log }, place)
  })
  for (const fate of final) {
    if (fate.fate !== 'failed') continue
    const { blockchain, id, hash: signature } = fate.transaction
    log.warn({ blockchain, transaction: id, signature, error: fate.error }, 'a transaction failed')
  }
  return touched
}

/** Whether a token names another metadata file than its transaction. */
const isMoved = (outcome: Outcome): boolean =>
  outcome.fate === 'deployed' && outcome.file != null && outcome.file.directory !== outcome.transaction.directory

const collectionOf = ({ transaction }: Outcome): string | [] => transaction.collection_id ?? []

async function fail(
  db: Db,
  { id, kind, collection_id, hash: signature }: TransactionRow,
  error: string,
): Promise<void> {
  if (kind === 'mint') {
    return failBatch(db, id, `the network refused to mint it: its transaction ${signature} failed: ${error}`)
  }
  const reason = `the collection could not be deployed: its transaction ${signature} failed: ${error}`
  if (collection_id !== null) await failCollection(db, collection_id, reason)
}
