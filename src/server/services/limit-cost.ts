import type { Blockchain } from '../../api/blockchains.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS, RUN_ERRORS } from '../../api/headers.ts'
import type { RunMaxCost } from '../../api/run-max-cost.ts'
import { formatCoins, maxBigint } from '../../core/units.ts'
import type { MaxCostFees, NetworkFees, RunBudget } from '../chain/fees.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import type { GasFacts } from '../pipeline/facts.ts'
import {
  assignTransactionsToRun,
  type CostLimitedRun,
  findLimitedRunByName,
  findRunWithoutCostLimit,
  lockRun,
  lockSigningForRun,
  readTransactionsOfRun,
  setLimit,
  type UnsignedChange,
} from '../store/run-costs.ts'
import { startRun } from '../store/runs.ts'
import type { Db } from '../store/schema.ts'
import { requireFees } from './get-fees.ts'
import { badRequestError, Refusal } from './refusals.ts'
import type { ServiceDeps } from './services.ts'

const RETRY_SECONDS = 5

/** The limit against which a request is checked, and the fees for the check. Null if the run has no limit. */
export type CostCheck = { maxCost: RunMaxCost | null; gas: GasFacts; fees: NetworkFees; coin: string | null } | null

/**
 * Reads the fees for checking a request against its run's limit. Call this function before the transaction that accepts
 * the rows.
 */
