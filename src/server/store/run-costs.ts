import { type Selectable, sql } from 'kysely'
import { chunksOf } from '../../core/chunks-of.ts'
import { lockCollection } from './collections.ts'
import { isPostgres } from './dialect.ts'
import { listBuckets } from './explorer-counts.ts'
import { listTransactionsOfBucket } from './explorer-transactions.ts'
import type { Db, RunsTable, TransferKind, UpdateKind } from './schema.ts'

/** A run with a cost limit or a fee limit. */
export type LimitedRun = Pick<
  Selectable<RunsTable>,
  'account_id' | 'run' | 'collection_id' | 'max_cost' | 'max_fee'
> & {
  /** Maximum gas that one of the run's NFTs reserves, and maximum bytes of its call data. 0 without a cost limit. */
  nft_gas: number
  nft_bytes: number
}

/** The fields that identify a run. A collection belongs to one account. */
export type RunKey = Pick<LimitedRun, 'run' | 'collection_id'>

/** A run with a limit on its cost. */
export type CostLimitedRun = LimitedRun & { max_cost: string }

const IDS_PER_BATCH = 500
const RUN_COLUMNS = ['account_id', 'run', 'collection_id', 'max_cost', 'max_fee', 'nft_gas', 'nft_bytes'] as const

type RunRow = Pick<Selectable<RunsTable>, (typeof RUN_COLUMNS)[number]>

const toLimited = (row: RunRow): LimitedRun => ({
  ...row,
  nft_gas: Number(row.nft_gas),
  nft_bytes: Number(row.nft_bytes),
})

/** Matches runs with a limit. Queries can use the index `runs_limited` only because it has the same condition. */
const IS_LIMITED = sql<boolean>`(max_cost is not null or max_fee is not null)`

/** Returns a run; null if it has no limit or isn't known. */
export async function findLimitedRunByName(
  db: Db,
  { accountId, run }: { accountId: string; run: string },
): Promise<LimitedRun | null> {
  const query = db.selectFrom('runs').select(RUN_COLUMNS).where('account_id', '=', accountId).where('run', '=', run)
  const row = await query.where(IS_LIMITED).executeTakeFirst()
  return row === undefined ? null : toLimited(row)
}

/** Returns the key of a run; null if it has a cost limit or isn't known. */
export async function findRunWithoutCostLimit(
  db: Db,
  { accountId, run }: { accountId: string; run: string },
): Promise<RunKey | null> {
  const query = db.selectFrom('runs').select(['run', 'collection_id']).where('account_id', '=', accountId)
  return (await query.where('run', '=', run).where('max_cost', 'is', null).executeTakeFirst()) ?? null
}

/**
 * Waits for processes that are signing for a run, and blocks further signing for the run until the transaction ends.
 * Signing for mints and updates locks the collection, and signing for a transfer locks the transfer.
 */
export async function lockSigningForRun(db: Db, { run, collection_id }: RunKey): Promise<void> {
  if (!isPostgres(db)) return
  await lockCollection(db, collection_id)
  await db
    .selectFrom('transfers')
    .select('id')
    .where('collection_id', '=', collection_id)
    .where('status', '=', sql.lit('initiated'))
    .where('transaction_id', 'is', null)
    .where('request_id', 'in', ({ selectFrom }) => selectFrom('requests').select('id').where('run', '=', run))
    .orderBy('id')
    .forNoKeyUpdate()
    .execute()
}

/** Returns the runs of a collection that have a limit. */
export async function limitedRuns(db: Db, collectionId: string): Promise<LimitedRun[]> {
  const query = db.selectFrom('runs').select(RUN_COLUMNS).where('collection_id', '=', collectionId).where(IS_LIMITED)
  return (await query.execute()).map(toLimited)
}

/** Returns whether any run has a limit. */
export async function hasLimitedRuns(db: Db): Promise<boolean> {
  const row = await db.selectFrom('runs').select('run').where(IS_LIMITED).limit(1).executeTakeFirst()
  return row !== undefined
}

/**
 * Locks a run until the transaction ends, and returns the run. Across all processes, only one at a time can accept
 * requests or sign for a run with a limit.
 */
export async function lockRun(db: Db, { accountId, run }: { accountId: string; run: string }) {
  return await db
    .selectFrom('runs')
    .select(RUN_COLUMNS)
    .where('account_id', '=', accountId)
    .where('run', '=', run)
    .$if(isPostgres(db), (query) => query.forUpdate())
    .executeTakeFirstOrThrow()
}

