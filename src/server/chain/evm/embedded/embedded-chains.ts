import { chainIdOf, type EvmBlockchain } from '../../../../api/blockchains.ts'
import { GdnError } from '../../../../core/errors.ts'
import { blockJournal } from '../../../store/block-journal.ts'
import { findChain, recordEmbeddedChain } from '../../../store/chains.ts'
import type { Db } from '../../../store/schema.ts'
import type { Hex } from '../network.ts'
import type { EmbeddedChain, EmbeddedChainEvent } from './embedded-chain.ts'
import type { LazySigners } from './embedded-signers.ts'

export interface EmbeddedChainsOptions {
  db: Db
  stateDir: string
  signers: LazySigners
  now: () => number
  onEvent: (blockchain: EvmBlockchain, event: EmbeddedChainEvent) => void
  signal: AbortSignal
}

/** Creates the embedded EVM chains of a backend, whose nodes start on first use. */
export function createEmbeddedChains({ db, stateDir, signers, now, onEvent, signal }: EmbeddedChainsOptions) {
  const started = new Map<EvmBlockchain, Promise<EmbeddedChain>>()
  const listeners: ((blockchain: EvmBlockchain) => void)[] = []

  const remember = async (on: Db, blockchain: EvmBlockchain) => {
    const chain = await findChain(on, blockchain)
    if (chain !== null) return chain
    const [{ factoryAddress }, { admin }] = await Promise.all([import('../factory.ts'), signers()])
    return await recordEmbeddedChain(on, blockchain, factoryAddress(admin.address), now())
  }

  const start = async (blockchain: EvmBlockchain) => {
    const chainId = chainIdOf(blockchain)
    if (chainId === null) throw new GdnError('invalid_config', `${blockchain} has no RPC URL in the configuration`)
    const { genesis_timestamp } = await remember(db, blockchain)
    const { startEmbeddedChain } = await import('./embedded-chain.ts')
    return await startEmbeddedChain({
      blockchain,
      chainId,
      journal: blockJournal<Hex>(db, blockchain, genesis_timestamp),
      stateDir,
      now,
      onEvent: (event) => onEvent(blockchain, event),
      onBlocks() {
        for (const listener of listeners) listener(blockchain)
      },
      signal,
    })
  }

  const close = () => [...started.values()].map(async (chain) => (await chain).close())

  return {
    /** Returns the record of a chain in the database, and adds it before the first use. */
    remember,

    /** Returns the running chain. Starts its node if it isn't running yet. */
    running(blockchain: EvmBlockchain): Promise<EmbeddedChain> {
      let chain = started.get(blockchain)
      if (chain === undefined) {
        chain = start(blockchain)
        started.set(blockchain, chain)
        // A failed start is retried on the next use.
        chain.catch(() => started.delete(blockchain))
      }
      return chain
    },

    onBlocks(listener: (blockchain: EvmBlockchain) => void): void {
      listeners.push(listener)
    },

    /** Ends the running nodes. They start again on the next use. */
    pause(): Promise<void>[] {
      const closed = close()
      started.clear()
      return closed
    },

    close,
  }
}
