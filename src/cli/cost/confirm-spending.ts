import { type Blockchain, isTestnet } from '../../api/blockchains.ts'
import { learnSupport } from '../../client/learn-support.ts'
import { readRunCosts } from '../../client/run-costs.ts'
import { formatCoins, formatGwei } from '../../core/units.ts'
import { isWithoutValue, networkText } from '../connect/is-without-value.ts'
import type { Connection, Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { findMaximumCost, noteCost, type PricedRequests, printNotes } from './at-most.ts'

/**
 * Returns whether requests on a blockchain cost money. They are free on a testnet, or if the server runs on this
 * machine and reports that the blockchain's coins have no value. Other servers aren't trusted, because their operators
 * may charge for requests on any chain. Each free request contains this condition, because the server may have been
 * restarted with different networks, or the user may have specified the wrong blockchain.
 *
 * @param blockchain null if unknown. It may be a public network.
 * @throws GdnError `unreachable` if the server doesn't respond
 */
export async function costsMoney(
  { signals, sleep }: Pick<Deps, 'signals' | 'sleep'>,
  blockchain: Blockchain | null,
  { client, server }: Pick<Connection, 'client' | 'server'>,
): Promise<boolean> {
  const isOnTestnet = blockchain !== null && isTestnet(blockchain)
  if (!isOnTestnet && server.isLoopback) await learnSupport(client, signals.signal, { sleep, random: Math.random })
  const isFree = isWithoutValue(blockchain, { client, server })
  client.onlyWithoutValue(isFree)
  return !isFree
}

interface SpendingQuestion {
  yes: boolean | undefined
  blockchain: Blockchain | null
  action: string
  /** The priced requests; null if their gas and data are unknown. */
  priced: PricedRequests | null
}

/**
 * Asks the user to confirm the maximum cost before anything is spent on a public network. Without a terminal, --yes is
 * required.
 */
export async function confirmSpending(
  deps: Pick<Deps, 'io' | 'signals' | 'sleep'>,
  connection: Pick<Connection, 'client' | 'server'>,
  { yes, blockchain, action, priced }: SpendingQuestion,
): Promise<void> {
  if (yes || !(await costsMoney(deps, blockchain, connection))) return
  const where = blockchain === null ? '' : ` on ${blockchain}, a public network,`
  const on = blockchain ?? (await priced?.findBlockchain?.()) ?? null
  const cost = priced !== null ? await findMaximumCost(deps, connection, on, priced) : null
  printNotes(deps, cost?.notes ?? [])
  await deps.io.confirm(
    `${safe(action)}${where} through ${connection.server.origin}${safe(cost?.text ?? '')}?`,
    '--yes',
  )
}

interface ChangeQuestion {
  yes: boolean | undefined
  action: string
  priced: PricedRequests
  /** A note that precedes the question. */
  note?: string
  /** A sentence that follows the question. */
  effect?: string
}

/**
 * Asks the user to confirm changes of NFTs and their maximum cost. With `yes`, only prints notes about the cost.
 *
 * @throws GdnError `not_confirmed`
 */
export async function confirmChanges(
  deps: Pick<Deps, 'io' | 'signals'>,
  connection: Pick<Connection, 'client' | 'server'>,
  blockchain: Blockchain,
  { yes, action, priced, note, effect }: ChangeQuestion,
): Promise<void> {
  if (yes) return await noteCost(deps, connection, blockchain, priced)
  const cost = await findMaximumCost(deps, connection, blockchain, priced)
  printNotes(deps, cost.notes)
  if (note !== undefined) deps.io.note(note)
  const question = `${action} on ${networkText(blockchain, connection, ',')} through ${connection.server.origin}${cost.text}?`
  await deps.io.confirm(safe(effect === undefined ? question : `${question} ${effect}`), '--yes')
}

export const ACCEPTED_CONTINUE_NOTE = 'The backend can then send accepted requests that wait for the limit.'

/** New limits of a run, in wei; null if the command sets none. */
interface NewLimits {
  run: string
  maxCost: bigint | null
  maxFee?: bigint | null
}

/**
 * Asks for confirmation before a command raises a limit, if the server has accepted requests of the run that aren't
 * paid for yet. A higher limit lets the server continue these requests. Requests that the command itself sends have
 * separate prompts, which also show the limit.
 *
 * @param effect a sentence about the effect of a higher limit
 */
export async function confirmRaise(
  deps: Pick<Deps, 'io' | 'signals' | 'sleep'>,
  yes: boolean | undefined,
  blockchain: Blockchain,
  connection: Pick<Connection, 'client' | 'server'>,
  { effect, ...limits }: NewLimits & { effect: string },
): Promise<void> {
  if (yes || !isLimit(limits) || !(await costsMoney(deps, blockchain, connection))) return
  const raised = await describeRaisedLimits(deps, connection, limits)
  if (raised.length === 0) return
  const question = `Raise the ${raised.join(' and the ')} on ${blockchain}, a public network, through ${connection.server.origin}? ${effect}`
  await deps.io.confirm(safe(question), '--yes')
}

const isLimit = ({ maxCost, maxFee = null }: NewLimits): boolean => maxCost !== null || maxFee !== null

/**
 * Describes the limits of a run that a command raises, if the server has accepted requests of the run that aren't paid
 * for yet. A higher limit lets the server continue these requests.
 */
export async function describeRaisedLimits(
  deps: Pick<Deps, 'signals'>,
  { client }: Pick<Connection, 'client'>,
  limits: NewLimits,
): Promise<string[]> {
  if (!isLimit(limits)) return []
  const { run, maxCost, maxFee = null } = limits
  await client.learnCapabilities({ signal: deps.signals.signal })
  if (client.supports('runCosts') !== true) {
    // The server doesn't report whether this change raises the maximum fee.
    return maxFee === null ? [] : [`maximum fee of this run to ${formatGwei(maxFee)} gwei`]
  }
  const costs = await readRunCosts({ client }, run, deps.signals.signal)
  if (costs === null || (costs.counted != null && BigInt(costs.counted) <= BigInt(costs.fee_paid))) return []
  const coin = costs.currency ?? 'coins'
  const raised: string[] = []
  if (maxCost !== null && costs.max_cost !== null && maxCost > BigInt(costs.max_cost)) {
    raised.push(`limit of this run from ${formatCoins(BigInt(costs.max_cost))} to ${formatCoins(maxCost)} ${coin}`)
  }
  if (maxFee !== null && costs.max_fee !== null && maxFee > BigInt(costs.max_fee)) {
    raised.push(`maximum fee of this run from ${formatGwei(BigInt(costs.max_fee))} to ${formatGwei(maxFee)} gwei`)
  }
  return raised
}
