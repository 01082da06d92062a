import { sql } from 'kysely'
import type { Store } from '../../src/server/store/open-store.ts'
import { isOnPostgres } from './test-database.ts'

export interface Fill {
  /** The number before the first row, a multiple of 100. Later fills start after earlier ones. */
  after: number
  /** Number of deployed NFTs in one collection. */
  deployed: number
  /** Number of additional NFTs at each step. */
  waiting: number
  /** Number of finished rows in each other table that grows with NFTs. */
  finished: number
}

const numbers = (from: number, to: number) =>
  sql`with recursive numbers (i) as (
    select ${sql.lit(from)} union all select i + 1 from numbers where i < ${sql.lit(to)}
  )`

/** Adds NFTs of every state to the polygon collection, and finished rows to each table that grows with them. */
export async function fillTables({ db }: Store, { after, deployed, waiting, finished }: Fill): Promise<void> {
  const text = isOnPostgres() ? sql`::text` : sql``
  const model = await db
    .selectFrom('nfts')
    .innerJoin('collections', 'collections.id', 'nfts.collection_id')
    .select(['nfts.collection_id', 'nfts.request_id'])
    .where('collections.blockchain', '=', 'polygon')
    .executeTakeFirstOrThrow()
  const collection = sql`${model.collection_id}${text}`
  const request = sql`${model.request_id}${text}`
  for (const [step, count] of [
    ...(['files', 'mint', 'chain'] as const).map((step) => [step, waiting] as const),
    ['done', deployed] as const,
  ]) {
    const isDone = step === 'done'
    const prefix = sql`${step}${text}`
    await sql`insert into requests (id, account_id, endpoint, body_hash, response, accepted_at, run)
      ${numbers(after / 100, (after + count) / 100)}
      select ${prefix} || '-r' || i, account_id, endpoint, body_hash, response, accepted_at, run
      from numbers, requests where requests.id = ${request} on conflict do nothing`.execute(db)
    await sql`insert into nfts (id, request_id, collection_id, receiver, owner, metadata, status, step, next_attempt_at,
        transaction_id, batch_index, token_id, files)
      ${numbers(after + 1, after + count)}
      select ${prefix} || i, ${prefix} || '-r' || (i / 100), ${collection}, 'w',
        ${isDone ? sql`'w' || (i % 1000)` : sql`null`}, '{}', ${sql.lit(isDone ? 'deployed' : 'initiated')}, ${prefix}, 1,
        ${isDone || step === 'chain' ? sql`${prefix} || '-t' || (i / 100)` : sql`null`}, i % 100,
        ${isDone ? sql`cast(1000 + i as text)` : sql`null`}, '{}' from numbers`.execute(db)
  }
  const each = numbers(after + 1, after + finished)
  for (const insert of [
    sql`requests (id, account_id, endpoint, idempotency_key, body_hash, response, accepted_at) ${each}
      select 'r' || i, account_id, endpoint, 'key' || i, '', '', i from numbers, requests where requests.id = ${request}`,
    sql`transactions (id, blockchain, signer, nonce, kind, collection_id, start_id, token_count, directory, raw, hash,
        state, block_number, gas_used, created_at, next_attempt_at) ${each}
      select 'done-t' || i, 'polygon', 's', i, 'mint', ${collection}, '1', 1, 'd' || i, '', 'h' || i, 'final', i, '21000',
        i, 0 from numbers`,
    sql`transaction_attempts (transaction_id, number, raw, hash, max_fee_per_gas, max_priority_fee_per_gas, created_at)
      ${each} select 'done-t' || i, 0, '', 'h' || i, '1', '1', i from numbers`,
    sql`transactions (id, blockchain, signer, kind, collection_id, mint, token_count, directory, raw, hash,
        last_valid_height, state, created_at, next_attempt_at) ${each}
      select 's' || i, 'solana', 's', 'mint', ${collection}, 'm' || i, 1, 'd' || i, '', 's' || i, 1, 'final', i, 0
        from numbers`,
    sql`transfers (id, request_id, collection_id, nft_id, blockchain, sender, receiver, status, transaction_id) ${each}
      select 'x' || i, ${request}, ${collection}, 'done' || i, 'polygon', 's', 'r',
        case when i % 10 = 0 then 'failed' else 'deployed' end, case when i % 10 = 0 then null else 'x-t' || i end
      from numbers`,
    sql`updates (id, request_id, collection_id, nft_id, blockchain, kind, metadata, status, step, transaction_id, revision,
        next_attempt_at) ${each}
      select 'u' || i, ${request}, ${collection}, 'done' || i, 'polygon', 'update', '{}', 'deployed', 'done',
        'u-t' || (i / 100), 1 + (i / 100), 0 from numbers`,
    sql`operation_references (scope_id, operation, reference_id, digest, target_id) ${each}
      select ${collection}, 'createnft', 'row' || i, 'v1:', 'done' || i from numbers`,
    sql`owner_events (blockchain, block_number, log_index, transaction_hash, collection_id, kind, token_id, previous, next)
      ${each} select 'polygon', -i, 0, 'h' || i, ${collection}, 'transfer', cast(1000 + i as text), 's', 'r' from numbers`,
    sql`chain_blocks (blockchain, number, timestamp, transactions) ${each}
      select 'polygon', 1000000 + i, i, '' from numbers`,
    sql`blocks (cid, bytes) ${each} select 'c' || i, ${Buffer.alloc(1)}${isOnPostgres() ? sql`::bytea` : sql``} from numbers`,
    sql`stored_files (place, cid, size) ${each} select 'ipfs', 'c' || i, 1 from numbers`,
    sql`publications (target, cid, state, next_attempt_at) ${each} select 'node', 'c' || i, 'done', i from numbers`,
    sql`webhook_events (id, type, body, created_at) ${each} select 'e' || i, 'nft.deployed', '{}', i from numbers`,
    sql`webhook_deliveries (webhook_id, event_id, state) ${each} select 'listener', 'e' || i, 'delivered' from numbers`,
    sql`nft_terms (term, seq) ${each} select term, 1000000 + i from numbers, (select min(term) as term from nft_terms) as t`,
  ]) {
    await sql`insert into ${insert}`.execute(db)
  }
}
