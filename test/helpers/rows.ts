import { type NewRow, stateDb } from '../../src/server/state/state-db.ts'
import { insertRequest } from '../../src/server/store/requests.ts'
import type { Db } from '../../src/server/store/schema.ts'
import { OWNER } from './addresses.ts'

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

/** Inserts a collection. By default, it is the deployed collection `c` of the account `a` and its request `r`. */
export async function insertCollection(db: Db, fields: Partial<NewRow<'collections'>> = {}): Promise<void> {
  const { id = 'c' } = fields
  const collection: NewRow<'collections'> = {
    ...{ id, account_id: 'a', request_id: 'r', blockchain: 'polygon', name: id, symbol: 'C' },
    ...{ wallet_address: OWNER, contract_address: OWNER, factory_address: OWNER, enable_api: 1, enable_transfer: 1 },
    ...{ is_locked: 0, description: null, image: null, status: 'deployed', next_token_id: '1', next_attempt_at: 0 },
    ...fields,
  }
  await stateDb(db).insertInto('collections').values(collection).execute()
}

/** Inserts the account `a` and its request `r`. */
export async function insertAccountAndRequest(
  db: Db,
  { accepted_at, ...fields }: Partial<NewRow<'requests'>> & { accepted_at: number },
): Promise<void> {
  await db.insertInto('accounts').values({ id: 'a', email: null, created_at: accepted_at }).execute()
  const request = { id: 'r', account_id: 'a', endpoint: 'e', idempotency_key: null, body_hash: '', response: '' }
  await insertRequest(db, { ...request, accepted_at, ...fields })
}

export async function insertTransfer(db: Db, transfer: NewRow<'transfers'>): Promise<void> {
  await stateDb(db).insertInto('transfers').values(transfer).execute()
}

export async function insertTransaction(db: Db, transaction: NewRow<'transactions'>): Promise<void> {
  await stateDb(db).insertInto('transactions').values(transaction).execute()
}
