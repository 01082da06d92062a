import { sql } from 'kysely'
import { ZERO_ADDRESS } from '../../api/address.ts'
import type { Blockchain } from '../../api/blockchains.ts'
import type { NftRow } from './nfts.ts'
import type { Db, NftStatus } from './schema.ts'
import { knownHash } from './transactions.ts'

export interface HistoryRow {
  kind: 'mint' | 'transfer' | 'update' | 'freeze' | 'burn'
  /** ID of the request. Null for the mint, and for events that gdn only read from the chain. */
  id: string | null
  status: NftStatus
  error: string | null
  accepted_at: number | null
  block_number: number | null
  transaction_hash: string | null
  sender: string | null
  receiver: string | null
  revision: number | null
  /**
   * Position of an update or freeze in its table; null for other events, and for updates that the database doesn't
   * have.
   */
  update_seq: number | null
}

type HistoryNft = Pick<NftRow, 'id' | 'collection_id' | 'token_id'>

/**
 * Returns the events of an NFT in block order. Requested events come from the request tables, and changes of the owner
 * from the chain. A requested transfer that is also on chain is one event. Pending events come last. An event that
 * failed without a block comes after the events that were accepted before it. A burn by a holder on Solana has no
 * transaction, because gdn detects it only by the supply of the token.
 */
export async function listHistory(
  db: Db,
  { id, collection_id, token_id }: HistoryNft,
  { offset, limit, newestFirst = false }: { offset: number; limit: number; newestFirst?: boolean },
): Promise<HistoryRow[]> {
  const nulls = { text: sql`cast(null as text)`, number: sql`cast(null as bigint)` }
  const requestedEvents = (
    kind: string,
    table: string,
    values: ReturnType<typeof sql>,
    where: ReturnType<typeof sql>,
  ) => sql`
    select ${sql.raw(kind)} as kind, ${values}, ${sql.ref(table)}.status, ${sql.ref(table)}.error,
      ${sql.ref(table)}.transaction_id,
      (select accepted_at from requests where requests.id = ${sql.ref(table)}.request_id) as accepted_at
    from ${sql.table(table)} where ${where}`
  // Use a subquery. With statistics of only a few rows, PostgreSQL would read all transactions for a join.
  const ofTransaction = (column: string) => sql`(select ${sql.ref(column)} from transactions
    where transactions.id = requested.transaction_id) as ${sql.ref(column)}`
  const minted = sql`${nulls.text} as id, ${nulls.text} as sender, coalesce(nfts.sender, nfts.receiver) as receiver,
    ${nulls.number} as revision, ${nulls.number} as update_seq, 0 as position`
  // The NFT was minted to its first owner and transferred in the same transaction.
  const granted = sql`${nulls.text} as id, nfts.sender, nfts.receiver, ${nulls.number} as revision, ${nulls.number} as update_seq,
    1 as position`
  const moved = sql`transfers.id, transfers.sender, transfers.receiver, ${nulls.number} as revision,
    ${nulls.number} as update_seq, transfers.seq + 1 as position`
  const updated = sql`updates.id, ${nulls.text} as sender, ${nulls.text} as receiver, updates.revision,
    updates.seq as update_seq, updates.seq + 1 as position`
  const direction = sql.raw(newestFirst ? 'desc' : 'asc')
  const { rows } = await sql<HistoryRow>`
    with requested as (
      ${requestedEvents(`'mint'`, 'nfts', minted, sql`nfts.id = ${id}`)}
      union all ${requestedEvents(`'transfer'`, 'nfts', granted, sql`nfts.id = ${id} and nfts.sender is not null`)}
      union all ${requestedEvents(
        'transfers.kind',
        'transfers',
        moved,
        sql`transfers.nft_id = ${id} and transfers.transaction_id is not null
        and transfers.status <> 'initiated'`,
      )}
      union all ${requestedEvents('transfers.kind', 'transfers', moved, sql`transfers.nft_id = ${id} and transfers.status = 'initiated'`)}
      union all ${requestedEvents('updates.kind', 'updates', updated, sql`updates.nft_id = ${id}`)}
    ), signed as (
      select requested.*, ${ofTransaction('hash')}, ${ofTransaction('block_number')} from requested
    ), own as (
      select signed.*, case when kind = 'mint' then -1 else 1000000000 end as log_index,
        max(block_number) over (order by accepted_at, position) as latest_block
      from signed
    ), moves as (
      select block_number, log_index, transaction_hash as hash, previous, next from owner_events
      where collection_id = ${collection_id} and token_id = ${token_id} and kind = 'transfer'
    ), events as (
      select case when moves.next = ${ZERO_ADDRESS} then 'burn' else 'transfer' end as kind, own.id,
        coalesce(own.status, 'deployed') as status, own.error, own.accepted_at, moves.block_number,
        moves.hash as transaction_hash, moves.previous as sender, moves.next as receiver, ${nulls.number} as revision,
        ${nulls.number} as update_seq, moves.block_number as place, moves.log_index, 0 as position
      from moves left join own on own.hash = moves.hash and own.sender = moves.previous and own.receiver = moves.next
      union all
      select kind, id, status, error, accepted_at, block_number, hash, sender, receiver, revision, update_seq,
        case when status = 'initiated' then block_number else coalesce(block_number, latest_block, 0) end, log_index,
        position
      from own where not exists (select 1 from moves
        where moves.hash = own.hash and moves.previous = own.sender and moves.next = own.receiver)
      union all
      select 'update', ${nulls.text}, 'deployed', ${nulls.text}, ${nulls.number}, block_number, transaction_hash, ${nulls.text},
        ${nulls.text}, sequence, ${nulls.number}, block_number, 1000000000, 0
      from unknown_updates where collection_id = ${collection_id} and token_id = ${token_id}
      union all
      select 'burn', ${nulls.text}, 'deployed', ${nulls.text}, ${nulls.number}, ${nulls.number}, ${nulls.text}, ${nulls.text},
        ${nulls.text}, ${nulls.number}, ${nulls.number}, 9000000000000000, 0, 0
      from nfts where id = ${id} and owner = ${ZERO_ADDRESS}
        and not exists (select 1 from moves where next = ${ZERO_ADDRESS})
        and not exists (select 1 from own where kind = 'burn' and status = 'deployed')
    )
    select kind, id, status, error, accepted_at, block_number, transaction_hash, sender, receiver, revision, update_seq
    from events
    order by case when place is null then 1 else 0 end ${direction}, place ${direction}, log_index ${direction},
      accepted_at ${direction}, position ${direction}
    limit ${limit} offset ${offset}`.execute(db)
  return rows.map((row) => ({
    ...row,
    transaction_hash: knownHash(row.transaction_hash),
    accepted_at: toNumberOrNull(row.accepted_at),
    block_number: toNumberOrNull(row.block_number),
    revision: toNumberOrNull(row.revision),
    update_seq: toNumberOrNull(row.update_seq),
  }))
}

