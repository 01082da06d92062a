/** @module-tag slow */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { deployedContracts } from '../../../src/server/setup/verify/contracts.ts'
import { stateDb } from '../../../src/server/state/state-db.ts'
import { findChain } from '../../../src/server/store/chains.ts'
import { createTestCollection, mint, plainMetadata, settled, withStore } from '../../helpers/backend.ts'
import { type NetworkPlace, setUpNetwork } from '../../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'

let real: PublicNetwork
let place: NetworkPlace
let factory: Hex

// The factory in use was named. The database has a deployment of another one, which had no effect.
beforeAll(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  factory = await withStore(place.dataDir, async ({ db }) => {
    await stateDb(db)
      .updateTable('transactions')
      .set({ nonce: 99, state: 'lost' })
      .where('kind', '=', 'factory')
      .execute()
    return (await findChain(db, 'polygon'))?.factory_address as Hex
  })
})
afterAll(async () => {
  await place?.remove()
  await real?.close()
})

it('makes collections with the factory that was named after a deployment without effect', async () => {
  const stopMining = real.mineEvery(30)
  const backend = await place.start()
  try {
    const collection = await createTestCollection(backend)
    expect(await settled(backend, await mint(backend, collection, plainMetadata(1)))).toMatchObject([
      { status: 'deployed', token_id: '1' },
    ])
  } finally {
    await backend.close()
    await stopMining()
  }
})

it('verifies that factory without the deployment of the other one', async () => {
  const network = { blockchain: 'polygon', request: real.call, publicNetwork: null as never } as const
  const [found] = await withStore(place.dataDir, (store) => deployedContracts({ store, network }))
  expect(found).toMatchObject({ address: factory, constructorArguments: null, creationTransaction: null })
})
