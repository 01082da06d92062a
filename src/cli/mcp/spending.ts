import { type Blockchain, isEvm, isTestnet } from '../../api/blockchains.ts'
import { readRunCosts } from '../../client/run-costs.ts'
import { GdnError } from '../../core/errors.ts'
import { formatCoins, maxBigint } from '../../core/units.ts'
import { costsMoney } from '../cost/confirm-spending.ts'
import { findPrice, typicalCost } from '../cost/estimate.ts'
import { type FeesWithSource, findFees } from '../cost/fees.ts'
import { readEnforcedLimit } from '../cost/limit.ts'
import { CENT, type Money, moneyText, parseMaxCostFlag, toCurrencyValueRoundedUp } from '../cost/price.ts'
import { estimateMaxSpending } from '../cost/worst-case.ts'
import type {
  Connection,
  Deps,
  PermitSpending,
  QuoteSpending,
  Spending,
  SpendingKind,
  SpendingRun,
  WalletSpending,
} from '../deps.ts'
import type { Values } from './tools.ts'

/**
 * Multiple of the current fee that is assumed as the maximum fee if the server neither limits the cost nor reports its
 * maximum fee.
 */
const FEE_HEADROOM = 4n

/**
 * The amount that the ledger has counted for a run, in wei. The run may cost `counted` in addition to its earlier cost,
 * `before`.
 */
interface RunAmount {
  before: bigint
  counted: bigint
}

/** The lowest `max_cost` that is useful, in wei. */
interface MinimumLimit {
  minWei: bigint
  /**
   * Whether every higher `max_cost` is useful too, because the run sends only as many requests as its limit permits.
   */
  isAnyMore: boolean
}

/** The maximum cost of requests, in wei. */
interface CostBound {
  /** The run's maximum cost, which is set in each request; null if the server can't enforce it. */
  limit: bigint | null
  /**
   * The maximum cost of the run. If the server doesn't enforce a limit, this is the maximum cost of the requests alone.
   */
  total: bigint
  /**
   * The cost of the run's earlier transactions that are final. A reorg can move other transactions to more expensive
   * blocks.
   */
  before: bigint
  /** A lower `max_cost` with which less is counted for the requests; null if there is none. */
  usefulLimit: MinimumLimit | null
}

/**
 * Counts the amount that a session may spend on public networks. The maximum cost of requests is counted before they
 * are sent, and stays counted. Concurrent calls therefore can't exceed the limit together. If the server limits the
 * cost of a run, the run is counted once, with its limit.
 */
export class Ledger {
  readonly #limit: Money | null
  /** Counted runs, by the backend's incarnation and the run ID. */
  readonly #runs = new Map<string, RunAmount>()
  #counted = 0n

  /** @param limit null permits no spending */
  constructor(limit: Money | null) {
    this.#limit = limit
  }

  get counted(): Money | null {
    return this.#limit === null ? null : { ...this.#limit, amount: this.#counted }
  }

  /**
   * Returns the check that a command makes before it sends requests.
   *
   * @throws GdnError `not_confirmed`, `max_cost`, `usage`
   */
  permit(deps: Deps): PermitSpending {
    return async (spending) => {
      if (spending.kind === 'wallet') {
        await this.#permitWallet(deps, spending)
        return null
      }
      const locatedSpending = await locateLimits(spending)
      const fees = await readPublicNetworkFees(deps, locatedSpending)
      if (fees === null) return null
      const { limit, price, known } = await this.#findUnits(deps, locatedSpending, fees)
      const bound = await estimateCostBound(deps, locatedSpending, known)
      // There must be no await between the check and the count. Otherwise, concurrent calls could pass the check
      // together.
      const run = this.#findRunAmount(locatedSpending, bound)
      const added = maxBigint(0n, bound.total - run.before - run.counted)
      this.#addCost(added, price, limit, bound.usefulLimit)
      run.counted += added
      return bound.limit
    }
  }

