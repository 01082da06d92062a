import { type Kysely, sql } from 'kysely'
import { isPostgres } from '../dialect.ts'

/** Adds commitments to provenance hashes: rows of `updates` without an NFT. */
export async function addProvenance(db: Kysely<unknown>): Promise<void> {
  if (isPostgres(db)) await sql`alter table updates alter column nft_id drop not null`.execute(db)
  else await dropNotNull(db)
  await db.schema.alterTable('updates').addColumn('first_token_id', 'text').execute()
  // A collection is committed to a hash once.
  await db.schema
    .createIndex('updates_provenance')
    .on('updates')
    .unique()
    .columns(['collection_id', 'metadata'])
    .where(sql<boolean>`kind = 'provenance' and status <> 'failed'`)
    .execute()
}

/** SQLite can't drop a constraint, so the table is copied by its own definition. */
async function dropNotNull(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ type: string; sql: string }>`
    select type, sql from sqlite_master where tbl_name = 'updates' and sql is not null`.execute(db)
  const table = rows.find(({ type }) => type === 'table')?.sql ?? ''
  const copy = table.replace('"updates"', '"updates_copy"').replace('"nft_id" text not null', '"nft_id" text')
  const statements = [copy, 'insert into updates_copy select * from updates', 'drop table updates']
  statements.push('alter table updates_copy rename to updates')
  for (const { type, sql } of rows) if (type !== 'table') statements.push(sql)
  for (const statement of statements) await sql.raw(statement).execute(db)
}