/** Locks a run until the transaction ends, and returns the run. Finds the run's account by the collection. */
export async function lockRunOfCollection(db: Db, { collection_id, run }: RunKey): Promise<LimitedRun> {
  const query = db.selectFrom('collections').select('account_id as accountId').where('id', '=', collection_id)
  return toLimited(await lockRun(db, { ...(await query.executeTakeFirstOrThrow()), run }))
}

/** Sets the cost limit of a run and the amounts that one of its NFTs reserves, or sets the fee limit of a run. */
export async function setLimit(
  db: Db,
  { account_id, run }: Pick<LimitedRun, 'account_id' | 'run'>,
  limit: Pick<CostLimitedRun, 'max_cost' | 'nft_gas' | 'nft_bytes'> | { max_fee: string },
): Promise<void> {
  await db.updateTable('runs').set(limit).where('account_id', '=', account_id).where('run', '=', run).execute()
}

/**
 * Assigns earlier transactions to a run that gets a limit. A transaction that also has NFTs or updates of other runs is
 * counted in full.
 */
export async function assignTransactionsToRun(db: Db, { collection_id, run }: RunKey): Promise<void> {
  const key = { collectionId: collection_id, run }
  const assign = async (ids: readonly string[]) => {
    for (const chunk of chunksOf(ids, IDS_PER_BATCH)) {
      await db
        .updateTable('transactions')
        .set({ run, run_collection_id: collection_id })
        .where('id', 'in', chunk)
        .where('run', 'is', null)
        .execute()
    }
  }
  for (const { bucket } of await listBuckets(db, key)) {
    await assign((await listTransactionsOfBucket(db, { ...key, bucket })).map(({ id }) => id))
  }
  await assign([...(await readChangeShares(db, { collection_id, run })).keys()])
}

/**
 * Assigns a run to a transaction that has no run, before its rows get another transaction. The run may get a limit
 * later, and by then, the rows no longer refer to this transaction. If the transaction has rows of several runs, the
 * first run by name pays.
 *
 * @param requests the requests of the transaction's rows
 */
export async function assignRunToTransaction(db: Db, id: string, requests: readonly string[]): Promise<void> {
  if (requests.length === 0) return
  const run = await db
    .selectFrom('requests')
    .innerJoin('runs', (join) =>
      join.onRef('runs.account_id', '=', 'requests.account_id').onRef('runs.run', '=', 'requests.run'),
    )
    .select(['runs.run', 'runs.collection_id as run_collection_id'])
    .where('requests.id', 'in', requests)
    .orderBy('runs.run')
    .limit(1)
    .executeTakeFirst()
  if (run === undefined) return
  await db.updateTable('transactions').set(run).where('id', '=', id).where('run', 'is', null).execute()
}

/**
 * The share of a run in a transaction with `total` changes. The run's changes are the `count` changes from index
 * `first`.
 */
export interface RunShare {
  first: number
  count: number
  total: number
}

/**
 * Returns the transactions with updates, freezes, commitments, transfers or burns of a run, and the one that deploys
 * its collection, with the run's share of each. A transaction with updates may have updates of several runs, ordered by
 * run name.
 */
export async function readChangeShares(db: Db, { collection_id, run }: RunKey): Promise<Map<string, RunShare>> {
  // A cross join makes SQLite start with the requests.
  const { rows: changeTransactions } = await sql<{ id: string; shared: number }>`
    select distinct changes.transaction_id as id, 1 as shared
      from requests cross join ${indexedTable(db, 'updates', 'request')}
      where changes.request_id = requests.id and requests.run = ${run} and changes.collection_id = ${collection_id}
        and changes.transaction_id is not null
    union all
    select changes.transaction_id, 0 from requests cross join ${indexedTable(db, 'transfers', 'request')}
      where changes.request_id = requests.id and requests.run = ${run} and changes.collection_id = ${collection_id}
        and changes.transaction_id is not null
    union all
    select collections.transaction_id, 0 from collections join requests on requests.id = collections.request_id
      where collections.id = ${collection_id} and requests.run = ${run} and collections.transaction_id is not null`.execute(
    db,
  )
  const shares = new Map<string, RunShare>(changeTransactions.map(({ id }) => [id, { first: 0, count: 1, total: 1 }]))
  const shared = changeTransactions.filter((row) => Number(row.shared) === 1).map(({ id }) => id)
  for (const chunk of chunksOf(shared, IDS_PER_BATCH)) {
    const rows = await db
      .selectFrom('updates')
      .innerJoin('requests', 'requests.id', 'updates.request_id')
      .select(({ fn }) => ['updates.transaction_id as id', 'requests.run', fn.countAll<number>().as('count')])
      .where('updates.transaction_id', 'in', chunk)
      .groupBy(['updates.transaction_id', 'requests.run'])
      .execute()
    for (const id of chunk)
      shares.set(
        id,
        computeShare(
          run,
          rows.filter((row) => row.id === id),
        ),
      )
  }
  return shares
}