  /**
   * Returns sentences that describe the cost of requests and whether they are permitted. Counts nothing.
   *
   * @param applied the arguments of `apply`, if the command that requests the quote is a preview of `apply`
   * @throws GdnError `max_cost` if `apply` would refuse the requests
   */
  async quote(deps: Deps, [spending, gas, refuseAbove]: Parameters<QuoteSpending>, applied?: Values): Promise<string> {
    if (spending.kind === 'wallet') return await this.#quoteWallet(deps, spending)
    const locatedSpending = await locateLimits(spending)
    const { blockchain, run } = locatedSpending
    const fees = await readPublicNetworkFees(deps, locatedSpending)
    const commandLimit = fees === 'unknown' ? null : await readCommandLimit(deps, locatedSpending, applied?.max_cost)
    if (applied !== undefined) await refuseAbove?.({ commandLimit, only: applied.only === 'mint' ? 'mint' : undefined })
    if (fees === null) {
      const limit = commandLimit ?? (run?.maxCost?.isSet ? run.maxCost.wei : null)
      const feesWithSource = limit === null ? 'unknown' : await readFees(deps, locatedSpending)
      return costsNothing(blockchain, limit, feesWithSource === 'unknown' ? null : feesWithSource.coin)
    }
    const where =
      blockchain === null
        ? 'The blockchain is unknown, so its coins may have value.'
        : `The coins of ${blockchain} have value.`
    const usefulLimit = { minWei: 0n, isAnyMore: true }
    const limited = commandLimit === null ? null : { limit: commandLimit, total: commandLimit, before: 0n, usefulLimit }
    const bound = fees === 'unknown' ? null : (limited ?? (await estimateCostBound(deps, locatedSpending, fees)))
    const cost = fees === 'unknown' || bound === null ? [] : [await costText(bound, fees, gas)]
    const leftInSession = await remainingText(async () => {
      const { limit, price } = await this.#findUnits(deps, locatedSpending, fees)
      return [
        this.#findRemaining(bound === null ? 0n : bound.total - bound.before, price, limit, bound?.usefulLimit),
        limit,
      ]
    })
    return [where, ...cost, leftInSession].join(' ')
  }

