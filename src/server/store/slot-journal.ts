import type { SolanaBlockchain } from '../../api/blockchains.ts'

import type { Db } from './schema.ts'

/** A block of an embedded Solana chain as it is kept: enough to execute it again with the same outcome. */
export interface JournalledSlot {
  /** Slots without transactions are not kept: numbers grow, with gaps. */
  number: number
  /** Unix seconds, what the clock tells to programs. */
  timestamp: number
  /** Raw transactions (base64) in the order of their execution, those that fail included. */
  transactions: readonly string[]
}

/** Where an embedded chain keeps its blocks: the truth from which its accounts are rebuilt. */
export interface SlotJournal {
  /** Unix seconds of slot 0, set when the chain was first used. */
  readonly genesisTimestamp: number
  /** Durable when it resolves. Called before the block is executed, one block at a time, in growing order. */
  append(slot: JournalledSlot): Promise<void>
  find(number: number): Promise<JournalledSlot | null>
  /** Every block above a slot in order, in pages, so that a long chain doesn't fill the memory. */
  slots(after: number): AsyncIterable<JournalledSlot>
}

const PAGE = 100

/** The blocks of an embedded Solana chain, kept in the database: what it is rebuilt from after any kill. */
export function slotJournal(db: Db, blockchain: SolanaBlockchain, genesisTimestamp: number): SlotJournal {
  return {
    genesisTimestamp,

    async append({ number, timestamp, transactions }) {
      await db
        .insertInto('chain_blocks')
        .values({ blockchain, number, timestamp, transactions: transactions.join('\n'), hash: null })
        .execute()
    },

    async find(number) {
      const row = await db
        .selectFrom('chain_blocks')
        .select(['number', 'timestamp', 'transactions'])
        .where('blockchain', '=', blockchain)
        .where('number', '=', number)
        .executeTakeFirst()
      return row === undefined ? null : { ...row, transactions: row.transactions.split('\n') }
    },

    async *slots(after) {
      for (let last = after; ; ) {
        const rows = await db
          .selectFrom('chain_blocks')
          .select(['number', 'timestamp', 'transactions'])
          .where('blockchain', '=', blockchain)
          .where('number', '>', last)
          .orderBy('number')
          .limit(PAGE)
          .execute()
        for (const row of rows) {
          yield { ...row, transactions: row.transactions.split('\n') }
          last = row.number
        }
        if (rows.length < PAGE) return
      }
    },
  }
}
