import { sql } from 'kysely'
import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { shuffled } from '../../../core/shuffled.ts'
import type { Signer } from '../../chain/evm/signers.ts'
import { isPostgres } from '../../store/dialect.ts'
import type { Db } from '../../store/schema.ts'

/**
 * Maximum number of a signer's transactions that wait for a block: as many as a node keeps for one account (geth: 64).
 * Nodes drop those beyond, and a missing nonce blocks all later ones.
 */
const MOST_PENDING = 64

/** Number of pending transactions of each signer that are reserved for mints and collections. */
export const LEFT_FREE = 16

/** A signer, and how many more of its transactions may be signed before a pending one is in a block. */
export interface SignerRoom {
  signer: Signer
  room: number
}

/** Returns the free capacity of each signer, largest first. */
export async function roomOfSigners(
  db: Db,
  blockchain: EvmBlockchain,
  signers: readonly Signer[],
): Promise<SignerRoom[]> {
  if (signers.length === 0) return []
  const rows = await db
    .selectFrom('transactions')
    .select(({ fn }) => ['signer', fn.countAll<number>().as('pending')])
    .where('blockchain', '=', blockchain)
    .where(
      'signer',
      'in',
      signers.map(({ address }) => address),
    )
    .where('state', '=', sql.lit('signed'))
    .where('mined', 'is', null)
    .groupBy('signer')
    .execute()
  const pending = new Map(rows.map((row) => [row.signer, Number(row.pending)]))
  const rooms = signers.map((signer) => ({
    signer,
    room: Math.max(0, MOST_PENDING - (pending.get(signer.address) ?? 0)),
  }))
  return rooms.sort((a, b) => b.room - a.room)
}

/** The capacity of signers, as read once and reduced by what this process has signed since. */
export interface SignerCapacity {
  /** Returns the signers with free capacity, largest first; equals in random order. */
  free(): Signer[]
  /** Reserves a transaction of any signer. Returns false if the capacity of all is reserved. */
  reserve(): boolean
  /** Records that a transaction was signed. */
  used(signer: Signer): void
}

export async function capacityOfSigners(
  db: Db,
  blockchain: EvmBlockchain,
  signers: readonly Signer[],
): Promise<SignerCapacity> {
  const rooms = await roomOfSigners(db, blockchain, shuffled(signers))
  let unreserved = rooms.reduce((sum, { room }) => sum + room, 0)
  return {
    reserve: () => unreserved-- > 0,
    free: () =>
      rooms
        .filter(({ room }) => room > 0)
        .sort((a, b) => b.room - a.room)
        .map(({ signer }) => signer),
    used(signer) {
      for (const one of rooms) if (one.signer === signer) one.room -= 1
    },
  }
}

/**
 * Locks the nonces of the first signer that no other process has locked, until the transaction ends. Returns the
 * first one if all are locked. Measured with four workers and four signers: when all workers waited for one signer,
 * they signed at a third of the speed.
 */
export async function lockSigner(
  db: Db,
  blockchain: EvmBlockchain,
  signers: readonly [Signer, ...Signer[]],
): Promise<Signer> {
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