  async #quoteWallet(
    deps: Deps,
    { blockchain, settings, coin, maxCostWei, isPublic }: WalletSpending,
  ): Promise<string> {
    if (!isPublic || isTestnet(blockchain)) return costsNothing(blockchain)
    const leftInSession = await remainingText(async () => {
      const limit = this.#requireLimit(blockchain)
      return [
        this.#findRemaining(maxCostWei, await findCoinPrice(deps, { settings }, coin, limit.currency), limit),
        limit,
      ]
    })
    const cost = `Maximum: ${formatCoins(maxCostWei, 'up')} ${coinSymbol(coin)}, which the wallet pays.`
    return `The coins of ${blockchain} have value. ${cost} ${leftInSession}`
  }

  /**
   * Returns the session's limit, and the coin's price in the currency of the limit.
   *
   * @throws GdnError if the cost can't be counted
   */
  async #findUnits(deps: Deps, { blockchain, connection }: Spending, fees: FeesWithSource | 'unknown') {
    const limit = this.#requireLimit(blockchain)
    if (fees === 'unknown') {
      throw uncountableError(
        `the cost on ${blockchain ?? 'an unknown blockchain'} can't be estimated`,
        SET_RPC_URL_HINT,
      )
    }
    return { limit, price: await findCoinPrice(deps, connection, fees.coin, limit.currency), known: fees }
  }

  /**
   * Counts transactions that a wallet signs. They are counted each time they are sent, because no common limit covers
   * them.
   */
  async #permitWallet(deps: Deps, { blockchain, settings, coin, maxCostWei, isPublic }: WalletSpending): Promise<void> {
    if (!isPublic || isTestnet(blockchain)) return
    const limit = this.#requireLimit(blockchain)
    this.#addCost(maxCostWei, await findCoinPrice(deps, { settings }, coin, limit.currency), limit)
  }

  #requireLimit(blockchain: Blockchain | null): Money {
    if (this.#limit !== null) return this.#limit
    throw notAllowedError(`spending on ${blockchain ?? 'an unknown blockchain'} is not allowed`)
  }

  /**
   * Counts an amount of wei.
   *
   * @throws GdnError `max_cost` if the amount exceeds the rest of the limit
   */
  #addCost(amount: bigint, price: Money | null, limit: Money, usefulLimit: MinimumLimit | null = null): void {
    this.#findRemaining(amount, price, limit, usefulLimit)
    this.#counted += convertCost(amount, price)
  }

  /**
   * Returns the rest of the limit before an amount of wei is counted.
   *
   * @param usefulLimit a lower `max_cost` that the error can suggest
   * @throws GdnError `max_cost` if the amount exceeds the rest of the limit
   */
  #findRemaining(amount: bigint, price: Money | null, limit: Money, usefulLimit: MinimumLimit | null = null): Money {
    const available = { ...limit, amount: limit.amount - this.#counted }
    const cost = { ...limit, amount: convertCost(amount, price) }
    if (cost.amount <= available.amount) return available
    const isLess =
      usefulLimit !== null && usefulLimit.minWei < amount && convertCost(usefulLimit.minWei, price) <= available.amount
    const useful =
      isLess && (usefulLimit.isAnyMore ? limitText(available) : `${formatCoins(usefulLimit.minWei, 'up')} or more`)
    const plan = useful ? `Make a plan with max_cost ${useful}, or ask` : 'Ask'
    throw new GdnError(
      'max_cost',
      `this may cost ${amountText(cost)}, but only ${amountText(available)} of ${amountText(limit)} is left`,
      { hint: `${NOTHING_SENT_TEXT}${plan} the operator to start gdn mcp with a higher limit.` },
    )
  }

  /**
   * Returns the amount that is counted for a run so far. Requests that the server doesn't limit are counted each time,
   * except repetitions of the same operation. After a restore, the backend may have lost the cost of a run, so the run
   * is counted again.
   */
  #findRunAmount({ run, connection }: Spending, { limit, before }: CostBound): RunAmount {
    if (run === null || (limit === null && !run.isOperation)) return { before, counted: 0n }
    const key = `${connection.client.incarnation()} ${run.id}`
    const countedRun = this.#runs.get(key) ?? { before, counted: 0n }
    this.#runs.set(key, countedRun)
    return countedRun
  }
}

const NOTHING_SENT_TEXT = 'Nothing was sent. '

/** Converts wei to the currency of the limit. If the price is null, the limit is in coins. */
const convertCost = (amount: bigint, price: Money | null): bigint =>
  price === null ? amount : toCurrencyValueRoundedUp(amount, price)

/** @param limit the `max_cost` argument in wei; null if there is none */
const costsNothing = (blockchain: Blockchain | null, limit: bigint | null = null, coin: string | null = null) =>
  [
    `This costs nothing: ${blockchain ?? 'the blockchain'} is an embedded chain or a test network.`,
    ...(limit === null
      ? []
      : [`Its coins have no value, but max_cost still applies: at most ${formatCoins(limit)} ${coinSymbol(coin)}.`]),
  ].join(' ')

/** Returns a sentence with the rest of the limit, or with the reason why nothing may be sent. */
async function remainingText(find: () => Promise<readonly [left: Money, limit: Money]>): Promise<string> {
  try {
    const [available, limit] = await find()
    return `The session has ${amountText(available)} of ${amountText(limit)} left.`
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    return `gdn mcp won't run this plan: ${error.message}. ${(error.hint ?? '').replace(NOTHING_SENT_TEXT, '')}`
  }
}

async function locateLimits(spending: Spending): Promise<Spending> {
  return { ...spending, blockchain: spending.blockchain ?? (await spending.findBlockchain?.()) ?? null }
}

/**
 * Returns the coin's symbol, or `coins` if the symbol isn't a short word. The symbol comes from the server, and this
 * text isn't marked as third-party data.
 */
