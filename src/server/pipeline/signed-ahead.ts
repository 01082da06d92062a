import { sql } from 'kysely'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import { shuffled } from '../../core/shuffled.ts'
import type { Signer } from '../chain/evm/signers.ts'
import { isPostgres } from '../store/dialect.ts'
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
  if (signers.length === 0) return []
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

/** The signers whose lanes have room, those with the emptiest first; equals in any order. */
export async function freeSigners(
  db: Db,
  blockchain: EvmBlockchain,
  signers: readonly Signer[],
): Promise<readonly Signer[]> {
  const lanes = await lanesOf(db, blockchain, shuffled(signers))
  return lanes.filter(({ room }) => room > 0).map(({ signer }) => signer)
}

/**
 * The first of these signers whose lane nobody holds at this moment, held from now on until the transaction ends; the
 * first of all where each is held. Measured with four workers and four signers: all of them waiting for one lane, they
 * signed at a third of the pace of one.
 */
export async function takeLane(db: Db, blockchain: EvmBlockchain, signers: readonly [Signer, ...Signer[]]) {
  const [first] = signers
  if (!isPostgres(db) || signers.length === 1) return first
  const addresses = signers.map(({ address }) => address)
  const found = await db
    .selectFrom('signer_nonces')
    .select('signer')
    .where('blockchain', '=', blockchain)
    .where('signer', 'in', addresses)
    .orderBy(sql`array_position(array[${sql.join(addresses)}]::text[], signer)`)
    .limit(1)
    .forNoKeyUpdate()
    .skipLocked()
    .executeTakeFirst()
  return signers.find(({ address }) => address === found?.signer) ?? first
}
