import { sql } from 'kysely'
import { withStore } from './backend.ts'

/**
 * Keeps a running backend from signing transactions of a kind: its database refuses them, and its pipeline tries again
 * until they are let through. So something can happen on chain between acceptance and signing.
 */
export async function holdSigning(dataDir: string, kind: 'mint' | 'grant' | 'transfer'): Promise<() => Promise<void>> {
  await withStore(dataDir, ({ db }) =>
    sql`
      create trigger held before insert on transactions when new.kind = ${sql.lit(kind)}
      begin select raise(abort, 'held by a test'); end`.execute(db),
  )
  return () => withStore(dataDir, async ({ db }) => void (await sql`drop trigger held`.execute(db)))
}
