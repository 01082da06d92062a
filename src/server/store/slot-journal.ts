import type { SolanaBlockchain } from '../../api/blockchains.ts'
import type { SlotJournal } from '../chain/solana/embedded/slot-journal.ts'
import type { Db } from './schema.ts'

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
