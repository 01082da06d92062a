import { isEvm, isTestnet } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import { formatUnits } from '../../core/units.ts'
import { costsMoney } from '../connect/confirm-spending.ts'
import { findPrice } from '../cost/estimate.ts'
import { findFees } from '../cost/fees.ts'
import { type Money, moneyText, worthOf } from '../cost/price.ts'
import { worstCaseOf } from '../cost/worst-case.ts'
import type { Deps, PermitSpending, Spending } from '../deps.ts'

/**
 * Counts what a session may cost on public networks. Every request is counted at the most that it can cost before it is
 * sent, and stays counted, so that calls at the same time can't exceed the limit together.
 */
export class Ledger {
  readonly #limit: Money | null
  #counted = 0n

  /** @param limit null permits nothing */
  constructor(limit: Money | null) {
    this.#limit = limit
  }

  get counted(): Money | null {
    return this.#limit === null ? null : { ...this.#limit, amount: this.#counted }
  }

  /** Returns the check for the requests of a command. @throws GdnError `not_confirmed`, `max_cost` */
  permit(deps: Deps): PermitSpending {
    return async (asked) => {
      const spending = { ...asked, blockchain: asked.blockchain ?? (await asked.findBlockchain?.()) ?? null }
      const fees = await feesOnPublicNetwork(deps, spending)
      if (fees === null) return
      const limit = this.#limit
      if (limit === null)
        throw notAllowed(`spending on ${spending.blockchain ?? 'an unknown blockchain'} is not allowed`)
      const cost = await inCurrency(deps, spending, fees, limit.currency)
      // Nothing may be awaited between the check and the count.
      if (this.#counted + cost > limit.amount) {
        const left = { ...limit, amount: limit.amount - this.#counted }
        throw new GdnError(
          'max_cost',
          `this may cost ${amountText({ amount: cost, currency: limit.currency })}, and ${amountText(left)} of ${amountText(limit)} are left`,
          { hint: 'Nothing was sent. Ask the operator of gdn mcp for a higher --max-cost.' },
        )
      }
      this.#counted += cost
    }
  }
}

const notAllowed = (message: string) =>
  new GdnError('not_confirmed', message, {
    hint: 'Nothing was sent. Ask the operator to start gdn mcp with --allow-spending and --max-cost.',
  })

type Fees = Awaited<ReturnType<typeof findFees>>

/** Returns the fees of a network where coins have value; null for one where they have none. */
async function feesOnPublicNetwork(deps: Deps, { blockchain, connection }: Spending): Promise<Fees | 'unknown' | null> {
  if (blockchain === null) return 'unknown'
  if (isTestnet(blockchain)) return null
  const isLocal = !costsMoney(blockchain, connection.server)
  // The fees of Solana are not estimated, and a backend on this machine doesn't say whether it is the public network.
  if (!isEvm(blockchain)) return 'unknown'
  try {
    const fees = await findFees(isLocal ? { ...deps, env: {} } : deps, {}, blockchain, async () => connection)
    return isLocal && fees.isSimulated ? null : fees
  } catch (error) {
    if (deps.signals.signal.aborted) throw error
    return 'unknown'
  }
}

async function inCurrency(deps: Deps, spending: Spending, fees: Fees | 'unknown', currency: string): Promise<bigint> {
  const { blockchain, connection } = spending
  if (fees === 'unknown') {
    throw notCounted(
      `the cost on ${blockchain ?? 'an unknown blockchain'} can't be estimated`,
      'Set GDN_RPC_URL to a node of the network.',
    )
  }
  const wei = await worstCaseOf(spending, fees.fees)
  if (fees.coin?.toUpperCase() === currency) return wei
  const price = await findPrice(deps, {}, connection.settings, fees.coin)
  if (price === null || price.currency !== currency) {
    throw notCounted(
      `the price of ${fees.coin ?? 'the coin'} in ${currency} is not known`,
      'Configure price_url in your profile.',
    )
  }
  return worthOf(wei, price).amount
}

/** What can't be counted isn't sent. */
const notCounted = (message: string, hint: string) =>
  new GdnError('not_confirmed', `${message}, so it can't be counted toward --max-cost`, {
    hint: `Nothing was sent. The operator of gdn mcp can fix it: ${hint}`,
  })

const COINS = /^(USD|EUR|GBP|JPY|CHF)$/
const SHOWN_DECIMALS = 6

const amountText = ({ amount, currency }: Money): string =>
  COINS.test(currency) ? moneyText({ amount, currency }) : `${formatUnits(amount, SHOWN_DECIMALS)} ${currency}`
