import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { TITLES } from '../../api/errors.ts'
import { HEADERS, RUN_ERRORS } from '../../api/headers.ts'
import { inCoins } from '../../core/units.ts'
import { coinOf } from '../chain/evm/cost/coin.ts'
import { grantBytes, mintBytes } from '../chain/evm/cost/drop-gas.ts'
import { worstCost } from '../chain/evm/cost/network-fees.ts'
import { budgetOf, leftOf, type RunBudget, type WorstFees } from '../chain/evm/cost/run-budget.ts'
import { limitFee } from '../chain/evm/cost/run-fee.ts'
import { grantGasLimit, mintGasLimit } from '../chain/evm/gas-limits.ts'
import {
  assignTransactions,
  type CostLimitedRun,
  findLimited,
  findUnlimited,
  lockRun,
  lockUnsigned,
  setLimit,
  transactionsOfRun,
} from '../store/run-costs.ts'
import { startRun } from '../store/runs.ts'
import type { Db } from '../store/schema.ts'
import { feesOf } from './get-fees.ts'
import { badRequest, otherCollection, Refusal } from './refusal.ts'
import type { MaxCost, ServiceDeps } from './services.ts'

const RETRY_SECONDS = 5

/** The limit of a run and the fees to check a request with. Null if the run has no limit. */
export type CostCheck = { maxCost: MaxCost | null; fees: WorstFees; coin: string | null } | null

