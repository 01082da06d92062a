import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import type { Settings } from '../../config/settings.ts'
import { GdnError } from '../../core/errors.ts'
import { inCoins } from '../../core/units.ts'
import type { NetworkFees } from '../../server/chain/evm/cost/network-fees.ts'
import type { Connection, Deps } from '../deps.ts'
import { findPrice } from './estimate.ts'
import { type CostFlags, findFees } from './fees.ts'
import { type MaxCost, moneyText, weiFor } from './price.ts'

export interface LimitFlags extends CostFlags {
  maxCost?: MaxCost
  /** Wei. */
  maxFeeGwei?: bigint
}

const bad = (message: string, hint: string) => new GdnError('usage', message, { place: { flag: '--max-cost' }, hint })

/**
 * Returns the limit of a run's cost in wei; null if the server doesn't limit costs. Sends nothing that has an effect.
 *
 * @throws GdnError `usage` for money without a price, or a limit below the cost of one transaction
 */
export async function costLimit(
  deps: Deps,
  flags: LimitFlags & { maxCost: MaxCost },
  settings: Settings,
  blockchain: Blockchain,
  connection: Pick<Connection, 'client' | 'server'>,
): Promise<bigint | null> {
  const { client, server } = connection
  const { maxCost, maxFeeGwei } = flags
  if (!isEvm(blockchain)) throw bad(`costs on ${blockchain} can't be limited`, 'Omit it.')
  await client.learnIdempotency({ signal: deps.signals.signal })
  const isLimited = client.limitsCosts() === true
  const found = await findFees(deps, flags, blockchain, async () => connection).catch((error: unknown) => {
    if (isLimited || !(error instanceof GdnError) || 'amount' in maxCost) throw error
    return null
  })
  const coin = found?.coin ?? 'coins'
  let wei: bigint
  if ('wei' in maxCost) wei = maxCost.wei
  // `0.5POL` on a network whose coin is POL.
  else if (maxCost.currency === found?.coin?.toUpperCase()) wei = maxCost.amount
  else {
    const price = await findPrice(deps, flags, settings, found?.coin ?? null)
    if (price === null) {
      throw bad(`the price of ${coin} is not known`, 'Add --price <amount>, or configure price_url in your profile.')
    }
    if (price.currency !== maxCost.currency) {
      throw bad(
        `is in ${maxCost.currency}, but the price of a coin is in ${price.currency}`,
        `Use --price <amount>${maxCost.currency}.`,
      )
    }
    wei = weiFor(maxCost, price)
    deps.io.note(`${moneyText(maxCost)} are ${inCoins(wei)} ${coin} at ${moneyText(price)}.`)
  }
  if (found !== null) await refuseBelowOne(wei, limitedBy(maxFeeGwei, found.fees), coin)
  if (isLimited) return wei
  deps.io.warn(`${server.origin} doesn't enforce --max-cost. Costs are only estimated: run gdn cost.`)
  return null
}

const limitedBy = (maxFee: bigint | undefined, fees: NetworkFees): NetworkFees =>
  maxFee !== undefined && maxFee < fees.offered ? { ...fees, offered: maxFee } : fees

async function refuseBelowOne(wei: bigint, fees: NetworkFees, coin: string): Promise<void> {
  const [{ worstCost }, { ONE_NFT }] = await Promise.all([
    import('../../server/chain/evm/cost/network-fees.ts'),
    import('../../server/chain/evm/cost/drop-gas.ts'),
  ])
  const one = worstCost(ONE_NFT, fees)
  if (wei >= one) return
  throw bad(
    `${inCoins(wei, 'down')} ${coin} is less than one transaction may cost: ${inCoins(one, 'up')} ${coin}`,
    'Nothing was sent. Set a higher limit, or wait for lower fees.',
  )
}
