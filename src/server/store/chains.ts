import type { Insertable, Selectable } from 'kysely'
import type { Blockchain } from '../../api/blockchains.ts'
import type { ChainsTable, Db } from './schema.ts'

export type ChainRow = Selectable<ChainsTable>

export async function findChain(db: Db, blockchain: Blockchain): Promise<ChainRow | null> {
  return (await db.selectFrom('chains').selectAll().where('blockchain', '=', blockchain).executeTakeFirst()) ?? null
}

export async function listChains(db: Db): Promise<ChainRow[]> {
  return await db.selectFrom('chains').selectAll().orderBy('blockchain').execute()
}

/** Records a chain when it is first used. Later calls have no effect. */
export async function recordChain(db: Db, chain: Insertable<ChainsTable>): Promise<void> {
  await db
    .insertInto('chains')
    .values(chain)
    .onConflict((conflict) => conflict.column('blockchain').doNothing())
    .execute()
}

/** Records an embedded chain, unless it is already recorded, and returns its record. */
export async function recordEmbeddedChain(
  db: Db,
  blockchain: Blockchain,
  factory_address: string,
  now: number,
): Promise<ChainRow> {
  await recordChain(db, { blockchain, genesis_timestamp: Math.floor(now / 1000), factory_address, created_at: now })
  const row = await findChain(db, blockchain)
  if (row === null) throw new Error(`the chain ${blockchain} was not recorded`)
  return row
}