/**
 * Returns SQL that reads a table by an index and names the table `changes`. Without statistics, SQLite might choose
 * another index.
 */
function indexedTable(db: Db, table: 'updates' | 'transfers', index: string) {
  const aliasedTable = sql`${sql.table(table)} as changes`
  return isPostgres(db) ? aliasedTable : sql`${aliasedTable} indexed by ${sql.id(`${table}_${index}`)}`
}

function computeShare(run: string, runs: readonly { run: string | null; count: number }[]): RunShare {
  const share = { first: 0, count: 0, total: 0 }
  for (const { run: name, count } of runs) {
    if ((name ?? '') < run) share.first += Number(count)
    if (name === run) share.count += Number(count)
    share.total += Number(count)
  }
  return share
}

/** The transactions of a run, from which its past and future costs are computed. */
export interface RunTransactions {
  /** Number of NFTs that are accepted and not minted, with or without a signed transaction. */
  open: number
  /** Amount in wei that the run's final transactions have paid. */
  paid: bigint
  /** All signed versions of each transaction that isn't final, or whose fee the node didn't return. */
  signings: readonly (readonly string[])[]
  /** All signed versions of each lost transaction. */
  lostSignings: readonly (readonly string[])[]
  /** Number of NFTs in the run's pending transactions. */
  signed: number
  /** The first block with a transaction that isn't final; null if there is none. */
  unfinalBlock: number | null
  /** Accepted changes without a signed transaction. NFTs to mint are not included. */
  changes: readonly UnsignedChange[]
}

/**
 * An update, freeze, commitment, transfer, burn or collection without a signed transaction. A freeze may have several
 * tokens.
 */
export interface UnsignedChange {
  id: string
  request_id: string
  kind: UpdateKind | TransferKind | 'collection'
  tokenIds: readonly bigint[]
}

interface CostRow {
  open: number | string | null
  id: string | null
  fee_paid: string | null
  raw: string | null
  token_count: number | null
  state: string | null
  /** The block of the transaction; null if the block is final. */
  block: number | null
  request_id: string | null
  kind: UnsignedChange['kind'] | null
  token_id: string | null
}

/**
 * Returns the transactions of a run with a limit. Reads them in one statement, so that no transaction is seen both
 * before and after it is settled. Any signed version of a pending transaction can be mined. If an empty version cancels
 * the transaction, it costs less than the earlier versions. Until the block of a transaction is final, a reorg can move
 * the transaction to a block with other fees, or replace it with another of its versions. A lost transaction can still
 * be mined if a node returned a wrong nonce.
 */
export async function readTransactionsOfRun(db: Db, { collection_id, run }: RunKey): Promise<RunTransactions> {
  const { rows } = await sql<CostRow>`
    select sum(files + waiting) as open, null as id, null as fee_paid, null as raw, null as token_count, null as state,
        null as block, null as request_id, null as kind, null as token_id
      from nft_counts where collection_id = ${collection_id} and run = ${run}
    union all
    select null, one.id, case when one.watched = 0 then one.fee_paid end, coalesce(attempt.raw, one.raw),
        case when one.start_id is null then 0 else one.token_count end, one.state,
        case when one.watched = 1 then one.block_number end, null, null, null
      from transactions one
      left join transaction_attempts attempt on attempt.transaction_id = one.id
        and (one.state in ('signed', 'lost') or one.watched = 1)
      where one.run_collection_id = ${collection_id} and one.run = ${run}
    union all
    select null, changes.id, null, null, null, null, null, requests.id, changes.kind, nfts.token_id
      from ${indexedTable(db, 'updates', 'unsigned')} join requests on requests.id = changes.request_id
      left join nfts on nfts.id = changes.nft_id
      where changes.collection_id = ${collection_id} and requests.run = ${run}
        and changes.status = 'initiated' and changes.transaction_id is null
    union all
    select null, changes.id, null, null, null, null, null, requests.id, changes.kind, null
      from ${indexedTable(db, 'transfers', 'waiting')} join requests on requests.id = changes.request_id
      where changes.collection_id = ${collection_id} and requests.run = ${run}
        and changes.status = 'initiated' and changes.transaction_id is null
    union all
    select null, collections.id, null, null, null, null, null, requests.id, 'collection', null
      from collections join requests on requests.id = collections.request_id
      where collections.id = ${collection_id} and requests.run = ${run}
        and collections.status = 'initiated' and collections.transaction_id is null`.execute(db)
  const [raws, lost] = [new Map<string, string[]>(), new Map<string, string[]>()]
  const changes = new Map<string, UnsignedChange & { tokenIds: bigint[] }>()
  const totals = { open: 0, paid: 0n, signed: 0, unfinalBlock: null as number | null }
  for (const { open, id, fee_paid, raw, token_count, state, block, request_id, kind, token_id } of rows) {
    if (block !== null) totals.unfinalBlock = Math.min(totals.unfinalBlock ?? Number(block), Number(block))
    if (id === null) totals.open += Number(open ?? 0)
    else if (request_id !== null && kind !== null) {
      const change = changes.get(id) ?? { id, request_id, kind, tokenIds: [] }
      if (token_id !== null) change.tokenIds.push(BigInt(token_id))
      changes.set(id, change)
    } else if (raw === null) continue
    else if (fee_paid !== null) totals.paid += BigInt(fee_paid)
    else {
      const bytesById = state === 'lost' ? lost : raws
      const signings = bytesById.get(id)
      if (signings === undefined && state === 'signed') totals.signed += Number(token_count)
      bytesById.set(id, [...(signings ?? []), raw])
    }
  }
  return { ...totals, signings: [...raws.values()], lostSignings: [...lost.values()], changes: [...changes.values()] }
}

