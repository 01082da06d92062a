import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { inCoins } from '../../core/units.ts'
import { within } from '../../core/within.ts'
import { isWithoutValue } from '../connect/is-without-value.ts'
import type { Connection, Deps } from '../deps.ts'
import { type FoundFees, feesOfServer } from './fees.ts'
import type { WorstUse } from './run-limit.ts'

/** How long a prompt waits for the fees that it names. */
const FEES_MS = 5_000

/** Requests that a prompt is about. */
export interface PricedRequests {
  /** The limit that they carry, in wei; null without one. */
  limit: bigint | null
  /** What they use at most, each in a transaction of its own. Called only without a limit. */
  worst(): Promise<WorstUse>
}

/**
 * Returns the most that requests can cost, as the end of a question: `, for at most 0.0372 ETH`. That is their limit, or
 * else the worst case at today's fees. It is empty where coins have no value, and without the fees of the server.
 */
export async function atMostText(
  deps: Pick<Deps, 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  blockchain: Blockchain | null,
  { limit, worst }: PricedRequests,
): Promise<string> {
  if (blockchain === null || !isEvm(blockchain) || isWithoutValue(blockchain, connection)) return ''
  const found = await feesForPrompt(deps, connection, blockchain)
  if (limit !== null) return textOf(limit, found?.coin ?? null)
  if (found === null) return ''
  const { worstCost } = await import('../../server/chain/evm/cost/network-fees.ts')
  return textOf(worstCost(await worst(), found.fees), found.coin)
}

const textOf = (wei: bigint, coin: string | null) => `, for at most ${inCoins(wei, 'up')} ${coin ?? 'coins'}`

/** Returns the fees by which the server decides; null if it doesn't say them soon. */
async function feesForPrompt(
  deps: Pick<Deps, 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  blockchain: Blockchain,
): Promise<FoundFees | null> {
  try {
    return await within(feesOfServer(deps, blockchain, connection), FEES_MS)
  } catch (error) {
    if (!(error instanceof GdnError) || deps.signals.signal.aborted) throw error
    return null
  }
}
