import { join } from 'node:path'
import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import type { SecretLocation } from '../../data-dir/secret-in-file.ts'
import { blockJournal } from '../../store/block-journal.ts'
import { recordEmbeddedChain } from '../../store/chains.ts'
import type { Db } from '../../store/schema.ts'
import { NO_CLUSTERS } from './clusters.ts'
import type { EmbeddedSolana, EmbeddedSolanaEvent } from './embedded/embedded-solana.ts'
import { loadLiteSvm } from './embedded/load-litesvm.ts'
import type { SolanaNetwork } from './network.ts'
import type { RemoteClusters } from './remote/remote-clusters.ts'
import { openEmbeddedSolanaSigner, type SolanaSigner } from './solana-signer.ts'

/**
 * The Solana chains of a backend: embedded chains, and clusters behind RPC URLs. On first use, an embedded chain is
 * loaded, and is created or replayed from its journal.
 */
export interface SolanaChains {
  readonly clusters: RemoteClusters
  /** Stops the running embedded chains. They start again on the next use. */
  pause(): Promise<void>
  /** Checks whether this machine can run an embedded chain. Rejects with `native_missing` if it can't. */
  check(blockchain: SolanaBlockchain): Promise<void>
  /** Returns the signer's address, from which token addresses are derived. Rejects for a cluster that isn't set up. */
  address(blockchain: SolanaBlockchain): Promise<string>
  signer(blockchain: SolanaBlockchain): Promise<SolanaSigner>
  /**
   * Returns the number of tokens that the signer can pay for, without its pending transactions. Returns Infinity on an
   * embedded chain.
   */
  affordable(blockchain: SolanaBlockchain): Promise<number>
  network(blockchain: SolanaBlockchain): Promise<SolanaNetwork>
  close(): Promise<void>
}

export interface SolanaChainsOptions {
  db: Db
  /** The cluster's store of the signer's key; null to use the data directory. */
  store: SecretLocation['store']
  dataDir: string
  /**
   * Checks that this process may run an embedded chain.
   *
   * @throws GdnError if another process runs the embedded chains
   */
  refuseUnlessOurs(blockchain: SolanaBlockchain): void
  now: () => number
  onEvent: (blockchain: SolanaBlockchain, event: EmbeddedSolanaEvent) => void
  clusters?: RemoteClusters
}

export function createSolanaChains(options: SolanaChainsOptions): SolanaChains {
  const { db, store, dataDir, now, onEvent, refuseUnlessOurs, clusters = NO_CLUSTERS } = options
  const started = new Map<SolanaBlockchain, Promise<EmbeddedSolana>>()
  const closing = new AbortController()
  let signer: Promise<SolanaSigner> | undefined
  /** Whether litesvm was found. Cached, because every request checks this, and finding a loaded module takes 0.1 ms. */
  let isLoaded = false

  const embeddedSigner = () => {
    if (signer === undefined) {
      signer = openEmbeddedSolanaSigner(dataDir, store)
      signer.catch(() => {
        signer = undefined
      })
    }
    return signer
  }

  const start = async (blockchain: SolanaBlockchain) => {
    const { address } = await embeddedSigner()
    const { genesis_timestamp } = await recordEmbeddedChain(db, blockchain, address, now())
    const { startEmbeddedSolana } = await import('./embedded/embedded-solana.ts')
    return startEmbeddedSolana({
      blockchain,
      journal: blockJournal(db, blockchain, genesis_timestamp),
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
      if (isLoaded || clusters.has(blockchain)) return
      loadLiteSvm()
      isLoaded = true
    },

    async address(blockchain) {
      return clusters.has(blockchain) ? await clusters.address(blockchain) : (await embeddedSigner()).address
    },

    signer: (blockchain) => (clusters.has(blockchain) ? clusters.signer(blockchain) : embeddedSigner()),

    async affordable(blockchain) {
      return clusters.has(blockchain) ? await clusters.affordable(blockchain) : Number.POSITIVE_INFINITY
    },

    async network(blockchain) {
      if (closing.signal.aborted) throw new Error('the backend is shutting down')
      if (clusters.has(blockchain)) return clusters.network(blockchain)
      refuseUnlessOurs(blockchain)
      let network = started.get(blockchain)
      if (network === undefined) {
        network = start(blockchain)
        started.set(blockchain, network)
        // A failed start is retried on the next use.
        network.catch(() => started.delete(blockchain))
      }
      return await network
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
