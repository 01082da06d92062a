import { join } from 'node:path'
import { BLOCKCHAINS, type Blockchain, type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import { transactionUrl } from '../../core/block-explorer.ts'
import { GdnError } from '../../core/errors.ts'
import type { SecretPlace } from '../data-dir/kept-secret.ts'
import { blockJournal } from '../store/block-journal.ts'
import { findChain, rememberChain } from '../store/chains.ts'
import type { Db } from '../store/schema.ts'
import type { EmbeddedChain, EmbeddedChainEvent } from './evm/embedded/embedded-chain.ts'
import type { LazySigners } from './evm/embedded/embedded-signers.ts'
import { endOrphans } from './evm/embedded/orphans.ts'
import type { EvmNetwork, Hex } from './evm/network.ts'
import type { RemoteChains } from './evm/remote/remote-chains.ts'
import { type AskSigning, EMBEDDED_FEES, type FindSigner, signerAt } from './evm/signers.ts'
import { NO_CLUSTERS } from './solana/clusters.ts'
import type { EmbeddedSolanaEvent } from './solana/embedded/embedded-solana.ts'
import type { RemoteClusters } from './solana/remote/remote-clusters.ts'
import { createSolanaChains, type SolanaChains } from './solana/solana-chains.ts'

/** The chains of a backend: embedded ones, whose nodes are started when they are first needed, and those behind RPC URLs. */
export interface Chains {
  readonly signing: AskSigning
  readonly findSigner: FindSigner
  /** Whether every chain is one of ours, where nothing is worth anything. */
  readonly embedded: boolean
  readonly solana: SolanaChains
  /** Those that are reached by RPC URL. */
  readonly remote: RemoteChains
  /**
   * The factory of a blockchain. Of an embedded one it is known before anything is deployed, and the chain is remembered
   * on its first use; rejects for a network that wasn't set up.
   */
  factory(db: Db, blockchain: EvmBlockchain): Promise<Hex>
  /** The network of a blockchain; an embedded one's node is started where it isn't running yet. */
  network(blockchain: EvmBlockchain): Promise<EvmNetwork>
  /**
   * Whether this process works on a blockchain: always where it has the data to itself; where several share it, each
   * on networks by RPC URL, and one of them on the embedded ones.
   */
  serves(blockchain: Blockchain): boolean
  /** This process runs the embedded chains from now on, or no longer: then they are ended. */
  own(owned: boolean): Promise<void>
  /** Where people look at a transaction; null where the settings name nothing. */
  transactionUrl(blockchain: Blockchain, hash: string): string | null
  /** Calls back whenever a chain has new blocks; `listener` must not throw. */
  onBlocks(listener: (blockchain: EvmBlockchain) => void): void
  close(): Promise<void>
}

export interface ChainsOptions {
  db: Db
  /** The database, where several processes share it; the embedded chains are then another's until `own`. */
  postgresStore?: SecretPlace['store']
  /** Of all blockchains, those that this process works on; by default all. */
  only?: ReadonlySet<Blockchain> | undefined
  dataDir: string
  signers: LazySigners
  remote: RemoteChains
  clusters?: RemoteClusters | undefined
  now: () => number
  onEvent: (blockchain: Blockchain, event: EmbeddedChainEvent | EmbeddedSolanaEvent) => void
  /** Stands between the backend and each network that it uses. */
  wrapNetwork?: (network: EvmNetwork) => EvmNetwork
}

/** One process runs the embedded chains of a database, and it isn't this one. */
export class RunElsewhere extends GdnError {
  constructor(blockchain: Blockchain) {
    super('unreachable', `the embedded chain ${blockchain} is run by another process of this database`, {
      hint: 'ask that one, or give the network by RPC URL: then every process reaches it',
    })
  }
}

const same = (network: EvmNetwork) => network

/** Also ends the nodes that a killed backend of this data dir left behind. */
export async function openChains({
  db,
  postgresStore = null,
  only,
  dataDir,
  signers,
  remote,
  clusters = NO_CLUSTERS,
  now,
  onEvent,
  wrapNetwork = same,
}: ChainsOptions): Promise<Chains> {
  const stateDir = join(dataDir, 'chains')
  const started = new Map<EvmBlockchain, Promise<EmbeddedChain>>()
  const closing = new AbortController()
  const listeners: ((blockchain: EvmBlockchain) => void)[] = []
  let owned = postgresStore === null
  if (owned) await endOrphans(stateDir)
  const refuseUnlessOurs = (blockchain: Blockchain) => {
    if (owned) return
    throw new RunElsewhere(blockchain)
  }
  const solana = createSolanaChains({ db, store: postgresStore, dataDir, now, onEvent, refuseUnlessOurs, clusters })

  const remember = async (on: Db, blockchain: EvmBlockchain) => {
    const known = await findChain(on, blockchain)
    if (known !== null) return known
    const [{ factoryAddress }, { admin }] = await Promise.all([import('./evm/factory.ts'), signers()])
    await rememberChain(on, {
      blockchain,
      genesis_timestamp: Math.floor(now() / 1000),
      factory_address: factoryAddress(admin.address),
      created_at: now(),
    })
    const row = await findChain(on, blockchain)
    if (row === null) throw new Error(`the chain ${blockchain} was not remembered`)
    return row
  }

  const start = async (blockchain: EvmBlockchain) => {
    const { genesis_timestamp } = await remember(db, blockchain)
    const { startEmbeddedChain } = await import('./evm/embedded/embedded-chain.ts')
    return await startEmbeddedChain({
      blockchain,
      chainId: BLOCKCHAINS[blockchain].chainId,
      journal: blockJournal<Hex>(db, blockchain, genesis_timestamp),
      stateDir,
      now,
      onEvent: (event) => onEvent(blockchain, event),
      onBlocks() {
        for (const listener of listeners) listener(blockchain)
      },
      signal: closing.signal,
    })
  }

  const network = (blockchain: EvmBlockchain) => {
    if (closing.signal.aborted) return Promise.reject(new Error('the backend is shutting down'))
    if (remote.has(blockchain)) return Promise.resolve(wrapNetwork(remote.network(blockchain)))
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
    return network.then(wrapNetwork)
  }

  return {
    embedded: remote.blockchains.length === 0 && clusters.blockchains.length === 0,
    solana,
    remote,

    async factory(on, blockchain) {
      if (remote.has(blockchain)) return await remote.factory(on, blockchain)
      return (await remember(on, blockchain)).factory_address as Hex
    },

    network,

    async signing(blockchain) {
      if (remote.has(blockchain)) return await remote.signing(blockchain)
      const { chainId, publicNetwork } = await network(blockchain)
      return { chainId, signers: await signers(), fees: (await publicNetwork?.suggestFees()) ?? EMBEDDED_FEES }
    },

    findSigner: async (blockchain, address) =>
      remote.has(blockchain) ? await remote.findSigner(blockchain, address) : signerAt(await signers(), address),

    serves(blockchain) {
      if (only !== undefined && !only.has(blockchain)) return false
      return owned || (isEvm(blockchain) ? remote.has(blockchain) : clusters.has(blockchain))
    },

    async own(now) {
      if (now) await endOrphans(stateDir)
      owned = now
      if (now) return
      const running = [...started.values()]
      started.clear()
      await Promise.allSettled([...running.map(async (network) => (await network).close()), solana.pause()])
    },

    transactionUrl(blockchain, hash) {
      const blockExplorer = isEvm(blockchain)
        ? remote.blockExplorerUrl(blockchain)
        : clusters.blockExplorerUrl(blockchain)
      return blockExplorer === null ? null : transactionUrl(blockExplorer, hash)
    },

    onBlocks(listener) {
      listeners.push(listener)
    },

    async close() {
      closing.abort()
      const closed = [...started.values()].map(async (network) => (await network).close())
      await Promise.allSettled([...closed, solana.close(), remote.close()])
    },
  }
}
