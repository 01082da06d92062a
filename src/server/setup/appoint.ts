import { GdnError } from '../../core/errors.ts'
import type { EvmReceipt, Fees, Hex } from '../chain/evm/network.ts'
import { encodeAppoint, isOperator } from '../chain/evm/registry.ts'
import { isFarAbove, raiseFees } from '../pipeline/evm/public-network/bump.ts'
import type { SetupOptions } from './options.ts'
import { APPOINT_GAS } from './plan.ts'
import { until } from './until.ts'

interface Attempt {
  nonce: number
  raw: Hex
  hash: Hex
  fees: Fees
  at: number
}

/**
 * Has a factory take what an operator signs; resolves once that has its confirmations, and may still be undone. Until
 * then it is sent again where it is forgotten or undone, and for more where it is stuck. It resolves too, with nothing
 * done, where what the admin had sent before was undone: that has to come first. Nothing of it is kept, and still nothing
 * is paid for twice: what an earlier run has sent has either had its effect or has the same nonce.
 *
 * @param newestHead number of the newest block; rejects where the node that tells it is behind
 * @throws GdnError `refused` where the admin's key was used for another transaction, or its transaction failed
 */
export async function appoint(
  options: SetupOptions,
  factory: Hex,
  operator: Hex,
  newestHead: () => Promise<number>,
): Promise<void> {
  const { network, admin, now } = options
  const { chainId, publicNetwork } = network
  const sign = async (nonce: number, fees: Fees): Promise<Attempt> => {
    const call = { chainId, nonce, to: factory, data: encodeAppoint(operator), gas: APPOINT_GAS, fees }
    return { ...(await admin.sign(call)), nonce, fees, at: now() }
  }
  let newest: Attempt | null = null
  const hashes: Hex[] = []
  let unexplained = 0
  await until(options, `Waiting until ${operator} is appointed`, async () => {
    const head = await newestHead()
    // Both of one block: where it has an earlier appointment, it has its nonce as used too.
    const next = await publicNetwork.nextNonce(admin.address, head)
    const isKnown = () => isOperator(network, factory, operator, head)
    if (newest === null) {
      if (await isKnown()) return true
      newest = await sign(next, await publicNetwork.suggestFees())
      hashes.push(newest.hash)
    }
    const { nonce, raw, fees, at } = newest
    if (next < nonce) return true
    const receipt = (await network.receipts(hashes)).find((one) => one !== null)
    if (receipt !== undefined) {
      if (!(await isSettled(options, receipt, head))) return null
      if (receipt.status === 'success' || (await isKnown())) return true
      throw refusal(operator, `its transaction ${receipt.transactionHash} failed`)
    }
    const [outcome] = await network.broadcast([raw])
    if (outcome?.outcome === 'rejected' && next > nonce) {
      // One of ours may have been mined since it was looked for: so the second time counts.
      unexplained += 1
      if (unexplained < 2) return null
      if (await isKnown()) return true
      throw refusal(operator, outcome.reason)
    }
    unexplained = 0
    if (now() - at < publicNetwork.stuckMs) return null
    const suggested = await publicNetwork.suggestFees()
    const raised = raiseFees(fees, suggested)
    // A network that stands still is no reason to offer more and more.
    if (raised.maxFeePerGas > publicNetwork.feeCap || isFarAbove(raised, suggested)) return null
    newest = await sign(nonce, raised)
    hashes.push(newest.hash)
    return null
  })
}

async function isSettled({ network }: SetupOptions, receipt: EvmReceipt, head: number): Promise<boolean> {
  const { blockNumber, blockHash } = receipt
  if (head - Number(blockNumber) + 1 < network.confirmations) return false
  const [hash] = await network.publicNetwork.blockHashes([Number(blockNumber)], head)
  return hash === blockHash
}

const refusal = (operator: Hex, why: string) =>
  new GdnError('refused', `${operator} was not appointed: ${why}`, { hint: 'the same command again goes on' })
