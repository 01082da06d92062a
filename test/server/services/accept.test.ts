import { beforeAll, expect, it } from 'vitest'
import { accept } from '../../../src/server/services/accept.ts'
import { badRequestError } from '../../../src/server/services/refusals.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { temporaryStore } from '../../helpers/backend.ts'
import { whenFileDone } from '../../helpers/clean-up.ts'

let store: Store

beforeAll(async () => {
  store = await temporaryStore(whenFileDone)
  await store.db.insertInto('accounts').values({ id: 'a', email: null, created_at: 1 }).execute()
})

const request = { accountId: 'a', endpoint: 'transfernft', body: {}, idempotencyKey: null, requestId: 'r' }
const write = async () => ({ id: 'new' })
const prepare = async () => {
  throw badRequestError('a transfer of this NFT is pending')
}

it('returns the existing operation if it was accepted during the checks and made one fail', async () => {
  const answers = [null, { id: 'existing' }]
  const findExisting = async () => answers.shift() ?? null
  const accepted = await accept(store, request, 1, { findExisting, prepare, write })
  expect(accepted.response).toEqual({ id: 'existing' })
})

it('rejects a request if another operation makes a check fail', async () => {
  const accepted = accept(store, { ...request, requestId: 's' }, 1, { findExisting: async () => null, prepare, write })
  await expect(accepted).rejects.toThrow('is pending')
})
