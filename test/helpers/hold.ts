import { type RawBuilder, sql } from 'kysely'
import { withStore } from './backend.ts'
import { isOnPostgres } from './test-database.ts'

/**
 * Keeps a running backend from writing something down: its database refuses it, and its pipeline tries again until the
 * returned function lets it through. So something else can happen meanwhile.
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

/** Nothing of a kind is signed. */
export const holdSigning = (dataDir: string, kind: 'collection' | 'mint' | 'grant' | 'transfer') =>
  hold(dataDir, sql`insert on transactions for each row when (new.kind = ${sql.lit(kind)})`)

/** No mint of an NFT on Solana is signed. */
export const holdSolanaSigning = (dataDir: string) =>
  hold(dataDir, sql`insert on transactions for each row when (new.kind = 'mint' and new.nonce is null)`)

/** No transaction of a kind is found to be final, though it is in a block. */
export const holdSettling = (dataDir: string, kind: 'transfer') =>
  hold(dataDir, sql`update of state on transactions for each row when (new.kind = ${sql.lit(kind)})`)

/** No events are followed. */
export const holdFollowing = (dataDir: string) => hold(dataDir, sql`insert on owner_cursors`)

/** No metadata file and no directory is stored. */
export const holdBlocks = (dataDir: string) => hold(dataDir, sql`insert on blocks for each row`)
