import { GdnError } from '../../core/errors.ts'
import { raiseFees } from '../chain/evm/cost/replacement-fees.ts'
import { limitFees } from '../chain/evm/cost/run-fee.ts'
import type { EvmReceipt, Fees, Hex } from '../chain/evm/network.ts'
import { encodeAuthorize, isOperator } from '../chain/evm/registry.ts'
import type { SetupOptions } from './options.ts'
import { AUTHORIZE_GAS, notApprovedError } from './plan.ts'
import { pollUntil, pricedOutMessage } from './poll-until.ts'

interface Attempt {
  nonce: number
  raw: Hex
  hash: Hex
  fees: Fees
  signedAt: number
}

/**
 * Authorizes an operator in a factory. Resolves when the transaction has its confirmations, although a reorg may still
 * revert it. Until then, submits the transaction again if it was dropped or a reorg removed it, and raises its fees if
 * it is stuck, up to the price of the plan. Also resolves, without effect, if a reorg removed an earlier transaction of
 * the admin, because that transaction has to be repeated first. Doesn't store anything, but never pays twice: a
 * transaction of an earlier run has already taken effect or has the same nonce.
 *
 * @param newestHead returns the number of the newest block; rejects if the node lags
 * @throws GdnError `refused` if the admin's key was used for another transaction, if the transaction failed, or if a
 *   reorg removed an earlier authorization, whose cost isn't part of the plan
 */
export async function authorizeOperator(
  options: SetupOptions,
  factory: Hex,
  operator: Hex,
  newestHead: () => Promise<number>,
): Promise<void> {
  const { network, admin, plan, now, report } = options
  const { maxFeePerGas: maxPrice } = plan.fees
  const { chainId, publicNetwork } = network
  const sign = async (nonce: number, fees: Fees): Promise<Attempt> => {
    const call = { chainId, nonce, to: factory, data: encodeAuthorize(operator), gas: AUTHORIZE_GAS, fees }
    return { ...(await admin.sign(call)), nonce, fees, signedAt: now() }
  }
  let newest: Attempt | null = null
  const hashes: Hex[] = []
  let rejectionCount = 0
  let isPricedOut = false
  const message = `Waiting for the authorization of ${operator}`
  await pollUntil(options, message, async () => {
    const head = await newestHead()
    // Read the nonce and the authorization at the same block. If an authorization is visible at that block, its nonce
    // also counts as used.
    const next = await publicNetwork.nextNonce(admin.address, head)
    const isKnown = () => isOperator(network, factory, operator, head)
    if (newest === null) {
      if (await isKnown()) return true
      if (!plan.operatorsToAuthorize.includes(operator)) throw notApprovedError(`the authorization of ${operator}`)
      const suggested = await publicNetwork.suggestFees()
      const wasPricedOut = isPricedOut
      isPricedOut = (suggested.baseFee ?? 0n) > maxPrice
      if (isPricedOut !== wasPricedOut) report(isPricedOut ? pricedOutMessage(maxPrice) : message)
      if (isPricedOut) return null
      newest = await sign(next, limitFees(suggested, String(maxPrice)))
      hashes.push(newest.hash)
    }
    const { nonce, raw, fees, signedAt } = newest
    if (next < nonce) return true
    const receipt = (await network.receipts(hashes)).find((candidate) => candidate !== null)
    if (receipt !== undefined) {
      if (!(await isSettled(options, receipt, head))) return null
      if (receipt.status === 'success' || (await isKnown())) return true
      throw unauthorizedError(operator, `its transaction ${receipt.transactionHash} failed`)
    }
    const [outcome] = await network.broadcast([raw])
    if (outcome?.outcome === 'rejected' && next > nonce) {
      // A transaction of this run may have been mined after the receipts were read, so only a second rejection counts.
      rejectionCount += 1
      if (rejectionCount < 2) return null
      if (await isKnown()) return true
      throw unauthorizedError(operator, outcome.reason)
    }
    rejectionCount = 0
    if (now() - signedAt < publicNetwork.stuckMs) return null
    const raised = raiseFees(fees, await publicNetwork.suggestFees())
    if (raised.maxFeePerGas > maxPrice) return null
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

const unauthorizedError = (operator: Hex, why: string) =>
  new GdnError('refused', `${operator} was not authorized: ${why}`, { hint: 'Run the same command again to resume.' })
