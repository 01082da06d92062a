import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import type { Settings } from '../../config/settings.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { formatCoins } from '../../core/units.ts'
import type { NetworkFees } from '../../server/chain/fees.ts'
import type { GdnCommand } from '../command.ts'
import type { Connection, Deps } from '../deps.ts'
import { findPrice } from './estimate.ts'
import { type CostFlags, type FeesWithSource, findFees } from './fees.ts'
import { type MaxCost, moneyText, parseMaxCostFlag, toWei } from './price.ts'
import { type CostReservation, estimateSufficientLimit } from './run-limit.ts'

export interface LimitFlags extends CostFlags {
  maxCost?: MaxCost
  /** The maximum fee in wei, although the flag is in gwei. */
  maxFeeGwei?: bigint
}

/** @param subject the object to which the limit applies, for the description: `the run` */
export const addMaxCostFlag = (command: GdnCommand, subject: string): GdnCommand =>
  command.valueFlag('--max-cost <amount>', `Maximum cost of ${subject}: 0.5 (coins) or 10USD`, {
    group: 'Cost',
    parse: parseMaxCostFlag,
  })

const maxCostError = (message: string, hint: string) => flagError('--max-cost', message, hint)

export interface CostLimit {
  /** The limit in wei; null if the server doesn't limit costs. */
  wei: bigint | null
  /**
   * Rejects a limit below the cost of one transaction, because nothing would be sent. For a run that has begun, only
   * warns about such a limit, because accepted requests may still spend coins.
   *
   * @param all returns the part of a limit that is reserved for all requests to send
   * @throws GdnError `max_cost`
   */
  refuseIfTooLow(hasBegun: boolean, all: () => Promise<CostReservation>): Promise<void>
}

type LimitConnection = Pick<Connection, 'client' | 'server'>

/** The flags that limit costs, and where the limit applies. */
interface LimitContext<Flags> {
  flags: Flags
  settings: Settings
  blockchain: Blockchain
}

/**
 * Reads the cost limit of a run from the flags. Sends only requests that have no effect.
 *
 * @throws GdnError `usage` if the limit is in money and no price is known
 */
export async function readCostLimit(
  deps: Deps,
  connection: LimitConnection,
  limited: LimitContext<LimitFlags & { maxCost: MaxCost }>,
): Promise<CostLimit> {
  const { wei, foundFees, isLimited } = await readLimit(deps, connection, limited)
  if (!isLimited) {
    deps.io.warn(`${connection.server.origin} doesn't enforce --max-cost. To estimate costs, run gdn cost.`)
  }
  return {
    wei: isLimited ? wei : null,
    refuseIfTooLow: async (hasBegun, all) => {
      if (foundFees === null) return
      const fees = withMaxFee(limited.flags.maxFeeGwei, foundFees.fees)
      const { computeMaxCost } = await import('../../server/chain/evm/cost/network-fees.ts')
      const { ONE_NFT_MAX_GAS } = await import('../../server/chain/evm/cost/drop-gas.ts')
      const costOfOne = computeMaxCost(ONE_NFT_MAX_GAS, fees)
      if (wei >= costOfOne) return
      const coin = toCoinName(foundFees)
      const problem = `${formatCoins(wei, 'down')} ${coin} is below the maximum cost of one transaction (${formatCoins(costOfOne, 'up')} ${coin})`
      if (!isLimited || !hasBegun) {
        const enough = formatCoins(
          await estimateSufficientLimit(await all(), fees, { costs: null, maxFee: null }),
          'up',
        )
        throw new GdnError('max_cost', problem, {
          place: { flag: '--max-cost' },
          hint: `Nothing was sent, and no limit was changed. --max-cost ${enough} is enough for all rows at the current fees.`,
        })
      }
      deps.io.warn(`--max-cost: ${problem}. This limit applies to the run, and rows that would exceed it aren't sent.`)
    },
  }
}

