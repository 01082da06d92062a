import { serializeTransaction } from 'viem'
import { beforeEach, expect, it } from 'vitest'
import type { EvmNetwork, Hex, PublicNetwork } from '../../../src/server/chain/evm/network.ts'
import { createPublicObserver } from '../../../src/server/pipeline/evm/public-network/observe.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { temporaryStore, WALLETS } from '../../helpers/backend.ts'
import { insertTransaction } from '../../helpers/rows.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

// The nodes behind a URL disagree. A node that is wrong about a nonce must not cause a second mint.

const NOW = 1_800_000_000_000
const HEAD = 200
const [SIGNER, CONTRACT] = WALLETS
const BLOCK_HASH: Hex = `0x${'b'.repeat(64)}`
const RAW = serializeTransaction({ type: 'eip1559', chainId: 137, to: CONTRACT as Hex, gas: 100_000n })

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  await insertTransaction(store.db, {
    ...{ id: 't', blockchain: 'polygon', signer: SIGNER, nonce: 0, kind: 'factory', collection_id: null },
    ...{ start_id: null, token_count: 0, directory: null, raw: RAW, hash: '0xaa', state: 'signed' },
    ...{ block_number: null, block_hash: null, gas_used: null, created_at: NOW, next_attempt_at: NOW },
  })
})

/** What a poll of a rejected transaction finds: who used its nonce, or its own receipt in the newest block. */
type Poll = 'foreign' | 'unused' | 'mined'

/** Polls the transaction repeatedly. Resolves with its state after each poll. */
async function statesAfter(polls: readonly Poll[]): Promise<string[]> {
  const observe = createPublicObserver({ store, findSigner: async () => null, now: () => NOW, log: SILENT_LOG })
  const transaction = await store.db.selectFrom('transactions').selectAll().executeTakeFirstOrThrow()
  const states: string[] = []
  for (const poll of polls) {
    const receipt = {
      ...{
        transactionHash: '0xaa' as Hex,
        blockNumber: BigInt(HEAD),
        blockHash: BLOCK_HASH,
        feePaid: null,
        gasUsed: 1n,
      },
      status: 'success' as const,
    }
    const network: EvmNetwork = {
      ...{ blockchain: 'polygon', chainId: 137, confirmations: 3 },
      request: () => Promise.reject(new Error('unused')),
      broadcast: async (raws) => raws.map(() => ({ hash: '0xaa', outcome: 'rejected', reason: 'nonce too low' })),
      receipts: async (hashes) => hashes.map(() => (poll === 'mined' ? receipt : null)),
    }
    const publicNetwork: PublicNetwork = {
      ...{ pollMs: 1, finality: 8, stuckMs: 60_000, feeCap: 1n, mintsInFlight: 16, head: async () => HEAD },
      blockHashes: async (numbers) => numbers.map(() => BLOCK_HASH),
      logs: async () => ({ logs: [], hashes: [] }),
      nextNonce: async () => 1,
      isNonceForeign: async () => poll === 'foreign',
      balance: async () => 0n,
      suggestFees: async () => ({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }),
    }
    const [observation] = await observe(network, publicNetwork, [transaction])
    states.push(String(observation?.state))
  }
  return states
}

it('counts a nonce as lost only after two consecutive polls find it used by another transaction', async () => {
  expect(await statesAfter(['foreign', 'foreign'])).toEqual(['signed', 'lost'])
})

it.each(['unused', 'mined'] as const)('counts from the start if a poll in between finds it %s', async (between) => {
  const polls = ['foreign', between, 'foreign', 'foreign'] as const
  expect(await statesAfter(polls)).toEqual(['signed', 'signed', 'signed', 'lost'])
})