/** Returns a value as a number, because PostgreSQL returns some numbers as text. */
const toNumberOrNull = (value: number | string | null): number | null => (value === null ? null : Number(value))

/**
 * Returns the metadata of an NFT before and after an update. `before` is from the last final update before the given
 * update, or from the mint.
 */
export async function metadataAround(db: Db, nftId: string, seq: number): Promise<{ before: string; after: string }> {
  const { rows } = await sql<{ before: string; after: string }>`
    select updates.metadata as after, coalesce(
      (select earlier.metadata from updates as earlier where earlier.nft_id = ${nftId} and earlier.seq < ${seq}
        and earlier.kind = 'update' and earlier.status = 'deployed' order by earlier.seq desc limit 1),
      (select nfts.metadata from nfts where nfts.id = ${nftId})) as before
    from updates where updates.nft_id = ${nftId} and updates.seq = ${seq}`.execute(db)
  const [row] = rows
  if (row === undefined) throw new Error(`no update ${seq} of ${nftId}`)
  return row
}

/** Returns blocks of an embedded chain, with their Unix times in seconds. */
export async function embeddedBlocks(db: Db, blockchain: Blockchain, numbers: readonly number[]) {
  if (numbers.length === 0) return []
  const rows = await db
    .selectFrom('chain_blocks')
    .select(['number', 'timestamp'])
    .where('blockchain', '=', blockchain)
    .where('number', 'in', numbers)
    .execute()
  return rows.map(({ number, timestamp }) => ({ number: Number(number), timestamp: Number(timestamp) }))
}
