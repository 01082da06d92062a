import { join } from 'node:path'
import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import type { SecretPlace } from '../../data-dir/kept-secret.ts'
import { blockJournal } from '../../store/block-journal.ts'
import { findChain, rememberChain } from '../../store/chains.ts'
import type { Db } from '../../store/schema.ts'
import { NO_CLUSTERS } from './clusters.ts'
import type { EmbeddedSolana, EmbeddedSolanaEvent } from './embedded/embedded-solana.ts'
import { loadLiteSvm } from './embedded/load-litesvm.ts'
import type { SolanaNetwork } from './network.ts'
import type { RemoteClusters } from './remote/remote-clusters.ts'
import { openEmbeddedSolanaSigner, type SolanaSigner } from './signer.ts'

/**
 * The Solana chains of a backend: embedded ones, of which nothing is loaded, made or replayed before it is needed, and
 * clusters behind RPC URLs.
 */
export interface SolanaChains {
  readonly clusters: RemoteClusters
  /** Ends the embedded ones that run, to be started again by whoever asks. */
  pause(): Promise<void>
  /** Rejects with `native_missing` where this machine can't run an embedded one. */
  check(blockchain: SolanaBlockchain): Promise<void>
  /** Of who signs: the addresses of tokens follow from it. Rejects for a cluster that wasn't set up. */
  address(blockchain: SolanaBlockchain): Promise<string>
  signer(blockchain: SolanaBlockchain): Promise<SolanaSigner>
  /** Number of tokens that the signer can pay for, not counting pending transactions. */
  affordable(blockchain: SolanaBlockchain): Promise<number>
  network(blockchain: SolanaBlockchain): Promise<SolanaNetwork>
  close(): Promise<void>
}

export interface SolanaChainsOptions {
  db: Db
  /** Where the signer's key is kept in common; null: in the data dir. */
  store: SecretPlace['store']
  dataDir: string
  /** @throws GdnError where another process runs the embedded chains */
  refuseUnlessOurs(blockchain: SolanaBlockchain): void
  now: () => number
  onEvent: (blockchain: SolanaBlockchain, event: EmbeddedSolanaEvent) => void
  clusters?: RemoteClusters
}

export function createSolanaChains(options: SolanaChainsOptions): SolanaChains {
  const { db, store, dataDir, now, onEvent, refuseUnlessOurs, clusters = NO_CLUSTERS } = options
  const started = new Map<SolanaBlockchain, Promise<EmbeddedSolana>>()
  const closing = new AbortController()
  let opened: Promise<SolanaSigner> | undefined

  const embeddedSigner = () => {
    if (opened === undefined) {
      opened = openEmbeddedSolanaSigner(dataDir, store)
      opened.catch(() => {
        opened = undefined
      })
    }
    return opened
  }

  const start = async (blockchain: SolanaBlockchain) => {
    const { address } = await embeddedSigner()
    const at = now()
    await rememberChain(db, {
      blockchain,
      genesis_timestamp: Math.floor(at / 1000),
      factory_address: address,
      created_at: at,
    })
    const known = await findChain(db, blockchain)
    if (known === null) throw new Error(`the chain ${blockchain} was not remembered`)
    const { startEmbeddedSolana } = await import('./embedded/embedded-solana.ts')
    return startEmbeddedSolana({
      blockchain,
      journal: blockJournal(db, blockchain, known.genesis_timestamp),
      payer: address,
      snapshotPath: join(dataDir, 'chains', `${blockchain}.snapshot`),
      now,
      onEvent: (event) => onEvent(blockchain, event),
      signal: closing.signal,
    })
  }

  return {
    clusters,

    async check(blockchain) {
      if (!clusters.has(blockchain)) loadLiteSvm()
    },

    async address(blockchain) {
      return clusters.has(blockchain) ? await clusters.address(blockchain) : (await embeddedSigner()).address
    },

    signer: (blockchain) => (clusters.has(blockchain) ? clusters.signer(blockchain) : embeddedSigner()),

    async affordable(blockchain) {
      return clusters.has(blockchain) ? await clusters.affordable(blockchain) : Number.POSITIVE_INFINITY
    },

    network(blockchain) {
      if (closing.signal.aborted) return Promise.reject(new Error('the backend is shutting down'))
      if (clusters.has(blockchain)) return Promise.resolve(clusters.network(blockchain))
      try {
        refuseUnlessOurs(blockchain)
      } catch (error) {
        return Promise.reject(error)
      }
      let network = started.get(blockchain)
      if (network === undefined) {
        network = start(blockchain)
        started.set(blockchain, network)
        // A start that failed is tried again by whoever asks next.
        network.catch(() => started.delete(blockchain))
      }
      return network
    },

    async pause() {
      const running = [...started.values()]
      started.clear()
      await Promise.allSettled(running.map(async (network) => (await network).close()))
    },

    async close() {
      closing.abort()
      const closed = [...started.values()].map(async (network) => (await network).close())
      await Promise.allSettled([...closed, clusters.close()])
    },
  }
}