/** Reads the fees that a run with a limit is checked with. Call it before the transaction that accepts the rows. */
export async function prepareCostCheck(
  { store, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  { accountId, run, maxCost = null }: { accountId: string; run: string | null; maxCost?: MaxCost | null | undefined },
  blockchain: Blockchain,
): Promise<CostCheck> {
  if (run === null) return null
  if (maxCost === null && ((await findLimited(store.db, { accountId, run }))?.max_cost ?? null) === null) return null
  if (!isEvm(blockchain)) throw badRequest(`the cost of a run on ${blockchain} can't be limited`)
  const fees = await feesOf({ chains }, blockchain)
  return { maxCost, fees, coin: coinOf((await chains.network(blockchain)).chainId) }
}

interface NewRows {
  accountId: string
  run: string
  /** NFTs of one request, for one receiver. */
  count: number
  isGrant: boolean
  isDynamic: boolean
}

/**
 * Reserves the worst case of NFTs in the transaction that accepts them, before they are added. The limit of a run is set
 * by its first request. Later requests only lower it, unless a person sets it.
 *
 * @throws Refusal 409 if the rows don't fit
 */
export async function reserveCost(db: Db, check: NonNullable<CostCheck>, rows: NewRows): Promise<void> {
  const each = worstOfRow(rows)
  const limited = await lockLimit(db, check, rows, each)
  if (limited === null) return
  const { run, fees } = limited
  const worst = { gasLimit: BigInt(run.nft_gas * rows.count), bytes: run.nft_bytes * rows.count }
  refuseAbove(await budgetOf(db, run, fees), worstCost(worst, fees), check.coin)
}

/**
 * Reserves the worst case of a change in the transaction that accepts it, after its rows are added.
 *
 * @throws Refusal 409 if it doesn't fit
 */
async function reserveChange(
  db: Db,
  check: NonNullable<CostCheck>,
  { accountId, run, requestId }: { accountId: string; run: string; requestId: string },
): Promise<void> {
  const limited = await lockLimit(db, check, { accountId, run }, null)
  if (limited === null) return
  const budget = await budgetOf(db, limited.run, limited.fees)
  const own = budget.changes.filter(({ request_id }) => request_id === requestId)
  const needed = own.reduce((sum, { worst }) => sum + worst, 0n)
  const others = budget.changes.length - own.length
  refuseAbove({ ...budget, reserved: budget.reserved - needed, unsigned: budget.unsigned + others }, needed, check.coin)
}

/** Records the run of a change in the transaction that accepts it, after its rows are added, and reserves its cost. */
export async function startChange(
  db: Db,
  {
    acceptedAt,
    costCheck,
    ...of
  }: { accountId: string; run: string | null; requestId: string; acceptedAt: number; costCheck: CostCheck },
  { id }: { id: string },
): Promise<void> {
  const { accountId, run, requestId } = of
  if (run === null) return
  const started = { account_id: accountId, run, collection_id: id, started_at: acceptedAt }
  if (!(await startRun(db, started))) throw otherCollection(run)
  if (costCheck !== null) await reserveChange(db, costCheck, { accountId, run, requestId })
}

/**
 * Locks a run, and sets its limit. Returns null without one.
 *
 * @param each the most that one of the NFTs to accept can use; null for a change
 */
export async function lockLimit(
  db: Db,
  { maxCost, fees }: NonNullable<CostCheck>,
  { accountId, run }: { accountId: string; run: string },
  each: { gas: number; bytes: number } | null,
): Promise<{ run: CostLimitedRun; fees: WorstFees } | null> {
  const unlimited = maxCost === null ? null : await findUnlimited(db, { accountId, run })
  // A transaction that is being signed is not assigned to it yet.
  if (unlimited !== null) await lockUnsigned(db, unlimited)
  const row = await lockRun(db, { accountId, run })
  const known = row.max_cost === null ? null : BigInt(row.max_cost)
  const limit = limitOf(known, maxCost)
  if (limit === null) return null
  const isOpen = each === null && row.nft_gas === null && (await transactionsOfRun(db, row)).open > 0
  const most = isOpen ? worstOfRow({ count: 1, isGrant: false, isDynamic: true }) : each
  const limited = {
    ...row,
    max_cost: String(limit),
    nft_gas: Math.max(Number(row.nft_gas ?? 0), most?.gas ?? 0),
    nft_bytes: Math.max(Number(row.nft_bytes ?? 0), most?.bytes ?? 0),
  }
  if (known === null) await assignTransactions(db, limited)
  await setLimit(db, limited, limited)
  return { run: limited, fees: { ...fees, offered: limitFee(fees.offered, row.max_fee) } }
}

/**
 * Stores the limit that a person has set, although its request was refused because of it. Otherwise the run has no limit
 * for other machines. Call it when the transaction that accepts the request was rolled back.
 */
export async function keepRefusedLimit(
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

/** @throws Refusal 409 if a request needs more than what is left */
function refuseAbove(budget: Omit<RunBudget, 'changes'>, needed: bigint, coin: string | null): void {
  if (needed <= leftOf(budget)) return
  const isPending = budget.pending > 0n || budget.unsigned > 0
  const name = coin ?? 'coins'
  const left = leftOf(budget)
  const [paid, reserved] = [inCoins(budget.paid), inCoins(budget.pending + budget.reserved, 'up')]
  throw new Refusal(
    409,
    TITLES.conflict,
    `this request may cost up to ${inCoins(needed, 'up')} ${name}, but ${inCoins(left > 0n ? left : 0n, 'down')} ${name} are left of the run's limit of ${inCoins(budget.max, 'down')} ${name} (${paid} paid, ${reserved} reserved for what is pending); nothing of it was accepted`,
    {
      [HEADERS.errorCode]: RUN_ERRORS.maxCost,
      ...(isPending ? { [HEADERS.retryAfter]: String(RETRY_SECONDS) } : {}),
    },
  )
}

function limitOf(known: bigint | null, given: MaxCost | null): bigint | null {
  if (given === null) return known
  return known === null || given.isSet || given.wei < known ? given.wei : known
}

/** One transaction mints the rows of a request, which have one receiver. */
function worstOfRow({ count, isGrant, isDynamic }: Omit<NewRows, 'accountId' | 'run'>): { gas: number; bytes: number } {
  const limit = isGrant ? grantGasLimit(Array(count)) : mintGasLimit([{ receiver: '0x', count }], true, isDynamic)
  const bytes = isGrant ? grantBytes(count) : mintBytes(1)
  return { gas: Math.ceil(Number(limit) / count), bytes: Math.ceil(bytes / count) }
}
