import { GdnError } from '../../../../core/errors.ts'
import type { Signer } from '../evm-signer.ts'
import { type EvmReceipt, type Fees, type Hex, parseQuantity } from '../network.ts'
import { parseReceipt } from '../receipt.ts'
import type { RemoteNetwork } from '../remote/remote-network.ts'

/**
 * Returns a gas limit for a call. The limit is a fifth above the estimate, because the state may change before the
 * transaction is in a block.
 *
 * @throws RpcError if the contract rejects the call
 */
export async function estimateGas(network: RemoteNetwork, call: { from: Hex; to: Hex; data: Hex }): Promise<bigint> {
  return (parseQuantity(await network.request('eth_estimateGas', [call])) * 6n) / 5n
}

/**
 * Returns the next nonce of an account. Returns null while the account has pending transactions, because an interrupted
 * command may have sent one of them.
 */
export async function idleNonce(network: RemoteNetwork, account: Hex): Promise<number | null> {
  const pending = Number(parseQuantity(await network.request('eth_getTransactionCount', [account, 'pending'])))
  const mined = await network.publicNetwork.nextNonce(account)
  return pending > mined ? null : mined
}

/**
 * Signs and sends a call. Resolves with its receipt after the network's number of confirmations. If the call is sent
 * again with the same nonce, only one of the transactions can take effect.
 */
export async function sendCall(
  network: RemoteNetwork,
  signer: Signer,
  nonce: number,
  call: { to: Hex; data: Hex; gas: bigint; fees: Fees },
  sleep: () => Promise<void>,
): Promise<EvmReceipt> {
  const { raw, hash } = await signer.sign({ chainId: network.chainId, nonce, ...call })
  const [outcome] = await network.broadcast([raw])
  if (outcome?.outcome === 'rejected') {
    const { baseFee = 0n } = await network.publicNetwork.suggestFees()
    const check =
      baseFee > call.fees.maxFeePerGas
        ? 'Fees have risen above the approved price. Run the same command again to see the current cost.'
        : `Check the funds of ${signer.address}, and run the same command again.`
    throw new GdnError('refused', `the network rejected the transaction: ${outcome.reason}`, {
      hint: `The transaction changed nothing. ${check}`,
    })
  }
  for (;;) {
    // Don't use `receipts`, which treats a success without an event as a revert. A royalty change emits no event.
    const receipt = parseReceipt(await network.request('eth_getTransactionReceipt', [hash]))
    const deepest = (await network.publicNetwork.head()) - network.confirmations + 1
    if (receipt !== null && Number(receipt.blockNumber) <= deepest) {
      if (receipt.status === 'success') return receipt
      throw new GdnError('refused', `the transaction ${hash} reverted: it changed nothing`, {
        hint: 'Run the same command with --dry-run to see the current settings.',
      })
    }
    await sleep()
  }
}
