import type { Blockchain } from '../../api/blockchains.ts'
import { isoTime } from '../../core/time.ts'
import { readShownChanges as changesShown, readBlockTimes } from '../services/nft-history.ts'
import { type ExplorerTransaction, findTransactions, listChangeTransactionIds } from '../store/explorer-transactions.ts'
import { listHistory } from '../store/nft-history.ts'
import { type ExplorerDeps, shortenForList } from './explorer.ts'
import type { ExplorerEvent, Transaction } from './types.ts'

/** Maximum number of events that are shown for an NFT. Older events are omitted. */
const MAX_EVENTS = 100

export const toExplorerTransaction = ({ linkOf }: ExplorerDeps, row: ExplorerTransaction): Transaction => ({
  transaction_hash: row.hash,
  kind: row.kind,
  state: row.state,
  block_number: row.block_number,
  gas_used: row.gas_used,
  created_at: isoTime(row.created_at),
  token_count: row.token_count,
  explorer_url: linkOf(row.blockchain, row.hash),
})

interface MintedNft {
  id: string
  collection_id: string
  token_id: string | null
  transaction_id: string | null
}

/** Returns the transactions of an NFT that this backend signed, oldest first. */
export async function listNftTransactions({ db }: ExplorerDeps, nft: MintedNft): Promise<ExplorerTransaction[]> {
  const ids = [
    ...(nft.transaction_id === null ? [] : [nft.transaction_id]),
    ...(await listChangeTransactionIds(db, nft.id)),
  ]
  return await findTransactions(db, { by: 'id', ids: [...new Set(ids)] })
}

/** Returns the events of an NFT, newest first. */
export async function readHistory(
  explorer: ExplorerDeps,
  nft: MintedNft,
  blockchain: Blockchain,
): Promise<{ history: ExplorerEvent[]; history_left_out: boolean }> {
  const { db, chains, slow, linkOf } = explorer
  const events = await listHistory(db, nft, { offset: 0, limit: MAX_EVENTS + 1, newestFirst: true })
  const rows = events.slice(0, MAX_EVENTS)
  const blocks = JSON.stringify(rows.map(({ block_number: block }) => block))
  const read = async () => Object.fromEntries(await readBlockTimes({ db, chains }, blockchain, rows))
  const times = await slow.getSoon(`times of ${nft.id}`, blocks, read)
  const history: ExplorerEvent[] = []
  // Process rows one after the other, because the metadata of each may be a megabyte long.
  for (const row of rows) {
    const { kind, status, block_number, transaction_hash, sender, receiver, revision, accepted_at } = row
    const time = times?.[block_number ?? -1] ?? accepted_at
    history.push({
      kind,
      status,
      block_number,
      transaction_hash,
      from: sender,
      to: receiver,
      revision,
      ...(await changesShown(db, nft.id, row)),
      error: row.error === null ? null : shortenForList(row.error),
      time: isoTime(time),
      explorer_url: transaction_hash === null ? null : linkOf(blockchain, transaction_hash),
    })
  }
  return { history, history_left_out: events.length > MAX_EVENTS }
}
