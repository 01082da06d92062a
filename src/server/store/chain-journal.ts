import type { Hex } from 'viem'
import type { EvmBlockchain } from '../../api/blockchains.ts'
import type { Db } from './schema.ts'

/** A block of an embedded chain as it is kept: enough to mine it again with the same hash. */
export interface JournalledBlock {
  number: number
  /** Unix seconds, as given to `evm_mine`. */
  timestamp: number
  /** The raw transactions that were handed to the node before this block was mined, in order. */
  transactions: readonly Hex[]
  /** Known after mining; null when the process died in between. Replay must arrive at the same one. */
  hash: Hex | null
}

/** Where an embedded chain keeps its blocks: the truth from which a fresh node is rebuilt. */
export interface BlockJournal {
  /** Unix seconds of the fixed genesis, set when the chain was first used. */
  readonly genesisTimestamp: number
  /** Durable when it resolves. Called before the block is mined, one block at a time, numbers from 1 without a gap. */
  append(block: Omit<JournalledBlock, 'hash'>): Promise<void>
  /** Need not be durable: a replay finds it again. May be called while `blocks` is being read. */
  recordHash(number: number, hash: Hex): Promise<void>
  /** Every block in order from 1, in pages, so that a long chain doesn't fill the memory. */
  blocks(): AsyncIterable<JournalledBlock>
}

const PAGE = 500

/** The blocks of an embedded chain, kept in the database: what it is rebuilt from after any kill. */
export function chainJournal(db: Db, blockchain: EvmBlockchain, genesisTimestamp: number): BlockJournal {
  return {
    genesisTimestamp,

    async append({ number, timestamp, transactions }) {
      await db
        .insertInto('chain_blocks')
        .values({ blockchain, number, timestamp, transactions: transactions.join('\n'), hash: null })
        .execute()
    },

    async recordHash(number, hash) {
      await db
        .updateTable('chain_blocks')
        .set({ hash })
        .where('blockchain', '=', blockchain)
        .where('number', '=', number)
        .execute()
    },

    async *blocks(): AsyncGenerator<JournalledBlock> {
      for (let after = -1; ; ) {
        const rows = await db
          .selectFrom('chain_blocks')
          .select(['number', 'timestamp', 'transactions', 'hash'])
          .where('blockchain', '=', blockchain)
          .where('number', '>', after)
          .orderBy('number')
          .limit(PAGE)
          .execute()
        for (const row of rows) {
          const transactions = row.transactions === '' ? [] : (row.transactions.split('\n') as Hex[])
          yield { ...row, transactions, hash: row.hash as Hex | null }
          after = row.number
        }
        if (rows.length < PAGE) return
      }
    },
  }
}
