import { type RawBuilder, sql } from 'kysely'
import { withStore } from './backend.ts'

/**
 * Keeps a running backend from writing something down: its database refuses it, and its pipeline tries again until the
 * returned function lets it through. So something else can happen meanwhile.
 */
async function hold(dataDir: string, what: RawBuilder<unknown>): Promise<() => Promise<void>> {
  await withStore(dataDir, ({ db }) =>
    sql`create trigger held before ${what} begin select raise(abort, 'held by a test'); end`.execute(db),
  )
  return () => withStore(dataDir, async ({ db }) => void (await sql`drop trigger held`.execute(db)))
}

/** Nothing of a kind is signed. */
export const holdSigning = (dataDir: string, kind: 'mint' | 'grant' | 'transfer') =>
  hold(dataDir, sql`insert on transactions when new.kind = ${sql.lit(kind)}`)

/** No transaction of a kind is found to be final, though it is in a block. */
export const holdSettling = (dataDir: string, kind: 'transfer') =>
  hold(dataDir, sql`update of state on transactions when new.kind = ${sql.lit(kind)}`)

/** No events are followed. */
export const holdFollowing = (dataDir: string) => hold(dataDir, sql`insert on owner_cursors`)
