import { beforeEach, expect, it } from 'vitest'
import type { Store } from '../../../src/server/store/open-store.ts'
import { temporaryStore } from '../../helpers/backend.ts'
import { addChangeable, burn, freeze, update } from '../../helpers/changes.ts'
import { gate } from '../../helpers/gate.ts'

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  await addChangeable(store.db)
})

it.each([
  ['a burn', 'an update', burn, update],
  ['a freeze', 'a burn', freeze, burn],
  ['an update', 'a burn', update, burn],
  ['an update', 'a freeze', update, freeze],
])('refuses %s of an NFT that has %s since its checks', async (_change, _other, change, other) => {
  const hold = gate()
  const refused = change(store, hold.pass)
  await hold.reached
  await other(store)
  hold.open()
  await expect(refused).rejects.toMatchObject({
    ...{
      status: 400,
      message: expect.stringContaining('check its outcome with gettransactions before you change the NFT again'),
    },
  })
})

it('refuses an update if the NFT has another revision than it replaces since its checks', async () => {
  const hold = gate()
  const refused = update(store, hold.pass)
  await hold.reached
  await store.db.updateTable('nfts').set({ revision: 1 }).execute()
  hold.open()
  await expect(refused).rejects.toMatchObject({ message: expect.stringContaining('the NFT has revision 1') })
})
