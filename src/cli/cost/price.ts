import type { Settings } from '../../config/settings.ts'
import { ceilDiv } from '../../core/ceil-div.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { parseUnits } from '../../core/units.ts'
import type { Parse } from '../command.ts'

/** An exact amount of money, in units of 10^-18 of its currency. */
export interface Money {
  amount: bigint
  currency: string
}

/** The currency if the value of `--price` doesn't include one, as in `--price 3100`. */
const DEFAULT_CURRENCY = 'USD'
const ONE_COIN = 10n ** 18n

/** Parses an amount such as `3100`, `3100.50`, `3100EUR` or `3100 EUR`. The currency is null if the text has none. */
function parseAmount(text: string): { amount: bigint; currency: string | null } | null {
  const [, number = '', currency = null] = /^([0-9.]+) ?([A-Za-z]{3,5})?$/.exec(text) ?? []
  const amount = parseUnits(number)
  return amount === null || amount === 0n ? null : { amount, currency: currency?.toUpperCase() ?? null }
}

const withStringType = <Value>(parse: Parse<Value>): Parse<Value> =>
  Object.assign(parse, { takes: { type: 'string' } as const })

/** Parses the price of a coin. */
export const parsePrice: Parse<Money> = withStringType((raw, flag) => {
  const parsed = parseAmount(raw)
  if (parsed !== null) return { amount: parsed.amount, currency: parsed.currency ?? DEFAULT_CURRENCY }
  throw flagError(flag, `must be the price of a coin, such as 3100 or 3100EUR, not ${quoted(raw)}`)
})

/** The maximum cost of a drop, in the network's coin (wei) or in money. */
export type MaxCost = { wei: bigint } | Money

/** Parses the maximum cost of a drop. */
export const parseMaxCostFlag: Parse<MaxCost> = withStringType((raw, flag) => {
  const parsed = parseAmount(raw)
  if (parsed === null) {
    throw new GdnError('usage', `must be an amount such as 0.5 or 10USD, not ${quoted(raw)}`, {
      place: { flag },
      hint: 'Use coins of the network, such as 0.5 or 0.5POL, or an amount in the currency of the price, such as 10USD or 10EUR.',
    })
  }
  return parsed.currency === null ? { wei: parsed.amount } : { amount: parsed.amount, currency: parsed.currency }
})

/** Returns the value of coins in a currency, rounded down. */
export const toCurrencyValue = (wei: bigint, { amount, currency }: Money): Money => ({
  amount: (wei * amount) / ONE_COIN,
  currency,
})

/** Returns the amount of a currency that coins are worth, rounded up. */
export const toCurrencyValueRoundedUp = (wei: bigint, { amount }: Money): bigint => ceilDiv(wei * amount, ONE_COIN)

/** Returns the number of wei that an amount of money buys, rounded down. */
export const toWei = (money: Money, price: Money): bigint => (money.amount * ONE_COIN) / price.amount

/** One hundredth of a currency, in the unit of `Money.amount`. */
export const CENT = 10n ** 16n

/** Formats an amount of money, rounded to cents, such as `12.30 USD`. */
export function moneyText({ amount, currency }: Money): string {
  const cents = (amount + CENT / 2n) / CENT
  if (cents === 0n && amount > 0n) return `less than 0.01 ${currency}`
  return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')} ${currency}`
}

/** The source of a coin's price: `price_url`, `price_path` and `price_currency` of the profile. */
export interface PriceSource {
  url: string
  path: string
  currency: string
}

/**
 * Returns the price source in the user's profile; null if there is none. `{coin}` in the URL and the path is a
 * placeholder for the coin's symbol.
 *
 * @throws GdnError `invalid_config` if a part is missing
 */
export function priceSource({
  prices: { price_url, price_path, price_currency },
  profile,
}: Settings): PriceSource | null {
  if (price_url === undefined && price_path === undefined && price_currency === undefined) return null
  const missing = Object.entries({ price_url, price_path, price_currency }).find(([, value]) => value === undefined)
  if (missing !== undefined) {
    throw new GdnError('invalid_config', `${missing[0]} is not set, so there is no price`, {
      hint: `Run \`gdn config set ${missing[0]} <value>${profile === null ? '' : ` --profile ${profile}`}\`.`,
    })
  }
  return { url: price_url ?? '', path: price_path ?? '', currency: price_currency ?? '' }
}

/**
 * Returns the value at a path such as `data.0.amount` as an exact amount.
 *
 * @throws GdnError `bad_answer`
 */
export function readPriceAt(json: unknown, path: string, host: string): bigint {
  let value = json
  for (const name of path.split('.')) {
    value = value !== null && typeof value === 'object' && Object.hasOwn(value, name) ? Reflect.get(value, name) : null
  }
  const amount = typeof value === 'number' || typeof value === 'string' ? parseUnits(String(value)) : null
  if (amount !== null && amount > 0n) return amount
  throw new GdnError('bad_answer', `the response of ${host} has no price at ${path}`, {
    hint: 'Check price_url and price_path, or set --price.',
  })
}
