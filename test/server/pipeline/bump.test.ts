import { parseTransaction, serializeTransaction } from 'viem'
import { expect, it } from 'vitest'
import type { PublicNetwork } from '../../../src/server/chain/evm/network.ts'
import { createBumper } from '../../../src/server/pipeline/evm/public-network/bump.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import type { TransactionRow } from '../../../src/server/store/transactions.ts'
import { WALLETS } from '../../helpers/backend.ts'

const STUCK_MS = 60_000
const NONCE = 7
const [SIGNER] = WALLETS
const RAW = serializeTransaction({ type: 'eip1559', chainId: 137, to: SIGNER as `0x${string}`, nonce: NONCE })

/** Polls a transaction that is never mined once a second; resolves with the time at which it counted as stuck. */
async function stuckAfter(nextNonce: (look: number) => number, setBackMs = 0): Promise<number | null> {
  let clock = 0
  let stuckAt: number | null = null
  let setBack = 0
  const warn = () => {
    stuckAt ??= clock
  }
  // A missing key is reported before the store is used, so an empty store suffices.
  const log = { debug() {}, info() {}, warn, error() {} }
  const bumper = createBumper({ store: {} as Store, findSigner: async () => null, now: () => clock - setBack, log })
  const transaction = {
    id: 't',
    blockchain: 'polygon',
    signer: SIGNER,
    nonce: NONCE,
    raw: RAW,
    requested_action: null,
    created_at: 0,
  }
  for (let look = 0; look < 200 && stuckAt === null; look++) {
    clock = look * 1000
    if (look === 30) setBack = setBackMs
    const publicNetwork = { stuckMs: STUCK_MS, nextNonce: async () => nextNonce(look) } as unknown as PublicNetwork
    await bumper.bump({ chainId: 137, publicNetwork }, [transaction as unknown as TransactionRow], new Map())
  }
  return stuckAt
}

it('reports a transaction as stuck only after it has been the next of its signer for the configured time', async () => {
  expect(parseTransaction(RAW).nonce).toBe(NONCE)
  expect(await stuckAfter(() => NONCE)).toBe(STUCK_MS)
  expect(await stuckAfter(() => NONCE - 1)).toBeNull()
  expect(await stuckAfter((look) => (look < 30 ? NONCE - 1 : NONCE))).toBe(30_000 + STUCK_MS)
})

it("doesn't restart the wait because of a lagging node", async () => {
  expect(await stuckAfter((look) => (look % 3 === 1 ? NONCE - 2 : NONCE))).toBe(STUCK_MS)
})

it('only restarts the wait if the clock is set back by 30 days', async () => {
  expect(await stuckAfter(() => NONCE, 30 * 24 * 3_600_000)).toBe(30_000 + STUCK_MS)
})
