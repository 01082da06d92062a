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

/**
 * Records a chain on its first use. Later calls have no effect, except for a factory of a newer version, which replaces
 * the older one for new collections.
 */
export async function rememberChain(db: Db, chain: Insertable<ChainsTable>): Promise<void> {
  const { factory_address, factory_version = 1 } = chain
  await db
    .insertInto('chains')
    .values(chain)
    .onConflict((conflict) =>
      conflict
        .column('blockchain')
        .doUpdateSet({ factory_address, factory_version })
        .where('chains.factory_version', '<', factory_version),
    )
    .execute()
}

/**
 * Returns the factories whose collections may need transactions: that of new collections, and those of earlier versions
 * that have made collections.
 */
export async function listFactories(db: Db, blockchain: Blockchain): Promise<`0x${string}`[]> {
  const rows = await db
    .selectFrom('chains')
    .select('factory_address')
    .where('blockchain', '=', blockchain)
    .union(db.selectFrom('collections').select('factory_address').where('blockchain', '=', blockchain))
    .execute()
  return rows.map(({ factory_address }) => factory_address as `0x${string}`)
}