/** Returns the signed transactions of a run that are in no block, in nonce order. */
export async function listUnminedOfRun(db: Db, { collection_id, run }: RunKey) {
  return await db
    .selectFrom('transactions')
    .select(['id', 'hash', 'raw', 'signer', 'nonce'])
    .where('run_collection_id', '=', collection_id)
    .where('run', '=', run)
    .where('state', '=', sql.lit('signed'))
    .where('mined', 'is', null)
    .orderBy('nonce')
    .execute()
}

/**
 * Returns the runs with a limit that pay for any of these transactions, if the transaction is signed and in no block.
 */
export async function listRunsOfUnmined(db: Db, ids: readonly string[]): Promise<LimitedRun[]> {
  const rows = await db
    .selectFrom('transactions')
    .select(['run', 'run_collection_id'])
    .distinct()
    .where('id', 'in', ids)
    .where('run', 'is not', null)
    .where('state', '=', sql.lit('signed'))
    .where('mined', 'is', null)
    .execute()
  const runs: LimitedRun[] = []
  for (const { run, run_collection_id: collectionId } of rows) {
    if (collectionId === null) continue
    runs.push(...(await limitedRuns(db, collectionId)).filter((limited) => limited.run === run))
  }
  return runs
}

/** Returns the names of runs by request ID. Omits requests without a run. */
export async function readRunsOfRequests(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await db.selectFrom('requests').select(['id', 'run']).where('id', 'in', ids).execute()
  return new Map(rows.flatMap(({ id, run }) => (run === null ? [] : [[id, run]])))
}

/** Returns the gas, fees and states of these transactions. */
export async function feesPaid(db: Db, ids: readonly string[]) {
  const rows = []
  for (const chunk of chunksOf(ids, IDS_PER_BATCH)) {
    const chunkRows = await db
      .selectFrom('transactions')
      .select(['id', 'gas_used', 'fee_paid', 'token_count', 'watched', 'state'])
      .where('id', 'in', chunk)
      .execute()
    rows.push(...chunkRows)
  }
  return rows
}

/** Returns the gas, the fee and the number of NFTs of the transaction that minted an NFT; null if there is none. */
export async function readFeesOfMint(db: Db, nftId: string) {
  const row = await db
    .selectFrom('nfts')
    .innerJoin('transactions', 'transactions.id', 'nfts.transaction_id')
    .select(['transactions.gas_used', 'transactions.fee_paid', 'transactions.token_count'])
    .where('nfts.id', '=', nftId)
    .executeTakeFirst()
  return row ?? null
}

/**
 * Returns the gas and fees of a run's mined transactions. Some of these transactions have no rows, because they
 * reverted, were canceled, or ended after a reorg had moved their rows to another transaction.
 */
export async function readFeesOfMined(db: Db, { collectionId, run }: { collectionId: string; run: string }) {
  return await db
    .selectFrom('transactions')
    .select(['id', 'gas_used', 'fee_paid', 'watched', 'state'])
    .where('run_collection_id', '=', collectionId)
    .where('run', '=', run)
    .where('state', 'in', ['final', 'reverted', 'cancelled'])
    .execute()
}
