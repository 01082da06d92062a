import type { EvmNetwork, EvmReceipt, Hex, PublicNetwork } from '../../src/server/chain/evm/network.ts'
import { createObserver } from '../../src/server/pipeline/public-network/observe.ts'
import type { Store } from '../../src/server/store/open-store.ts'
import { claimSigned } from '../../src/server/store/transactions.ts'

export const BLOCK_HASH: Hex = `0x${'b'.repeat(64)}`
/** Number of the newest block, and of the newest that no reorg can undo. */
export const HEAD = 200
export const FINAL = 193
const REVERTED = 100

/** The parameters of an `eth_call`. */
export interface AskedCall {
  call: { from?: string; to: string; data: Hex }
  block: string
}

/**
 * Looks once at what is signed on a public network, where all of it has reverted in a final block.
 *
 * @param options.missing hashes of transactions that are in no block
 * @param options.warn receives the messages of warnings
 */
export async function lookAtReverts(
  store: Store,
  now: number,
  answer: (asked: AskedCall) => Hex,
  { missing = [], warn = () => {} }: { missing?: readonly string[]; warn?: (message: string) => void } = {},
): Promise<void> {
  const publicNetwork: PublicNetwork = {
    ...{ pollMs: 0, finality: HEAD - FINAL + 1, stuckMs: 60_000, feeCap: 1n, head: async () => HEAD },
    blockHashes: async (numbers) => numbers.map(() => BLOCK_HASH),
    logs: async () => ({ logs: [], hashes: [] }),
    nextNonce: async () => 1,
    isNonceForeign: async () => false,
    balance: async () => 10n ** 18n,
    suggestFees: async () => ({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }),
  }
  const network: EvmNetwork = {
    ...{ blockchain: 'polygon', chainId: 137, confirmations: 3, publicNetwork, broadcast: async () => [] },
    receipts: async (hashes) =>
      hashes.map((transactionHash): EvmReceipt | null => {
        if (missing.includes(transactionHash)) return null
        const block = { blockNumber: BigInt(REVERTED), blockHash: BLOCK_HASH }
        return { transactionHash, ...block, gasUsed: 1n, status: 'reverted' }
      }),
    async request<Result>(_method: string, [call, block]: readonly unknown[]) {
      return answer({ call: call as AskedCall['call'], block: String(block) }) as Result
    },
  }
  const log = { debug() {}, info() {}, warn: (_: object, message: string) => warn(message), error() {} }
  const observe = createObserver({ store, findSigner: async () => null, now: () => now, log, onSettled: () => {} })
  await observe(network, publicNetwork, await claimSigned(store.db, 'polygon', { now, leaseMs: 0, limit: 10 }))
}
