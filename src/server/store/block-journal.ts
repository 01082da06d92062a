import type { Blockchain } from '../../api/blockchains.ts'
import type { Db } from './schema.ts'

/** A stored block of an embedded chain, with everything needed to execute it again with the same result. */
export interface JournalledBlock<Raw extends string = string> {
  number: number
  /** Unix seconds by the chain's clock. */
  timestamp: number
  /** Raw transactions in execution order: hexadecimal, on Solana base64. */
  transactions: readonly Raw[]
}

/** A block of an EVM chain. */
export interface HashedBlock<Raw extends string = string> extends JournalledBlock<Raw> {
  /** Known after mining; null if the process died in between. A replay must produce the same hash. */
  hash: string | null
}

/** The stored blocks of an embedded chain, from which it is rebuilt after any crash. */
export interface BlockJournal<Raw extends string = string> {
  /** Unix seconds of the genesis, set on the first use of the chain. */
  readonly genesisTimestamp: number
  /**
   * Stores a block; durable when it resolves. Called before the block is executed, one block at a time, in ascending
   * order.
   */
  append(block: JournalledBlock<Raw>): Promise<void>
  /**
   * Records a block's hash. It need not be durable, because a replay computes it again. May be called while `blocks` is
   * being read.
   */
  recordHash(number: number, hash: string): Promise<void>
  find(number: number): Promise<HashedBlock<Raw> | null>
  /** Yields all blocks above a number in order, in pages, so that a long chain doesn't fill the memory. */
  blocks(after?: number): AsyncIterable<HashedBlock<Raw>>
}

const PAGE = 200

/** Opens the journal of an embedded chain in the database. */
export function blockJournal<Raw extends string = string>(
  db: Db,
  blockchain: Blockchain,
  genesisTimestamp: number,
): BlockJournal<Raw> {
  const select = () =>
    db
      .selectFrom('chain_blocks')
      .select(['number', 'timestamp', 'transactions', 'hash'])
      .where('blockchain', '=', blockchain)
  const parse = <Row extends { transactions: string }>(row: Row) => ({
    ...row,
    transactions: row.transactions === '' ? [] : (row.transactions.split('\n') as Raw[]),
  })
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

    async find(number) {
      const row = await select().where('number', '=', number).executeTakeFirst()
      return row === undefined ? null : parse(row)
    },

    async *blocks(after = -1) {
      for (let last = after; ; ) {
        const rows = await select().where('number', '>', last).orderBy('number').limit(PAGE).execute()
        for (const row of rows) {
          yield parse(row)
          last = row.number
        }
        if (rows.length < PAGE) return
      }
    },
  }
}
