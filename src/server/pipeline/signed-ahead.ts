import { sql } from 'kysely'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import type { Signer } from '../chain/signers.ts'
import type { Db } from '../store/schema.ts'

/**
 * How many transactions of a signer may wait for a network: as many as a node keeps of one account (geth: 64). Those
 * beyond are dropped by nodes, and a nonce that is missing holds up all the later ones.
 */
const MOST_AHEAD = 64

/** A signer's lane, and how many more may be signed in it before one of its transactions is finished. */
export interface Lane {
  signer: Signer
  room: number
}

/** The lanes of these signers, the emptiest first. */
export async function lanesOf(db: Db, blockchain: EvmBlockchain, signers: readonly Signer[]): Promise<Lane[]> {
  const rows = await db
    .selectFrom('transactions')
    .select(({ fn }) => ['signer', fn.countAll<number>().as('ahead')])
    .where('blockchain', '=', blockchain)
    .where(
      'signer',
      'in',
      signers.map(({ address }) => address),
    )
    .where('state', '=', sql.lit('signed'))
    .groupBy('signer')
    .execute()
  const ahead = new Map(rows.map((row) => [row.signer, Number(row.ahead)]))
  const lanes = signers.map((signer) => ({
    signer,
    room: Math.max(0, MOST_AHEAD - (ahead.get(signer.address) ?? 0)),
  }))
  return lanes.sort((a, b) => b.room - a.room)
}

/** The signer with the emptiest lane, or null where none has room. */
export async function freeSigner(
  db: Db,
  blockchain: EvmBlockchain,
  signers: readonly Signer[],
): Promise<Signer | null> {
  const [lane] = await lanesOf(db, blockchain, signers)
  return lane === undefined || lane.room === 0 ? null : lane.signer
}
