import { beforeAll, expect, it } from 'vitest'
import { stateDb } from '../../../src/server/state/state-db.ts'
import { backendForFile, type TestBackend, withStore } from '../../helpers/backend.ts'
import { dynamicNfts, ended, historyOf, showTransaction, titles, update } from '../../helpers/updates.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

it('makes two updates of one NFT in their order after a reorg took the transactions of both', async () => {
  const { collection, ids } = await dynamicNfts(backend, ['a', 'b'])
  const [first = '', second = ''] = ids
  const updateIds: string[] = []
  for (const title of ['A', 'AA']) {
    updateIds.push(await update(backend, collection, first, title))
    await ended(backend, updateIds.at(-1) ?? '')
  }
  // As after a reorg, if another user of the key has taken the nonces of both.
  await withStore(backend.dataDir, ({ db }) =>
    stateDb(db)
      .updateTable('updates')
      .set({ status: 'initiated', step: 'sign', revision: null, transaction_id: null, returned: 1 })
      .where('id', 'in', updateIds)
      .execute(),
  )
  const other = await update(backend, collection, second, 'B')
  expect(await ended(backend, other)).toMatchObject({ status: 'deployed' })
  for (const id of updateIds) expect(await ended(backend, id)).toMatchObject({ status: 'deployed' })
  expect(await titles(backend, collection, ids)).toEqual({ chain: ['AA', 'B'], api: ['AA', 'B'] })
  const history = await historyOf(backend, first)
  const [before, after] = updateIds.map((id) => history.find((event) => event.transaction_gdn_id === id)?.revision)
  // The update of the other NFT may share the transaction of either.
  expect(before).toBe(3)
  expect(after).toBeGreaterThan(3)
  expect(await showTransaction(backend, updateIds[0] ?? '')).not.toMatchObject({ transaction_hash: null })
})
