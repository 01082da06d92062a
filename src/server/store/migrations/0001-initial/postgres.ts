import { type Kysely, sql } from 'kysely'
import type { InitialDialect } from './dialect.ts'
import { CONDITIONS, KEY, listCounts, nftCounts } from './nft-counts.ts'

export const postgres: InitialDialect = {
  bytes: 'bytea',
  sequence: 'bigserial',
  asSequence: (column) => column.primaryKey(),

  async createNftCounts(db) {
    await nftCounts(db)
      .addColumn('id', 'bigserial', (c) => c.primaryKey())
      .execute()
    await db.schema
      .createIndex('nft_counts_key')
      .on('nft_counts')
      .columns([...KEY])
      .execute()
    for (const event of ['insert', 'update', 'delete'] as const) await createTrigger(db, event)
  },

  async createNftTerms(db) {
    // Without this collation, the order of terms would depend on the locale of the database.
    await sql`create table nft_terms (term text collate "C" not null, seq bigint not null, primary key (term, seq))`.execute(
      db,
    )
  },
}

const changesIn = (table: 'added' | 'removed', sign: '+' | '-') => {
  const deltas = listCounts((count) => `${sign} (case when ${CONDITIONS[count]} then 1 else 0 end) as ${count}`)
  return `select request_id, collection_id, seq >> 12 as bucket, ${deltas} from ${table}`
}

// Sum old and new rows without joining them. PostgreSQL plans the query at the first statement of a session. A join
// planned for single rows would remain a nested loop for all later statements.
const CHANGES = {
  insert: changesIn('added', '+'),
  update: `${changesIn('added', '+')} union all ${changesIn('removed', '-')}`,
  delete: changesIn('removed', '-'),
}

const TRANSITION_TABLES = {
  insert: 'new table as added',
  update: 'old table as removed new table as added',
  delete: 'old table as removed',
}

/**
 * Creates a trigger that counts NFTs. Many transactions count concurrently, and with a single row per key, each would
 * wait for the commits of the others. Each transaction therefore uses a row that isn't locked, or adds a row. A key has
 * as many rows as transactions ever counted concurrently, and the sum of its rows is the count.
 */
async function createTrigger(db: Kysely<unknown>, event: 'insert' | 'update' | 'delete'): Promise<void> {
  await sql
    .raw(
      `create function count_nfts_on_${event}() returns trigger language plpgsql as $$
        declare
          change record;
          place bigint;
        begin
          for change in
            select changed.collection_id, coalesce(requests.run, '') as run, changed.bucket,
              ${listCounts((count) => `sum(changed.${count})::bigint as ${count}`)}
            from (
              select request_id, collection_id, bucket, ${listCounts((count) => `sum(${count}) as ${count}`)}
              from (${CHANGES[event]}) as each group by 1, 2, 3
              having ${listCounts((count) => `sum(${count}) <> 0`, ' or ')}
            ) as changed join requests on requests.id = changed.request_id
            group by 1, 2, 3
          loop
            select nft_counts.id into place from nft_counts
              where nft_counts.collection_id = change.collection_id and nft_counts.run = change.run
                and nft_counts.bucket = change.bucket
              order by nft_counts.id limit 1 for update skip locked;
            if found then
              update nft_counts set ${listCounts((count) => `${count} = ${count} + change.${count}`)}
                where nft_counts.id = place;
            else
              insert into nft_counts (${KEY.join(', ')}, ${listCounts((count) => count)})
                values (change.collection_id, change.run, change.bucket, ${listCounts((count) => `change.${count}`)});
            end if;
          end loop;
          return null;
        end $$`,
    )
    .execute(db)
  await sql
    .raw(
      `create trigger nfts_counted_on_${event} after ${event} on nfts
        referencing ${TRANSITION_TABLES[event]} for each statement execute function count_nfts_on_${event}()`,
    )
    .execute(db)
}
