import type { Settings } from '../../config/settings.ts'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { groupDigits } from '../../core/group-digits.ts'
import { formatCoins, formatGwei, type Rounding } from '../../core/units.ts'
import type { DropGas, DropMeter } from '../../server/chain/evm/cost/drop-gas.ts'
import type { Cost } from '../../server/chain/evm/cost/network-fees.ts'
import type { Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import type { DataRecord, RecordCard } from '../render/view.ts'
import type { CostFlags, FeesWithSource } from './fees.ts'
import { type Money, moneyText, priceSource, toCurrencyValue } from './price.ts'

export const COST_FIELDS = [
  'transactions',
  'transactions_high',
  'gas_estimate',
  'gas_price_wei',
  'cost_low_wei',
  'cost_estimate_wei',
  'cost_high_wei',
  'data_fee_wei',
  'currency',
  'coin_price',
  'cost_estimate',
  'simulated',
]

/** @param requestNfts the maximum number of NFTs in a request */
export async function openMeter(dynamic = false, requestNfts?: number): Promise<DropMeter> {
  const { DropMeter } = await import('../../server/chain/evm/cost/drop-gas.ts')
  return new DropMeter(dynamic, requestNfts)
}

export async function estimateData(
  gas: DropGas,
  foundFees: FeesWithSource,
  coinPrice: Money | null,
): Promise<DataRecord> {
  const { computeCost } = await import('../../server/chain/evm/cost/network-fees.ts')
  const cost: Cost = computeCost(gas, foundFees.fees)
  const { high } = computeCost(gas.apart, foundFees.fees)
  return {
    transactions: gas.transactions,
    transactions_high: gas.apart.transactions,
    gas_estimate: Number(cost.gas),
    gas_price_wei: String(foundFees.fees.typical),
    cost_low_wei: String(cost.low),
    cost_estimate_wei: String(cost.typical),
    cost_high_wei: String(high),
    data_fee_wei: String(cost.dataFee),
    currency: foundFees.coin,
    coin_price: coinPrice === null ? null : moneyText(coinPrice),
    cost_estimate: coinPrice === null ? null : moneyText(toCurrencyValue(cost.typical, coinPrice)),
    simulated: foundFees.isSimulated,
  }
}

/** Returns the typical cost of transactions, in wei. */
export async function typicalCost(gas: Pick<DropGas, 'gas' | 'bytes'>, fees: FeesWithSource['fees']): Promise<bigint> {
  const { computeCost } = await import('../../server/chain/evm/cost/network-fees.ts')
  return computeCost(gas, fees).typical
}

/** Returns the balance that a single signer needs to complete a drop, in wei. */
export async function estimateFunding({ worst }: DropGas, { fees }: FeesWithSource): Promise<bigint> {
  const { computeFunding } = await import('../../server/chain/evm/cost/funding.ts')
  return computeFunding(worst, fees)
}

/** Formats a wei amount from a record in coins. */
export const formatAmount = (wei: unknown, rounding?: Rounding): string => formatCoins(BigInt(String(wei)), rounding)

/** Formats an estimate for a terminal. */
export function estimateCard(data: DataRecord): RecordCard {
  const {
    transactions,
    transactions_high,
    gas_estimate,
    gas_price_wei,
    cost_low_wei,
    cost_estimate_wei,
    cost_high_wei,
  } = data
  const number = groupDigits(Number(gas_estimate))
  const gas = `about ${number} in ${count(Number(transactions), 'transaction')}`
  if (gas_price_wei === undefined || gas_price_wei === null) return []
  const coins = data.currency ?? 'coins'
  const worth = data.cost_estimate === null ? '' : `, ${data.cost_estimate} at ${data.coin_price}`
  const dataFee = data.data_fee_wei === '0' ? '' : `, ${formatAmount(data.data_fee_wei)} of it for data`
  const transactionsText =
    transactions_high === transactions ? '' : `, in up to ${count(Number(transactions_high), 'transaction')}`
  const range = `${formatAmount(cost_low_wei)} to ${formatAmount(cost_high_wei)} at recent fees${transactionsText}`
  return [
    ['gas', `${gas}, at ${formatGwei(BigInt(String(gas_price_wei)))} gwei`],
    [
      'cost',
      `about ${formatAmount(cost_estimate_wei)} ${coins}${worth}${dataFee}${data.simulated ? ' (simulated)' : ''}`,
    ],
    ['range', range],
  ]
}

export const SIMULATED_NOTE =
  'This blockchain is an embedded chain: gas and coins are simulated. To use the fees of the network, add --rpc-url <url> with the URL of a node.'

/**
 * Returns the price of a coin, from `--price` or else from the profile's `price_url`. Returns null if neither is set.
 * If the URL fails, prints a note and returns null, because an estimate without a price is still useful.
 */
export async function findPrice(
  deps: Deps,
  flags: CostFlags,
  settings: Settings,
  coin: string | null,
): Promise<Money | null> {
  if (flags.price !== undefined) return flags.price
  const source = priceSource(settings)
  if (source === null) return null
  const { fetchPrice } = await import('./fetch-price.ts')
  try {
    return await fetchPrice(deps, source, coin)
  } catch (error) {
    if (!(error instanceof GdnError) || error.code === 'invalid_config' || deps.signals.signal.aborted) throw error
    deps.io.note(safe(`No price: ${error.message}.`))
    return null
  }
}
