import { randomBytes } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { startEmbeddedChain } from '../src/server/chain/evm/embedded/embedded-chain.ts'
import type { Hex } from '../src/server/chain/evm/network.ts'
import { blockJournal } from '../src/server/store/block-journal.ts'
import { findChain } from '../src/server/store/chains.ts'
import { openStore } from '../src/server/store/open-store.ts'
import { type Backend, createCollection, order, serve, untilDeployed, withFolder } from './backend.ts'
import type { Figure } from './figures.ts'
import { familyOf, memoryOf } from './processes.ts'

const TOKENS = 100_000
const IMAGES = 48
const CHAIN = { blockchain: 'polygon', chainId: 137 } as const

/**
 * Memory of all processes of a backend with this many NFTs on one chain, compared with a dev chain with the same
 * blocks.
 */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const minted = await mintAll(folder)
    const restarted = await restart(folder)
    const alone = await chainAlone(folder)
    const against = { what: 'RSS of the dev chain alone', samples: [alone.rss] }
    const inAll = (what: string, rss: number): Figure => ({ what, unit: 'MiB', samples: [rss], against, budget })
    const budget = { atMost: 3.3 }
    return [
      inAll('RSS of all processes, right after minting', minted.rss),
      { what: 'PSS of all processes, right after minting', unit: 'MiB', samples: [minted.pss] },
      { what: 'RSS of Node.js, right after minting', unit: 'MiB', samples: [minted.node] },
      inAll('RSS of all processes, after a restart', restarted.rss),
      { what: 'size of the data directory', unit: 'MiB', samples: [(await sizeOf(folder)) / 2 ** 20] },
    ]
  })
}

async function mintAll(folder: string) {
  const backend = await serve(folder)
  try {
    const images: string[] = []
    for (let index = 0; index < IMAGES; index++) images.push(await backend.upload(randomBytes(2000)))
    const image = (index: number) => images[index % IMAGES] ?? ''
    const collection = await createCollection(backend)
    await untilDeployed(backend, await order(backend, collection, { count: TOKENS, perRequest: 50, clients: 8, image }))
    return memoryOfBackend(backend)
  } finally {
    await backend.end()
  }
}

async function restart(folder: string) {
  const backend = await serve(folder)
  try {
    await backend.post('/rpc/polygon', { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] })
    return memoryOfBackend(backend)
  } finally {
    await backend.end()
  }
}

function memoryOfBackend({ pid }: Backend) {
  return { ...memoryOf(familyOf(pid)), node: memoryOf([pid]).rss }
}

/** Replays the same blocks on a separate node. */
async function chainAlone(folder: string) {
  const store = await openStore(join(folder, 'gdn.db'))
  try {
    const known = await findChain(store.db, CHAIN.blockchain)
    if (known === null) throw new Error('the data directory has no such chain')
    const journal = blockJournal<Hex>(store.db, CHAIN.blockchain, known.genesis_timestamp)
    const chain = await startEmbeddedChain({ ...CHAIN, journal, stateDir: join(folder, 'alone') })
    try {
      if (chain.pid === undefined) throw new Error('the chain is not running')
      return memoryOf([chain.pid])
    } finally {
      await chain.close()
    }
  } finally {
    await store.close()
  }
}

async function sizeOf(folder: string): Promise<number> {
  let size = 0
  for (const name of await readdir(folder, { recursive: true })) {
    const found = await stat(join(folder, name))
    if (found.isFile()) size += found.size
  }
  return size
}
