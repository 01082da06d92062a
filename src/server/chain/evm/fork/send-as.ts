import { GdnError } from '../../../../core/errors.ts'
import { hexQuantity } from '../../../../core/hex-quantity.ts'
import type { Hex } from '../network.ts'
import type { Fork } from './start-fork.ts'

const SENDER_BALANCE_WEI = 10n ** 22n

/** Sends a transaction from any account on a fork, without the account's key, and mines it. */
export async function sendAs(
  fork: Fork,
  from: Hex,
  { gas, ...call }: { to?: Hex; data: Hex; gas: bigint },
): Promise<void> {
  await fork.call('anvil_setBalance', [from, hexQuantity(SENDER_BALANCE_WEI)])
  await fork.call('anvil_impersonateAccount', [from])
  const hash = await fork.call<Hex>('eth_sendTransaction', [{ ...call, from, gas: hexQuantity(gas) }])
  await fork.mine()
  await fork.call('anvil_stopImpersonatingAccount', [from])
  const receipt = await fork.call<{ status: Hex } | null>('eth_getTransactionReceipt', [hash])
  if (receipt?.status === '0x1') return
  throw new GdnError('refused', `a transaction of ${from} failed on the fork`)
}
