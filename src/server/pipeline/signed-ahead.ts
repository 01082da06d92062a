import { sql } from 'kysely'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import type { Db } from '../store/schema.ts'

/**
 * How many transactions of a signer may wait for a network: as many as a node keeps of one account (geth: 64). Those
 * beyond are dropped by nodes, and a nonce that is missing holds up all the later ones.
 */
const MOST_AHEAD = 64

/** How many more may be signed for this signer before one of its transactions is finished. */
export async function roomInLane(db: Db, blockchain: EvmBlockchain, signer: string): Promise<number> {
  const row = await db
    .selectFrom('transactions')
    .select(({ fn }) => fn.countAll<number>().as('ahead'))
    .where('blockchain', '=', blockchain)
    .where('signer', '=', signer)
    .where('state', '=', sql.lit('signed'))
    .executeTakeFirstOrThrow()
  return Math.max(0, MOST_AHEAD - Number(row.ahead))
}

/** Whether no more may be signed for it. */
export async function isLaneFull(db: Db, blockchain: EvmBlockchain, signer: string): Promise<boolean> {
  return (await roomInLane(db, blockchain, signer)) === 0
}
