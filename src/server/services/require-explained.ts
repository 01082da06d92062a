import type { Blockchain } from '../../api/blockchains.ts'
import { isBehind } from '../store/followers.ts'
import type { Db } from '../store/schema.ts'
import { openMintsOf } from '../store/unknown-mints.ts'
import { nothingAccepted, notNow } from './refusal.ts'

const RETRY_SECONDS = 5

/**
 * Refuses NFTs where the chain may have them already: the database was restored, or lost commits, and clients send again
 * what was accepted after the backup.
 */
export async function requireExplained(db: Db, { id, blockchain }: { id: string; blockchain: string }): Promise<void> {
  const open = await openMintsOf(db, id)
  const tokens = open.reduce((sum, { token_count }) => sum + token_count, 0)
  if (open.some(({ state }) => state === 'unexplained')) {
    throw nothingAccepted(
      `the collection has ${tokens} tokens on ${blockchain} that this backend does not know; nothing was accepted. Its operator can list them with gdn tx unknown, and let the collection mint again with gdn tx release`,
    )
  }
  if (open.length === 0 && !(await isBehind(db, blockchain as Blockchain))) return
  throw notNow(`this backend is reading what is on ${blockchain}; nothing was accepted, try again`, RETRY_SECONDS)
}