const coinSymbol = (coin: string | null): string => (coin !== null && /^[a-z0-9]{1,12}$/i.test(coin) ? coin : 'coins')

/** Returns sentences with the maximum cost and the typical cost, if known. */
async function costText(
  bound: CostBound,
  { fees, coin }: FeesWithSource,
  gas: Parameters<QuoteSpending>[1],
): Promise<string> {
  const name = coinSymbol(coin)
  const used = await gas?.()
  const estimate = used == null ? '' : `Estimated cost: ${formatCoins(await typicalCost(used, fees), 'up')} ${name}. `
  // If the server doesn't enforce a limit, fees can exceed the estimate.
  const maximum = bound.limit === null ? 'Estimated maximum' : 'Maximum'
  return `${estimate}${maximum}: ${formatCoins(bound.total - bound.before, 'up')} ${name}.`
}

/**
 * Returns the limit to set for a run, in wei; null if none is specified.
 *
 * @throws GdnError if the server can't enforce the limit
 */
async function readCommandLimit(
  deps: Deps,
  { blockchain, connection }: Spending,
  text: unknown,
): Promise<bigint | null> {
  if (text === undefined || blockchain === null) return null
  const flags = { maxCost: parseMaxCostFlag(String(text), '--max-cost') }
  return await readEnforcedLimit(deps, connection, { flags, settings: connection.settings, blockchain })
}

const notAllowedError = (message: string) =>
  new GdnError('not_confirmed', message, {
    hint: `${NOTHING_SENT_TEXT}Ask the operator to start gdn mcp with --allow-spending and a limit.`,
  })

/** Returns the fees of a public network: `unknown` if they can't be estimated, and null if coins have no value. */
async function readPublicNetworkFees(deps: Deps, spending: Spending): Promise<FeesWithSource | 'unknown' | null> {
  return (await costsMoney(deps, spending.blockchain, spending.connection)) ? await readFees(deps, spending) : null
}

/** Returns the fees of a network; `unknown` if they can't be estimated. */
async function readFees(deps: Deps, { blockchain, connection }: Spending): Promise<FeesWithSource | 'unknown'> {
  // Solana fees aren't estimated.
  if (blockchain === null || !isEvm(blockchain)) return 'unknown'
  try {
    // Ignore environment variables, because a backend on this machine has the most reliable information about its
    // networks.
    const asking = connection.server.isLoopback ? { ...deps, env: {} } : deps
    return await findFees(asking, {}, blockchain, async () => connection)
  } catch (error) {
    if (deps.signals.signal.aborted) throw error
    return 'unknown'
  }
}

/** Returns the coin's price in the currency of the limit; null if the limit is in coins. */
async function findCoinPrice(
  deps: Deps,
  { settings }: Pick<Connection, 'settings'>,
  coin: string | null,
  currency: string,
): Promise<Money | null> {
  if (coin?.toUpperCase() === currency) return null
  const price = await findPrice(deps, {}, settings, coin)
  if (price !== null && price.currency === currency) return price
  throw uncountableError(
    `the price of ${coin === null ? 'the coin' : coinSymbol(coin)} in ${currency} is not known`,
    coin === null
      ? MONEY_PATTERN.test(currency)
        ? 'Configure price_url in your profile, without {coin}: the server returns no symbol for the coin.'
        : 'Set --max-cost to an amount in a currency, such as 10USD, and configure price_url in your profile.'
      : `Use coins, such as --max-cost 5${coinSymbol(coin)}, or configure price_url in your profile.`,
  )
}

