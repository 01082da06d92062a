import type { Hex } from '../../src/server/chain/evm/network.ts'
import type { BlockJournal, HashedBlock } from '../../src/server/store/block-journal.ts'

/** A block journal in memory that a test can read, copy and make fail. */
export interface MemoryBlockJournal extends BlockJournal<Hex> {
  readonly entries: HashedBlock<Hex>[]
  /** Awaited before a block is written. Throw in it to fail the write. */
  beforeAppend: (number: number) => unknown
  /** Awaited when a block is durable, before `append` resolves. */
  afterAppend: (number: number) => unknown
  beforeRecordHash: (number: number) => unknown
  /** A copy of the durable state, as another process would find it now. */
  copy(): MemoryBlockJournal
  hashes(): (string | null)[]
}

export const GENESIS_TIMESTAMP = 1_750_000_000

/**
 * A journal for an embedded chain of a test.
 *
 * @example
 * const journal = memoryBlockJournal()
 * const chain = await startEmbeddedChain({ blockchain: 'polygon', chainId: 137, journal, stateDir })
 */
export function memoryBlockJournal(entries: readonly HashedBlock<Hex>[] = []): MemoryBlockJournal {
  const kept = entries.map((entry) => ({ ...entry }))
  const journal: MemoryBlockJournal = {
    genesisTimestamp: GENESIS_TIMESTAMP,
    entries: kept,
    beforeAppend: () => {},
    afterAppend: () => {},
    beforeRecordHash: () => {},
    async append(block) {
      await journal.beforeAppend(block.number)
      if (block.number !== kept.length + 1) throw new Error(`block ${block.number} after block ${kept.length}`)
      kept.push({ ...block, transactions: [...block.transactions], hash: null })
      await journal.afterAppend(block.number)
    },
    async recordHash(number, hash) {
      await journal.beforeRecordHash(number)
      const entry = kept[number - 1]
      if (entry === undefined) throw new Error(`block ${number} isn't in the journal`)
      entry.hash = hash
    },
    find: async (number) => kept[number - 1] ?? null,
    async *blocks() {
      for (const entry of [...kept]) yield { ...entry }
    },
    copy: () => memoryBlockJournal(kept),
    hashes: () => kept.map(({ hash }) => hash),
  }
  return journal
}
