import type { EvmBlockchain } from '../../api/blockchains.ts'
import type { BlockJournal, JournalledBlock } from '../chain/evm/embedded/block-journal.ts'
import type { Hex } from '../chain/evm/network.ts'
import type { Db } from './schema.ts'

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
