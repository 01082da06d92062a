import type * as z from 'zod'
import { type EvmBlockchain, isEvm } from '../../api/blockchains.ts'
import type { getfees } from '../../api/endpoints/getfees.ts'
import { currentFees } from '../chain/evm/cost/cached-fees.ts'
import { coinOf } from '../chain/evm/cost/coin.ts'
import type { CurrentFees } from '../chain/evm/cost/network-fees.ts'
import { EMBEDDED_FEES } from '../chain/evm/signers.ts'
import { isNoAnswer } from '../chain/rpc/rpc-answer.ts'
import { badRequest, notNow } from './refusal.ts'
import type { ServiceDeps, ServiceRequest } from './services.ts'

const RETRY_SECONDS = 5

/** Returns what a blockchain charges now. Solana has fixed fees, which aren't estimated. */
export async function getFees(
  deps: Pick<ServiceDeps, 'chains'>,
  { parsed: { blockchain } }: ServiceRequest<z.output<typeof getfees.request>>,
) {
  if (!isEvm(blockchain)) throw badRequest(`the fees of ${blockchain} are not estimated`)
  const { low, typical, high, offered, data } = await feesOf(deps, blockchain)
  const { chainId, publicNetwork } = await deps.chains.network(blockchain)
  const max = publicNetwork?.feeCap ?? EMBEDDED_FEES.maxFeePerGas
  return {
    requests: { blockchain },
    fees: {
      is_simulated: !deps.chains.remote.has(blockchain),
      currency: coinOf(chainId),
      gas_price: {
        ...{ low: String(low), typical: String(typical), high: String(high) },
        ...{ offered: String(offered), max: String(max) },
      },
      data: { bytes: data.bytes, fee: String(data.fee), gas: String(data.gas) },
    },
  }
}

/** Returns the current fees. @throws Refusal 503 if no node returns them */
export const feesOf = async (
  { chains }: Pick<ServiceDeps, 'chains'>,
  blockchain: EvmBlockchain,
): Promise<CurrentFees> => await answered(currentFees(chains, blockchain), blockchain, 'its fees')

/** Resolves with what a node returns. @throws Refusal 503 if none does */
export async function answered<Answer>(
  asked: Promise<Answer>,
  blockchain: EvmBlockchain,
  what: string,
): Promise<Answer> {
  try {
    return await asked
  } catch (error) {
    if (!isNoAnswer(error)) throw error
    throw notNow(`no node of ${blockchain} returned ${what}`, RETRY_SECONDS)
  }
}