/**
 * Returns the cost limit of this command, in wei; null if it has none. Sends only requests that have no effect.
 *
 * @throws GdnError `usage` if the limit is in money and no price is known; `refused` if the server doesn't limit costs
 */
export async function readEnforcedLimit(
  deps: Deps,
  connection: LimitConnection,
  { flags: { maxCost, price }, settings, blockchain }: LimitContext<Pick<LimitFlags, 'maxCost' | 'price'>>,
): Promise<bigint | null> {
  if (maxCost === undefined) return null
  await connection.client.learnCapabilities({ signal: deps.signals.signal })
  if (connection.client.supports('runCosts') !== true) {
    throw new GdnError('refused', `${connection.server.origin} doesn't limit costs`, {
      place: { flag: '--max-cost' },
      hint: 'Nothing was sent. Use a gdn backend, or omit the flag.',
    })
  }
  if ('wei' in maxCost && isEvm(blockchain)) return maxCost.wei
  const flags = price === undefined ? { maxCost } : { maxCost, price }
  return (await readLimit(deps, connection, { flags, settings, blockchain })).wei
}

async function readLimit(
  deps: Deps,
  connection: LimitConnection,
  { flags, settings, blockchain }: LimitContext<LimitFlags & { maxCost: MaxCost }>,
): Promise<{ wei: bigint; foundFees: FeesWithSource | null; isLimited: boolean }> {
  const { client } = connection
  const { maxCost } = flags
  if (!isEvm(blockchain)) throw maxCostError(`costs on ${blockchain} can't be limited`, 'Omit the flag.')
  await client.learnCapabilities({ signal: deps.signals.signal })
  const isLimited = client.supports('runCosts') === true
  const foundFees = await findFees(deps, flags, blockchain, async () => connection).catch((error: unknown) => {
    if (isLimited || !(error instanceof GdnError) || 'amount' in maxCost) throw error
    return null
  })
  if ('wei' in maxCost) return { wei: maxCost.wei, foundFees, isLimited }
  // For example, `0.5POL` on a network whose coin is POL.
  if (maxCost.currency === foundFees?.coin?.toUpperCase()) return { wei: maxCost.amount, foundFees, isLimited }
  const price = await findPrice(deps, flags, settings, foundFees?.coin ?? null)
  const coin = toCoinName(foundFees)
  if (price?.currency !== maxCost.currency && foundFees?.coin != null) {
    const { isKnownCoin } = await import('../../server/settings/networks.ts')
    if (isKnownCoin(maxCost.currency)) {
      throw maxCostError(
        `is in ${maxCost.currency}, but the currency of ${blockchain} is ${coin}`,
        `Use ${coin}, such as --max-cost 0.5${coin}, or a currency, such as --max-cost 10USD.`,
      )
    }
  }
  if (price === null) {
    throw maxCostError(
      `the price of ${coin} in ${maxCost.currency} is not known`,
      `Use ${coin}, such as --max-cost 0.5${foundFees?.coin ?? ''}. To use a currency, such as 10USD, set --price to the price of a coin, or configure price_url in your profile.`,
    )
  }
  if (price.currency !== maxCost.currency) {
    throw maxCostError(
      `is in ${maxCost.currency}, but the price of a coin is in ${price.currency}`,
      `Use ${price.currency}, such as --max-cost 10${price.currency}, or ${coin}, such as 0.5${foundFees?.coin ?? ''}. To use another currency, set --price to the price of one coin in that currency, such as 3100${maxCost.currency}.`,
    )
  }
  const wei = toWei(maxCost, price)
  deps.io.note(`${moneyText(maxCost)} equals ${formatCoins(wei)} ${coin} at ${moneyText(price)} per coin.`)
  return { wei, foundFees, isLimited }
}

const toCoinName = (foundFees: FeesWithSource | null): string => foundFees?.coin ?? 'coins'

const withMaxFee = (maxFee: bigint | undefined, fees: NetworkFees): NetworkFees =>
  maxFee !== undefined && maxFee < fees.offered ? { ...fees, offered: maxFee } : fees
