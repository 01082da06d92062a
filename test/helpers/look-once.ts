import type { EvmNetwork, EvmReceipt, Hex, PublicNetwork } from '../../src/server/chain/evm/network.ts'
import { createChainStep } from '../../src/server/pipeline/chain-step.ts'
import { createEvmObserver } from '../../src/server/pipeline/evm/driver.ts'
import type { Store } from '../../src/server/store/open-store.ts'
import { SILENT_LOG } from './silent-log.ts'

export const BLOCK_HASH: Hex = `0x${'b'.repeat(64)}`
/** Number of the newest block, and of the newest final block. */
export const HEAD = 200
export const FINAL = 193
const REVERTED = 100

/** Checks the signed transactions on polygon once, and settles them. Settled ones aren't watched. */
export async function lookOnce(
  store: Store,
  network: EvmNetwork,
  at: number,
  warn: (message: string) => void = () => {},
): Promise<void> {
  const log = { ...SILENT_LOG, warn: (_: object, message: string) => warn(message) }
  const [now, findSigner] = [() => at, async () => null]
  const options = { store, blockchain: 'polygon', network: async () => network, findSigner, now, log } as const
  const { watch: _, ...driver } = createEvmObserver(options)
  // A single process uses the given clock instead of the database's.
  await createChainStep({ store: { ...store, postgres: null }, driver, now, log, onSettled: () => {} })()
}

/** The parameters of an `eth_call`. */
export interface AskedCall {
  call: { from?: string; to: string; data: Hex }
  block: string
}

/**
 * Checks the signed transactions on a network once, where all of them have reverted in a final block.
 *
 * @param options.isEmbedded whether the network is an embedded chain. Default: a public network
 * @param options.missing hashes of transactions that are in no block
 * @param options.warn receives the messages of warnings
 */
export async function lookAtReverts(
  store: Store,
  now: number,
  answer: (asked: AskedCall) => Hex,
  {
    isEmbedded = false,
    missing = [],
    warn = () => {},
  }: { isEmbedded?: boolean; missing?: readonly string[]; warn?: (message: string) => void } = {},
): Promise<void> {
  const publicNetwork: PublicNetwork = {
    ...{
      pollMs: 0,
      finality: HEAD - FINAL + 1,
      stuckMs: 60_000,
      feeCap: 1n,
      mintsInFlight: 16,
      head: async () => HEAD,
    },
    blockHashes: async (numbers) => numbers.map(() => BLOCK_HASH),
    logs: async () => ({ logs: [], hashes: [] }),
    nextNonce: async () => 1,
    isNonceForeign: async () => false,
    balance: async () => 10n ** 18n,
    suggestFees: async () => ({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }),
  }
  const network: EvmNetwork = {
    ...{ blockchain: 'polygon', chainId: 137, confirmations: 3, broadcast: async () => [] },
    ...(isEmbedded ? {} : { publicNetwork }),
    receipts: async (hashes) =>
      hashes.map((transactionHash): EvmReceipt | null => {
        if (missing.includes(transactionHash)) return null
        const block = { blockNumber: BigInt(REVERTED), blockHash: BLOCK_HASH }
        return { transactionHash, ...block, feePaid: null, gasUsed: 1n, status: 'reverted' }
      }),
    async request<Result>(_method: string, [call, block]: readonly unknown[]) {
      return answer({ call: call as AskedCall['call'], block: String(block) }) as Result
    },
  }
  await lookOnce(store, network, now, warn)
}