export async function prepareCostCheck(
  { store, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  {
    accountId,
    run,
    maxCost = null,
  }: { accountId: string; run: string | null; maxCost?: RunMaxCost | null | undefined },
  blockchain: Blockchain,
): Promise<CostCheck> {
  if (run === null) return null
  if (maxCost === null && ((await findLimitedRunByName(store.db, { accountId, run }))?.max_cost ?? null) === null)
    return null
  const { gas } = chainFacts(chains, blockchain)
  if (gas === undefined) throw badRequestError(`the cost of a run on ${blockchain} can't be limited`)
  return { maxCost, gas, fees: await requireFees(gas), coin: await gas.readCoin() }
}

interface NewRows {
  accountId: string
  run: string
  /** Number of NFTs, all from one request and for one receiver. */
  count: number
  isGrant: boolean
  isDynamic: boolean
}

/**
 * Reserves the maximum cost of NFTs. Call this function in the database transaction that accepts the NFTs, before they
 * are added. The first request with a limit sets the limit of its run. Later requests can only lower the limit, unless
 * the user sets it explicitly.
 *
 * @throws Refusal 409 if the NFTs could exceed the limit
 */
export async function reserveCost(db: Db, check: NonNullable<CostCheck>, rows: NewRows): Promise<void> {
  const { gas, fees } = check
  const run = await lockLimit(db, check, rows, gas.maxPerNft(rows))
  if (run === null) return
  const neededAt = async (at: MaxCostFees) => gas.computeMaxCostOfNfts(run, rows.count, at)
  await refuseOverBudget(check, await gas.readBudget(db, run, fees), await neededAt(fees), neededAt)
}

/**
 * Reserves the maximum cost of a change. Call this function in the transaction that accepts the change, after its rows
 * are added.
 *
 * @throws Refusal 409 if the change could exceed the limit
 */
async function reserveChange(
  db: Db,
  check: NonNullable<CostCheck>,
  { accountId, run, requestId }: { accountId: string; run: string; requestId: string },
): Promise<void> {
  const limited = await lockLimit(db, check, { accountId, run }, null)
  if (limited === null) return
  const budget = await check.gas.readBudget(db, limited, check.fees)
  const isOwn = ({ request_id }: UnsignedChange) => request_id === requestId
  const neededOf = ({ changes }: RunBudget) => changes.filter(isOwn).reduce((sum, { maxCost }) => sum + maxCost, 0n)
  const needed = neededOf(budget)
  const otherChanges = budget.changes.filter((change) => !isOwn(change)).length
  const { reserved, available, unsigned } = budget
  const before = {
    ...budget,
    reserved: reserved - needed,
    available: available + needed,
    unsigned: unsigned + otherChanges,
  }
  await refuseOverBudget(check, before, needed, async (at) => neededOf(await check.gas.readBudget(db, limited, at)))
}

/**
 * Records a run unless it exists. Call this function in the transaction that accepts a request of the run, or sets its
 * limit.
 *
 * @throws Refusal if the run belongs to another collection
 */
export async function joinRun(db: Db, run: Parameters<typeof startRun>[1]): Promise<void> {
  if (!(await startRun(db, run))) throw badRequestError(`the run ${run.run} belongs to another collection`)
}

interface AcceptedChange {
  accountId: string
  run: string | null
  requestId: string
  acceptedAt: number
  costCheck: CostCheck
}

/**
 * Records the run of a change and reserves the cost of the change. Call this function in the transaction that accepts
 * the change, after its rows are added.
 */
export async function startChange(
  db: Db,
  { accountId, run, requestId, acceptedAt, costCheck }: AcceptedChange,
  { id: collection_id }: { id: string },
): Promise<void> {
  if (run === null) return
  await joinRun(db, { account_id: accountId, run, collection_id, started_at: acceptedAt })
  if (costCheck !== null) await reserveChange(db, costCheck, { accountId, run, requestId })
}

/**
 * Locks a run and sets its limit. Returns null if there is no limit.
 *
 * @param each the maximum gas and bytes of one of the NFTs to accept; null for a change
 */
export async function lockLimit(
  db: Db,
  { maxCost, gas }: NonNullable<CostCheck>,
  { accountId, run }: { accountId: string; run: string },
  each: { gas: number; bytes: number } | null,
): Promise<CostLimitedRun | null> {
  const unlimited = maxCost === null ? null : await findRunWithoutCostLimit(db, { accountId, run })
  // A transaction that is being signed isn't assigned to the run yet, so wait until it is signed.
  if (unlimited !== null) await lockSigningForRun(db, unlimited)
  const row = await lockRun(db, { accountId, run })
  const stored = row.max_cost === null ? null : BigInt(row.max_cost)
  const limit = chooseLimit(stored, maxCost)
  if (limit === null) return null
  const isOpen = each === null && row.nft_gas === null && (await readTransactionsOfRun(db, row)).open > 0
  const maxUse = isOpen ? gas.maxPerNft({ count: 1, isGrant: false, isDynamic: true }) : each
  const limited = {
    ...row,
    max_cost: String(limit),
    nft_gas: Math.max(Number(row.nft_gas ?? 0), maxUse?.gas ?? 0),
    nft_bytes: Math.max(Number(row.nft_bytes ?? 0), maxUse?.bytes ?? 0),
  }
  if (stored === null) await assignTransactionsToRun(db, limited)
  await setLimit(db, limited, limited)
  return limited
}

/**
 * Stores a limit that the user set explicitly, even though it caused the request to be rejected. Otherwise, the run
 * would have no limit for requests from other machines. Call this function after the request's transaction was rolled
 * back.
 */
export async function storeRefusedLimit(
  { store }: Pick<ServiceDeps, 'store'>,
  error: unknown,
  check: CostCheck,
  { accountId, run, collectionId, at }: { accountId: string; run: string | null; collectionId: string; at: number },
): Promise<void> {
  if (run === null || check?.maxCost?.isSet !== true) return
  if (!(error instanceof Refusal) || error.headers[HEADERS.errorCode] !== RUN_ERRORS.maxCost) return
  await store.transaction(async (db) => {
    const started = { account_id: accountId, run, collection_id: collectionId, started_at: at }
    if (await startRun(db, started)) await lockLimit(db, check, { accountId, run }, null)
  })
}

/**
 * Rejects a request that exceeds the budget of its run.
 *
 * @param needed the maximum cost of the request
 * @param neededAt returns its maximum cost at other fees
 * @throws Refusal 409 if a request needs more than the unused part of the limit
 */
async function refuseOverBudget(
  { fees, coin }: NonNullable<CostCheck>,
  budget: Omit<RunBudget, 'changes'>,
  needed: bigint,
  neededAt: (fees: MaxCostFees) => Promise<bigint>,
): Promise<void> {
  const { available } = budget
  if (needed <= available) return
  const unpaid = budget.max - budget.paid
  // Pending transactions may cost less than the reserved amount, so more of the limit may become free later.
  const isPending = (budget.pending > 0n || budget.unsigned > 0) && needed <= unpaid
  const before = feesBeforeSpike(fees)
  const isTemporary = isPending || (before !== null && (await neededAt(before)) <= unpaid)
  const name = coin ?? 'coins'
  const reserved = budget.pending + budget.reserved
  const used = [
    budget.paid === 0n ? 'nothing has been spent yet' : `${formatCoins(budget.paid)} ${name} has been spent`,
    ...(reserved === 0n ? [] : [`${formatCoins(reserved, 'up')} ${name} is reserved for pending requests`]),
  ].join(' and ')
  throw new Refusal(
    409,
    ERROR_TITLES.conflict,
    `this request may cost up to ${formatCoins(needed, 'up')} ${name}, but only ${formatCoins(maxBigint(0n, available), 'down')} ${name} is left of the run's limit of ${formatCoins(budget.max, 'down')} ${name} (${used}); a limit of ${formatCoins(budget.max - available + needed, 'up')} ${name} is enough; nothing was accepted`,
    {
      [HEADERS.errorCode]: RUN_ERRORS.maxCost,
      ...(isTemporary ? { [HEADERS.retryAfter]: String(RETRY_SECONDS) } : {}),
    },
  )
}

/** Returns the fees of recent blocks if the current fees are at least twice as high; otherwise null. */
function feesBeforeSpike(fees: NetworkFees): MaxCostFees | null {
  const { low, typical, offered } = fees
  return typical === 0n || 2n * low > typical ? null : { ...fees, offered: (offered * low) / typical }
}

function chooseLimit(stored: bigint | null, limit: RunMaxCost | null): bigint | null {
  if (limit === null) return stored
  return stored === null || limit.isSet || limit.wei < stored ? limit.wei : stored
}
