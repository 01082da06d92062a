import { expect } from 'vitest'
import { startEmbeddedChain } from '../../src/server/chain/evm/embedded/embedded-chain.ts'
import type { Hex } from '../../src/server/chain/evm/network.ts'
import { blockJournal } from '../../src/server/store/block-journal.ts'
import type { TransactionRow } from '../../src/server/store/transactions.ts'
import { freshDataDir, withStore } from './backend.ts'
import { memoryBlockJournal } from './memory-block-journal.ts'

/**
 * Checks the polygon data of a stopped backend: replaying the journal on a fresh chain gives the same blocks, and the
 * nonces of the signers have no gaps.
 */
export function expectLedger(dataDir: string): Promise<{ blocks: number; transactions: TransactionRow[] }> {
  return withStore(dataDir, async ({ db }) => {
    const chain = await db
      .selectFrom('chains')
      .selectAll()
      .where('blockchain', '=', 'polygon')
      .executeTakeFirstOrThrow()
    const recorded = []
    for await (const block of blockJournal<Hex>(db, 'polygon', chain.genesis_timestamp).blocks()) recorded.push(block)
    const journal = { ...memoryBlockJournal(recorded.map((block) => ({ ...block, hash: null }))) }
    Object.defineProperty(journal, 'genesisTimestamp', { value: chain.genesis_timestamp })
    const scratch = await freshDataDir()
    const replayed = await startEmbeddedChain({ blockchain: 'polygon', chainId: 137, journal, stateDir: scratch.path })
    expect(journal.hashes()).toEqual(recorded.map((block) => block.hash))
    await replayed.close()
    await scratch.remove()
    const select = db.selectFrom('transactions').selectAll().where('nonce', 'is not', null)
    const transactions = await select.orderBy('nonce').execute()
    for (const signer of new Set(transactions.map((transaction) => transaction.signer))) {
      const nonces = transactions.filter((transaction) => transaction.signer === signer).map(({ nonce }) => nonce)
      expect(nonces).toEqual(nonces.map((_, index) => index))
    }
    return { blocks: recorded.length, transactions }
  })
}
