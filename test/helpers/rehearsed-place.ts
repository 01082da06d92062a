import { createTestCollection, showCollection, until } from './backend.ts'
import { whenFileDone } from './clean-up.ts'
import { setUpNetwork } from './network-backend.ts'
import { startPublicNetwork } from './public-network.ts'

interface RehearsedPlace {
  dataDir: string
  contract: string
  remove(): Promise<void>
}

let placePromise: Promise<RehearsedPlace> | undefined

/** A stopped backend whose polygon is a network behind an RPC URL, with a collection there; the same for all tests. */
export async function rehearsedPlace(): Promise<RehearsedPlace> {
  if (placePromise === undefined) {
    placePromise = make()
    whenFileDone(async () => {
      const place = placePromise
      placePromise = undefined
      await (await place)?.remove()
    })
  }
  return await placePromise
}

async function make(): Promise<RehearsedPlace> {
  const network = await startPublicNetwork()
  const place = await setUpNetwork(network)
  const stopMining = network.mineEvery(30)
  const backend = await place.start()
  try {
    const { id, address } = await createTestCollection(backend)
    await until(
      () => showCollection(backend, id),
      ({ status }) => status === 'deployed',
    )
    return {
      dataDir: place.dataDir,
      contract: address,
      async remove() {
        await place.remove()
        await network.close()
      },
    }
  } finally {
    await backend.close()
    await stopMining()
  }
}
