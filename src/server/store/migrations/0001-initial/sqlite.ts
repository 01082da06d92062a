import { type Kysely, sql } from 'kysely'
import type { InitialDialect } from './dialect.ts'
import { CONDITIONS, type CountName, KEY, listCounts, nftCounts } from './nft-counts.ts'

export const sqlite: InitialDialect = {
  bytes: 'blob',
  sequence: 'integer',
  asSequence: (column) => column.primaryKey().autoIncrement(),

  async createNftCounts(db) {
    await nftCounts(db)
      .addPrimaryKeyConstraint('nft_counts_key', [...KEY])
      .modifyEnd(sql`without rowid`)
      .execute()
    await createTriggers(db)
  },

  async createNftTerms(db) {
    await sql`create table nft_terms (term text not null, seq bigint not null, primary key (term, seq)) without rowid`.execute(
      db,
    )
  },
}

/** Returns an SQL expression that is 1 if the trigger's old or new row belongs to a count, and 0 otherwise. */
const isIn = (row: 'old' | 'new', count: CountName) =>
  `(${CONDITIONS[count].replaceAll('status', `${row}.status`).replaceAll('step', `${row}.step`)})`

const runOf = (row: 'old' | 'new') => `coalesce((select run from requests where id = ${row}.request_id), '')`

async function createTriggers(db: Kysely<unknown>): Promise<void> {
  await sql
    .raw(
      `create trigger nfts_counted after insert on nfts begin
        insert into nft_counts (${KEY.join(', ')}, ${listCounts((count) => count)})
        values (new.collection_id, ${runOf('new')}, new.seq >> 12, ${listCounts((count) => isIn('new', count))})
        on conflict (${KEY.join(', ')}) do update set
          ${listCounts((count) => `${count} = ${count} + excluded.${count}`)};
      end`,
    )
    .execute(db)
  await sql
    .raw(
      `create trigger nfts_recounted after update of status, step on nfts
      when old.status <> new.status or (old.step = 'files') <> (new.step = 'files') begin
        update nft_counts set ${listCounts((count) => `${count} = ${count} + ${isIn('new', count)} - ${isIn('old', count)}`)}
        where collection_id = new.collection_id and run = ${runOf('new')} and bucket = new.seq >> 12;
      end`,
    )
    .execute(db)
  await sql
    .raw(
      `create trigger nfts_uncounted after delete on nfts begin
        update nft_counts set ${listCounts((count) => `${count} = ${count} - ${isIn('old', count)}`)}
        where collection_id = old.collection_id and run = ${runOf('old')} and bucket = old.seq >> 12;
      end`,
    )
    .execute(db)
}
