import { type NewRow, stateDb } from '../../src/server/state/state-db.ts'
import type { Db } from '../../src/server/store/schema.ts'

// Inserts rows in any state, for tests and benches only.

const ROWS_AT_ONCE = 1000

export async function insertNfts(db: Db, nfts: readonly NewRow<'nfts'>[]): Promise<void> {
  for (let at = 0; at < nfts.length; at += ROWS_AT_ONCE) {
    await stateDb(db)
      .insertInto('nfts')
      .values(nfts.slice(at, at + ROWS_AT_ONCE))
      .execute()
  }
}

export async function insertCollection(db: Db, collection: NewRow<'collections'>): Promise<void> {
  await stateDb(db).insertInto('collections').values(collection).execute()
}

export async function insertTransfer(db: Db, transfer: NewRow<'transfers'>): Promise<void> {
  await stateDb(db).insertInto('transfers').values(transfer).execute()
}

export async function insertTransaction(db: Db, transaction: NewRow<'transactions'>): Promise<void> {
  await stateDb(db).insertInto('transactions').values(transaction).execute()
}
