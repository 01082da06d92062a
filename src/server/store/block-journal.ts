import type { Blockchain } from '../../api/blockchains.ts'
import type { Db } from './schema.ts'

/** A stored block of an embedded chain, with the data that is needed to replay it with the same result. */
export interface JournalledBlock<Raw extends string = string> {
  number: number
  /** Timestamp in Unix seconds, according to the chain's clock. */
  timestamp: number
  /** Raw transactions in execution order, in hex on EVM chains and in base64 on Solana. */
  transactions: readonly Raw[]
}

/** A stored block with its hash, which only EVM chains record. */
export interface HashedBlock<Raw extends string = string> extends JournalledBlock<Raw> {
  /**
   * The block's hash, which is known only after mining. Null if the process exited before the hash was recorded. A
   * replay must produce the same hash.
   */
  hash: string | null
}

/** The stored blocks of an embedded chain. After any crash, the chain is rebuilt from them. */
export interface BlockJournal<Raw extends string = string> {
  /** Time of the genesis block in Unix seconds, set when the chain is first used. */
  readonly genesisTimestamp: number
  /**
   * Stores a block, and resolves when the block is durable. Call this before the block is executed, for one block at a
   * time, in ascending order.
   */
  append(block: JournalledBlock<Raw>): Promise<void>
  /**
   * Records a block's hash. The record doesn't have to be durable, because a replay computes the hash again. Can be
   * called while `blocks` is being read.
   */
  recordHash(number: number, hash: string): Promise<void>
  find(number: number): Promise<HashedBlock<Raw> | null>
  /**
   * Yields all blocks above the given number, in order. Reads them in pages, so that a long chain doesn't fill the
   * memory.
   */
  blocks(after?: number): AsyncIterable<HashedBlock<Raw>>
}

const BLOCKS_PER_PAGE = 200

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
        const rows = await select().where('number', '>', last).orderBy('number').limit(BLOCKS_PER_PAGE).execute()
        for (const row of rows) {
          yield parse(row)
          last = row.number
        }
        if (rows.length < BLOCKS_PER_PAGE) return
      }
    },
  }
}
