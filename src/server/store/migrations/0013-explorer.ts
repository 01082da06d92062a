import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../dialect.ts'

/** What the explorer looks things up by: runs, counts, owners, words of titles. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await addRuns(db)
  await addCounts(db)
  await addLookups(db)
  await addTerms(db)
}

/** Requests know the run that they came with; a run's row is written with its first request. */
async function addRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('requests').addColumn('run', 'text').execute()
  await db.schema
    .createIndex('requests_run')
    .on('requests')
    .columns(['run', 'account_id', 'accepted_at'])
    .where(sql.ref('run'), 'is not', null)
    .execute()
  await db.schema
    .createTable('runs')
    .addColumn('account_id', 'text', (c) => c.notNull().references('accounts.id'))
    .addColumn('run', 'text', (c) => c.notNull())
    .addColumn('collection_id', 'text', (c) => c.notNull().references('collections.id'))
    .addColumn('started_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('runs_key', ['account_id', 'run'])
    .execute()
  await db.schema.createIndex('runs_started').on('runs').columns(['started_at', 'run']).execute()
  await db.schema.createIndex('runs_account').on('runs').columns(['account_id', 'started_at', 'run']).execute()
  await db.schema.createIndex('runs_name').on('runs').columns(['run', 'started_at']).execute()
}

const STATES = {
  files: `status = 'initiated' and step = 'files'`,
  waiting: `status = 'initiated' and step <> 'files'`,
  deployed: `status = 'deployed'`,
  failed: `status = 'failed'`,
} as const

type State = keyof typeof STATES

const NAMES = Object.keys(STATES) as State[]

/**
 * Counts of NFTs by state, for each 4,096 places in the order of acceptance: a million are 245 rows, which give the
 * whole, and the place where a page begins. Triggers keep them, whoever changes a state. What waits to be signed and
 * what is signed are counted as one: each state more would cost every NFT a write more.
 */
async function addCounts(db: Kysely<unknown>): Promise<void> {
  const key = ['collection_id', 'run', 'bucket'] as const
  let table = db.schema
    .createTable('nft_counts')
    .addColumn('collection_id', 'text', (c) => c.notNull())
    .addColumn('run', 'text', (c) => c.notNull())
    .addColumn('bucket', 'bigint', (c) => c.notNull())
  for (const name of NAMES) table = table.addColumn(name, 'bigint', (c) => c.notNull())
  if (isPostgres(db)) {
    await table.addColumn('id', 'bigserial', (c) => c.primaryKey()).execute()
    await db.schema
      .createIndex('nft_counts_key')
      .on('nft_counts')
      .columns([...key])
      .execute()
  } else {
    table = table.addPrimaryKeyConstraint('nft_counts_key', [...key])
    await table.modifyEnd(sql`without rowid`).execute()
  }
  const sums = NAMES.map((name) => `sum(case when ${STATES[name]} then 1 else 0 end)`)
  await sql`
    insert into nft_counts (collection_id, run, bucket, ${sql.raw(NAMES.join(', '))})
    select collection_id, '', seq >> 12, ${sql.raw(sums.join(', '))} from nfts group by collection_id, seq >> 12`.execute(
    db,
  )
  await (isPostgres(db) ? countOnPostgres(db) : countOnSqlite(db))
}

/** Whether a row of the trigger is in a state, as 1 or 0. */
const isIn = (row: 'old' | 'new', name: State) =>
  `(${STATES[name].replaceAll('status', `${row}.status`).replaceAll('step', `${row}.step`)})`

async function countOnSqlite(db: Kysely<unknown>): Promise<void> {
  const columns = NAMES.join(', ')
  const runOf = (row: 'old' | 'new') => `coalesce((select run from requests where id = ${row}.request_id), '')`
  await sql
    .raw(
      `create trigger nfts_counted after insert on nfts begin
        insert into nft_counts (collection_id, run, bucket, ${columns})
        values (new.collection_id, ${runOf('new')}, new.seq >> 12, ${NAMES.map((name) => isIn('new', name)).join(', ')})
        on conflict (collection_id, run, bucket) do update set
          ${NAMES.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')};
      end`,
    )
    .execute(db)
  await sql
    .raw(
      `create trigger nfts_recounted after update of status, step on nfts
      when old.status <> new.status or (old.step = 'files') <> (new.step = 'files') begin
        update nft_counts set ${NAMES.map((name) => `${name} = ${name} + ${isIn('new', name)} - ${isIn('old', name)}`).join(', ')}
        where collection_id = new.collection_id and run = ${runOf('new')} and bucket = new.seq >> 12;
      end`,
    )
    .execute(db)
  await sql
    .raw(
      `create trigger nfts_uncounted after delete on nfts begin
        update nft_counts set ${NAMES.map((name) => `${name} = ${name} - ${isIn('old', name)}`).join(', ')}
        where collection_id = old.collection_id and run = ${runOf('old')} and bucket = old.seq >> 12;
      end`,
    )
    .execute(db)
}

