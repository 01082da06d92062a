import { GdnError } from '../../core/errors.ts'
import { sleep } from '../../core/time.ts'
import type { EvmReceipt, Fees, Hex } from '../chain/evm/network.ts'
import { encodeAppoint, isOperator } from '../chain/evm/registry.ts'
import { raiseFees } from '../pipeline/shared/bump.ts'
import type { SetupOptions } from './options.ts'
import { APPOINT_GAS } from './plan.ts'

/**
 * Has a factory take what an operator signs; resolves once that has its confirmations, and may still be undone. Until
 * then it is sent again where it is forgotten or undone, and for more where it is stuck. Appointing twice does no harm, so
 * nothing of it is kept.
 *
 * @throws GdnError `refused` where the admin's key was used for another transaction, or its transaction failed
 */
export async function appoint(options: SetupOptions, factory: Hex, operator: Hex): Promise<void> {
  const { network, admin, now, signal, say } = options
  const { chainId, shared } = network
  const nonce = await shared.nextNonce(admin.address)
  const sign = async (fees: Fees) => {
    const call = { chainId, nonce, to: factory, data: encodeAppoint(operator), gas: APPOINT_GAS, fees }
    return { ...(await admin.sign(call)), fees, at: now() }
  }
  let newest = await sign(await shared.suggestFees())
  const hashes = [newest.hash]
  say(`Waiting until ${operator} is appointed`)
  for (let strange = 0; ; await sleep(shared.pollMs, signal)) {
    signal.throwIfAborted()
    const head = await shared.head()
    const receipt = (await network.receipts(hashes)).find((one) => one !== null)
    if (receipt !== undefined) {
      if (!(await isSettled(options, receipt, head))) continue
      if (await isOperator(network, factory, operator)) return
      throw refusal(operator, `its transaction ${receipt.transactionHash} failed`)
    }
    const [outcome] = await network.broadcast([newest.raw])
    if (outcome?.outcome === 'rejected' && (await shared.nextNonce(admin.address)) > nonce) {
      // One of ours may have been mined since it was looked for: so the second time counts.
      strange += 1
      if (strange < 2) continue
      if (await isOperator(network, factory, operator)) return
      throw refusal(operator, outcome.reason)
    }
    strange = 0
    if (now() - newest.at < shared.stuckMs) continue
    const fees = raiseFees(newest.fees, await shared.suggestFees())
    if (fees.maxFeePerGas > shared.feeCap) continue
    newest = await sign(fees)
    hashes.push(newest.hash)
  }
}

async function isSettled({ network }: SetupOptions, receipt: EvmReceipt, head: number): Promise<boolean> {
  const { blockNumber, blockHash } = receipt
  if (head - Number(blockNumber) + 1 < network.confirmations) return false
  const [hash] = await network.shared.blockHashes([Number(blockNumber)])
  return hash === blockHash
}

const refusal = (operator: Hex, why: string) =>
  new GdnError('refused', `${operator} was not appointed: ${why}`, { hint: 'the same command again goes on' })
