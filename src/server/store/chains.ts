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
export async function rememberChain(db: Db, chain: Insertable<ChainsTable>): Promise<void> {
  await db
    .insertInto('chains')
    .values(chain)
    .onConflict((conflict) => conflict.column('blockchain').doNothing())
    .execute()
}