/**
 * Many transactions count at once, and one row for all would make each wait for the other's commit. So each takes a row
 * that nobody holds, or adds one: the rows of a key are as many as ever counted at once, and their sum is the count.
 */
async function countOnPostgres(db: Kysely<unknown>): Promise<void> {
  const columns = NAMES.join(', ')
  const each = (table: string, sign: string) => {
    const deltas = NAMES.map((name) => `${sign} (case when ${STATES[name]} then 1 else 0 end) as ${name}`)
    return `select request_id, collection_id, seq >> 12 as bucket, ${deltas.join(', ')} from ${table}`
  }
  // What was and what is are added up, never joined: the plan is made for the first statement of a session, and a join
  // of one row with one would be carried out row by row for all that come after it.
  const changes = {
    insert: each('added', '+'),
    update: `${each('added', '+')} union all ${each('removed', '-')}`,
    delete: each('removed', '-'),
  }
  const tables = {
    insert: 'new table as added',
    update: 'old table as removed new table as added',
    delete: 'old table as removed',
  }
  for (const event of ['insert', 'update', 'delete'] as const) {
    await sql
      .raw(
        `create function count_nfts_on_${event}() returns trigger language plpgsql as $$
        declare
          change record;
          place bigint;
        begin
          for change in
            select changed.collection_id, coalesce(requests.run, '') as run, changed.bucket,
              ${NAMES.map((name) => `sum(changed.${name})::bigint as ${name}`).join(', ')}
            from (
              select request_id, collection_id, bucket, ${NAMES.map((name) => `sum(${name}) as ${name}`).join(', ')}
              from (${changes[event]}) as each group by 1, 2, 3
              having ${NAMES.map((name) => `sum(${name}) <> 0`).join(' or ')}
            ) as changed join requests on requests.id = changed.request_id
            group by 1, 2, 3
          loop
            select nft_counts.id into place from nft_counts
              where nft_counts.collection_id = change.collection_id and nft_counts.run = change.run
                and nft_counts.bucket = change.bucket
              order by nft_counts.id limit 1 for update skip locked;
            if found then
              update nft_counts set ${NAMES.map((name) => `${name} = ${name} + change.${name}`).join(', ')}
                where nft_counts.id = place;
            else
              insert into nft_counts (collection_id, run, bucket, ${columns})
                values (change.collection_id, change.run, change.bucket, ${NAMES.map((name) => `change.${name}`).join(', ')});
            end if;
          end loop;
          return null;
        end $$`,
      )
      .execute(db)
    await sql
      .raw(
        `create trigger nfts_counted_on_${event} after ${event} on nfts
        referencing ${tables[event]} for each statement execute function count_nfts_on_${event}()`,
      )
      .execute(db)
  }
}

async function addLookups(db: Kysely<unknown>): Promise<void> {
  const index = (name: string, table: string, columns: string[]) =>
    db.schema.createIndex(name).on(table).columns(columns)
  await index('nfts_owned', 'nfts', ['collection_id', 'owner', 'seq']).where(sql.ref('owner'), 'is not', null).execute()
  await index('nfts_failed', 'nfts', ['collection_id', 'seq'])
    .where(sql.ref('status'), '=', sql.lit('failed'))
    .execute()
  await index('collections_account', 'collections', ['account_id', 'id']).execute()
  await index('collections_address_lookup', 'collections', ['contract_address']).execute()
  // Those that are finished, or signed at least: the work on what isn't goes by its own indexes, which hold nothing else.
  await index('transfers_nft', 'transfers', ['nft_id', 'seq'])
    .where(sql.ref('transaction_id'), 'is not', null)
    .execute()
  await index('transfers_collection', 'transfers', ['collection_id', 'transaction_id'])
    .where(sql.ref('transaction_id'), 'is not', null)
    .execute()
  await index('transactions_hash', 'transactions', ['hash']).execute()
  await index('transactions_gas', 'transactions', ['collection_id', 'gas_used'])
    .where(sql.ref('gas_used'), 'is not', null)
    .execute()
  await index('transactions_directory', 'transactions', ['directory']).execute()
  await index('solana_transactions_directory', 'solana_transactions', ['directory']).execute()
}

/** Words of titles and names of files, each with the NFTs that have it, apart for each account; filled by and by. */
async function addTerms(db: Kysely<unknown>): Promise<void> {
  // Compared byte by byte, whatever the database's language: what begins with a word is one range.
  const collation = isPostgres(db) ? sql` collate "C"` : sql``
  const rest = isPostgres(db) ? sql`` : sql` without rowid`
  await sql`create table nft_terms (term text${collation} not null, seq bigint not null, primary key (term, seq))${rest}`.execute(
    db,
  )
  await db.schema
    .createTable('nft_term_cursor')
    .addColumn('id', 'integer', (c) => c.primaryKey())
    .addColumn('next_seq', 'bigint', (c) => c.notNull())
    .addColumn('gaps', 'text', (c) => c.notNull())
    .execute()
}
