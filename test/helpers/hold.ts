import { type RawBuilder, sql } from 'kysely'
import type { TransactionKind } from '../../src/server/store/schema.ts'
import { withStore } from './backend.ts'
import { isOnPostgres } from './test-database.ts'

/**
 * Prevents a running backend from writing specific rows: its database rejects them, and its pipeline retries until the
 * returned function allows them. Meanwhile a test can trigger other events.
 */
async function hold(dataDir: string, what: RawBuilder<unknown>): Promise<() => Promise<void>> {
  if (isOnPostgres()) {
    await withStore(dataDir, async ({ db }) => {
      await sql`create or replace function hold() returns trigger language plpgsql
        as $$ begin raise exception 'held by a test'; end $$`.execute(db)
      await sql`create trigger held before ${what} execute function hold()`.execute(db)
    })
    return () => withStore(dataDir, async ({ db }) => void (await sql`drop function hold cascade`.execute(db)))
  }
  await withStore(dataDir, ({ db }) =>
    sql`create trigger held before ${what} begin select raise(abort, 'held by a test'); end`.execute(db),
  )
  return () => withStore(dataDir, async ({ db }) => void (await sql`drop trigger held`.execute(db)))
}

/** Prevents signing of transactions of a kind. */
export const holdSigning = (dataDir: string, kind: TransactionKind) =>
  hold(dataDir, sql`insert on transactions for each row when (new.kind = ${sql.lit(kind)})`)

/** Prevents signing of NFT mints on Solana. */
export const holdSolanaSigning = (dataDir: string) =>
  hold(dataDir, sql`insert on transactions for each row when (new.kind = 'mint' and new.nonce is null)`)

/** Prevents transactions of a kind from becoming final, although they are mined. */
export const holdSettling = (dataDir: string, kind: TransactionKind) =>
  hold(dataDir, sql`update of state on transactions for each row when (new.kind = ${sql.lit(kind)})`)

/** Prevents updates from being ready to be signed, although their files are stored. */
export const holdUpdateFiles = (dataDir: string) =>
  hold(dataDir, sql`update of step on updates for each row when (new.step = 'sign')`)

/** Prevents new blocks of embedded chains. */
export const holdMining = (dataDir: string) => hold(dataDir, sql`insert on chain_blocks for each row`)

/** Prevents following of events. */
export const holdFollowing = (dataDir: string) => hold(dataDir, sql`insert on owner_cursors`)

/** Prevents storing of metadata files and directories. */
export const holdBlocks = (dataDir: string) => hold(dataDir, sql`insert on blocks for each row`)