/** Returns the maximum cost of requests on a public network. */
async function estimateCostBound(deps: Deps, spending: Spending, feesWithSource: FeesWithSource): Promise<CostBound> {
  const { connection, run } = spending
  const { client } = connection
  const { signal } = deps.signals
  await client.learnCapabilities({ signal })
  const hasLimits = client.supports('runCosts') === true
  if (hasLimits && run?.canLimit) return await findRunCostBound(deps, spending, run, feesWithSource)
  // The limit of an operation, or of a plan's changes, is compared with their cost at the current fees.
  const takesLimit = hasLimits && (run === null || run.isOperation)
  const usefulLimit = takesLimit
    ? { minWei: await estimateMaxSpending(spending, feesWithSource.fees), isAnyMore: false }
    : null
  const max = feesWithSource.max ?? (await readMaxFee(deps, spending)) ?? feesWithSource.fees.offered * FEE_HEADROOM
  return {
    limit: null,
    total: await estimateMaxSpending(spending, { ...feesWithSource.fees, offered: max }),
    before: 0n,
    usefulLimit,
  }
}

/** Returns the limit of a run. Neither raises nor lowers an existing limit, because the user may have set it. */
async function findRunCostBound(
  deps: Deps,
  spending: Spending,
  { id, isOperation, accepted, maxCost }: SpendingRun,
  { fees, coin }: FeesWithSource,
): Promise<CostBound> {
  const { client } = spending.connection
  const { signal } = deps.signals
  const costs = await readRunCosts({ client }, id, signal)
  const paid = BigInt(costs?.fee_paid ?? 0)
  const serverLimit = costs?.max_cost == null ? null : BigInt(costs.max_cost)
  if (serverLimit !== null && maxCost?.isSet === true && maxCost.wei !== serverLimit)
    throw otherLimitError(serverLimit, coin)
  const ownLimit = maxCost?.wei ?? serverLimit ?? paid + (await estimateMaxSpending(addNfts(spending, accepted), fees))
  const limit = serverLimit !== null && serverLimit < ownLimit ? serverLimit : ownLimit
  const minWei = paid + (await estimateMaxSpending({ kind: 'nft', count: 1 }, fees))
  const usefulLimit = isOperation ? null : { minWei, isAnyMore: true }
  return { limit, total: limit, before: BigInt(costs?.final_fee_paid ?? 0), usefulLimit }
}

const addNfts = (spending: SpendingKind, nfts: number): SpendingKind =>
  spending.kind === 'nft' ? { kind: 'nft', count: spending.count + nfts } : spending

const otherLimitError = (wei: bigint, coin: string | null) =>
  new GdnError(
    'usage',
    `the run has a limit of ${formatCoins(wei)} ${coinSymbol(coin)}, which gdn mcp does not change`,
    {
      place: { field: 'max_cost' },
      hint: 'Nothing was sent. Omit max_cost, or ask the operator to change the limit.',
    },
  )

/** Returns the maximum gas price that the server ever pays; null if the server doesn't report it. */
async function readMaxFee({ signals: { signal } }: Deps, { connection, blockchain }: Spending): Promise<bigint | null> {
  if (blockchain === null) return null
  try {
    const { fees } = await connection.client.call('getfees', { blockchain }, { signal })
    return fees.gas_price.max === undefined ? null : BigInt(fees.gas_price.max)
  } catch (error) {
    if (signal.aborted) throw error
    return null
  }
}

const SET_RPC_URL_HINT = 'Set GDN_RPC_URL to the URL of a node on the network.'

/** Returns the error for requests that aren't sent, because their cost can't be determined. */
const uncountableError = (message: string, hint: string) =>
  new GdnError('not_confirmed', `${message}, so the cost can't be counted toward the limit of the session`, {
    hint: `${NOTHING_SENT_TEXT}The operator of gdn mcp can fix this: ${hint}`,
  })

const MONEY_PATTERN = /^(USD|EUR|GBP|JPY|CHF)$/

const amountText = ({ amount, currency }: Money): string =>
  MONEY_PATTERN.test(currency) ? moneyText({ amount, currency }) : `${formatCoins(amount)} ${currency}`

/** Formats an amount as a `max_cost`, rounded down to cents; null if it is less than a cent. */
function limitText({ amount, currency }: Money): string | null {
  if (!MONEY_PATTERN.test(currency)) return formatCoins(amount)
  const cents = (amount / CENT) * CENT
  return cents === 0n ? null : moneyText({ amount: cents, currency }).replace(' ', '')
}
