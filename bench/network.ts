import { setTimeout as sleep } from 'node:timers/promises'
import { setUpNetwork } from '../test/helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../test/helpers/public-network.ts'
import { seededFrom } from '../test/helpers/seed.ts'
import { type Backend, type Collection, createCollection, serve, untilDeployed } from './backend.ts'
import { type Figure, report } from './figures.ts'

const BLOCK_MS = 2_000
const BLOCK_GAS = 60_000_000
const CONFIRMATIONS = 12
const FINALITY = 64
const SIGNERS = 4
const CLIENTS = 16
const IN_FLIGHT = 16
/** Interval of blocks while nothing is measured. */
const FAST_MS = 20
/** No block is mined while NFTs are accepted. */
const HALTED_MS = 1e9
const DROPPED_SHARE = 0.05
/** Average number of blocks between two reorgs. */
const REORG_EVERY = 20
const DEEPEST = 3

const ONE_AT_A_TIME = { inFlight: 1, collections: 1, nfts: 400 }
const ONE_COLLECTION = { inFlight: IN_FLIGHT, collections: 1, nfts: 8_000 }
const FOUR_COLLECTIONS = { inFlight: IN_FLIGHT, collections: 4, nfts: 24_000 }

/**
 * NFTs per second from acceptance to `deployed` on a simulated public network: an anvil with slow blocks, dropped
 * transactions and reorgs. Each NFT has its own receiver. The first block is mined once all of them are accepted.
 */
export async function measure(): Promise<Figure[]> {
  const real = await startPublicNetwork(['--gas-limit', String(BLOCK_GAS)])
  const place = await setUpNetwork(real, { signers: SIGNERS })
  const blocks = produceBlocks(real)
  const run = async ({ inFlight, collections, nfts }: typeof ONE_COLLECTION): Promise<number> => {
    const depths = { confirmations: CONFIRMATIONS, finality: FINALITY, poll_seconds: 1 }
    await place.write({ urls: [real.url], more: { ...depths, mints_in_flight: inFlight } })
    blocks.every(FAST_MS)
    const backend = await serve(place.dataDir)
    try {
      const all = await Promise.all(Array.from({ length: collections }, () => createCollection(backend)))
      blocks.every(HALTED_MS)
      const ids = await orderForEach(backend, all, nfts)
      blocks.every(BLOCK_MS)
      const since = performance.now()
      await untilDeployed(backend, ids)
      return nfts / ((performance.now() - since) / 1000)
    } finally {
      await backend.end()
    }
  }
  try {
    const facts = `${IN_FLIGHT} in flight`
    const [alone, one] = [await run(ONE_AT_A_TIME), await run(ONE_COLLECTION)]
    const figures = report([
      { what: `one collection, ${facts}`, unit: '/s', samples: [one], budget: { atLeast: 100 } },
      {
        ...{ what: '  the same', unit: '/s', samples: [one] },
        against: { what: 'one mint at a time', samples: [alone] },
      },
    ])
    const four = await run(FOUR_COLLECTIONS)
    return [
      ...figures,
      {
        ...{ what: `four collections and signers, ${facts}`, unit: '/s', samples: [four] },
        ...{ against: { what: 'one collection', samples: [one] } },
      },
      { what: '  the same', unit: '/s', samples: [four], budget: { atLeast: 300 } },
    ]
  } finally {
    await blocks.stop()
    await place.remove()
    await real.close()
  }
}

/** Sends a request for each NFT, all with different receivers. Returns the IDs in any order. */
async function orderForEach(backend: Backend, collections: readonly Collection[], nfts: number): Promise<string[]> {
  const ids: string[] = []
  let next = 0
  const client = async () => {
    while (next < nfts) {
      next += 1
      const { contract_address, blockchain } = collections[next % collections.length] as Collection
      const receiver_wallet_address = `0x${(10n ** 40n + BigInt(next)).toString(16).padStart(40, '0')}`
      const metadata = [{ title: `NFT ${next}`, description: 'of a drop', file_fields: [] }]
      const body = { contract_address, blockchain, receiver_wallet_address, metadata }
      for (const nft of (await backend.post('/api/v1/createnft', body)).nfts) ids.push(nft.nft_gdn_ids)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return ids
}

/** Mines blocks at intervals, drops some of the new transactions, and has reorgs of 1 to 3 blocks. */
function produceBlocks(real: PublicNetwork) {
  const random = seededFrom(1)
  let everyMs = FAST_MS
  let wake = () => {}
  let running = true
  const seen = new Set<string>()
  const loop = (async () => {
    let last = performance.now()
    while (running) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      const left = () => Math.max(0, last + everyMs - performance.now())
      await Promise.race([sleep(left(), undefined, { ref: false }), woken])
      if (left() > 0) continue
      last = performance.now()
      for (const hash of await real.pool()) {
        if (seen.has(hash)) continue
        seen.add(hash)
        if (random() < DROPPED_SHARE) await real.call('anvil_dropTransaction', [hash])
      }
      if (everyMs === BLOCK_MS && random() < 1 / REORG_EVERY) await real.reorg(1 + Math.floor(random() * DEEPEST))
      await real.mine()
    }
  })()
  return {
    every(ms: number) {
      everyMs = ms
      wake()
    },
    async stop() {
      running = false
      wake()
      await loop
    },
  }
}
