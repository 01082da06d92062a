import { withTimeout } from '../../core/with-timeout.ts'
import { isRpcFailure } from '../chain/rpc/rpc-response.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import type { GasFacts } from '../pipeline/facts.ts'
import { badRequestError, Refusal, temporarilyUnavailableError } from './refusals.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

const RETRY_SECONDS = 5
/** Timeout in milliseconds for fees that a response can omit. */
const FEES_TIMEOUT_MS = 1_000

/** Returns the current fees of a blockchain. Solana's fees are fixed, so they aren't estimated. */
export async function getFees(
  { chains }: Pick<ServiceDeps, 'chains'>,
  { parsed: { blockchain } }: RequestOf<'getfees'>,
) {
  const { gas } = chainFacts(chains, blockchain)
  if (gas === undefined) throw badRequestError(`this server does not estimate fees on ${blockchain}`)
  const { low, typical, high, offered, max, data } = await requireFees(gas)
  const lack = await readShortage(gas)
  const bestFunded = gas.findBestFundedSigner()
  return {
    requests: { blockchain },
    fees: {
      is_simulated: gas.isSimulated,
      currency: await gas.readCoin(),
      gas_price: {
        low: String(low),
        typical: String(typical),
        high: String(high),
        offered: String(offered),
        max: String(max),
      },
      data: { bytes: data.bytes, fee: String(data.fee), gas: String(data.gas) },
      funds: bestFunded && {
        signer: bestFunded.address,
        balance: String(bestFunded.balance),
        owed: String(bestFunded.owed),
      },
      shortage: lack && {
        signer: lack.signer,
        balance: String(lack.balance),
        needed: String(lack.needed),
        reserve: String(lack.reserve),
        waiting_nfts: lack.waitingNfts,
      },
    },
  }
}

/**
 * Returns the funds that the signers lack. If no node returns the balances, returns null instead of an error, because
 * fees are useful without the balances.
 */
async function readShortage(gas: GasFacts): ReturnType<GasFacts['findShortage']> {
  try {
    return await gas.findShortage()
  } catch (error) {
    if (!isRpcFailure(error)) throw error
    return null
  }
}

/**
 * Returns the current fees.
 *
 * @throws Refusal 503 if no node returns them
 */
export const requireFees = (gas: GasFacts): ReturnType<GasFacts['readFees']> =>
  requireNodeResponse(gas, gas.readFees(), 'its fees')

/** Returns the current fees. Returns null if no node returns them within a short time. */
export async function readFeesOrNull(gas: GasFacts): Promise<Awaited<ReturnType<GasFacts['readFees']>> | null> {
  try {
    return await withTimeout(requireFees(gas), FEES_TIMEOUT_MS)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return null
  }
}

/**
 * Awaits the response of a node.
 *
 * @throws Refusal 503 if no node responds
 */
export async function requireNodeResponse<Response>(
  gas: GasFacts,
  response: Promise<Response>,
  subject: string,
): Promise<Response> {
  try {
    return await response
  } catch (error) {
    if (!isRpcFailure(error)) throw error
    throw temporarilyUnavailableError(`no node of ${gas.blockchain} returned ${subject}`, RETRY_SECONDS)
  }
}
