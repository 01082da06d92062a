import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { TITLES } from '../../api/errors.ts'
import { HEADERS, RUN_ERRORS } from '../../api/headers.ts'
import { grantBytes, mintBytes } from '../chain/evm/cost/drop-gas.ts'
import { worstCost } from '../chain/evm/cost/network-fees.ts'
import { budgetOf, leftOf, type WorstFees } from '../chain/evm/cost/run-budget.ts'
import { limitFee } from '../chain/evm/cost/run-fee.ts'
import { grantGasLimit, mintGasLimit } from '../chain/evm/gas-limits.ts'
import { assignTransactions, findLimited, lockRun, setLimit } from '../store/run-costs.ts'
import type { Db } from '../store/schema.ts'
import { feesOf } from './get-fees.ts'
import { badRequest, Refusal } from './refusal.ts'
import type { MaxCost, ServiceDeps } from './services.ts'

const RETRY_SECONDS = 5

/** What a request with rows of a run is checked with. Null if the run has no limit. */
export type CostCheck = { maxCost: MaxCost | null; fees: WorstFees } | null

/** Reads the fees that a run with a limit is checked with. Call it before the transaction that accepts the rows. */
export async function prepareCostCheck(
  { store, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  { accountId, run, maxCost = null }: { accountId: string; run: string | null; maxCost?: MaxCost | null | undefined },
  blockchain: Blockchain,
): Promise<CostCheck> {
  if (run === null) return null
  if (maxCost === null && ((await findLimited(store.db, { accountId, run }))?.max_cost ?? null) === null) return null
  if (!isEvm(blockchain)) throw badRequest(`the cost of a run on ${blockchain} can't be limited`)
  return { maxCost, fees: await feesOf({ chains }, blockchain) }
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
 * Reserves the worst case of rows in the transaction that accepts them. The limit of a run is set by its first request.
 * Later requests only lower it, unless a person sets it.
 *
 * @throws Refusal 409 if the rows don't fit
 */
export async function reserveCost(db: Db, check: NonNullable<CostCheck>, rows: NewRows): Promise<void> {
  const { accountId, run, count } = rows
  const { maxCost } = check
  const row = await lockRun(db, { accountId, run })
  const fees = { ...check.fees, offered: limitFee(check.fees.offered, row.max_fee) }
  const known = row.max_cost === null ? null : BigInt(row.max_cost)
  const limit = limitOf(known, maxCost)
  if (limit === null) return
  const each = worstOfRow(rows)
  const limited = {
    ...row,
    max_cost: String(limit),
    nft_gas: Math.max(Number(row.nft_gas ?? 0), each.gas),
    nft_bytes: Math.max(Number(row.nft_bytes ?? 0), each.bytes),
  }
  if (known === null) await assignTransactions(db, limited)
  await setLimit(db, limited, limited)
  const budget = await budgetOf(db, limited, fees)
  const needed = worstCost({ gasLimit: BigInt(limited.nft_gas * count), bytes: limited.nft_bytes * count }, fees)
  const left = leftOf(budget)
  if (needed <= left) return
  const isPending = budget.pending > 0n || budget.unsigned > 0
  throw new Refusal(
    409,
    TITLES.conflict,
    `the run may cost ${limit} wei: ${budget.paid} are spent, ${budget.pending + budget.reserved} are reserved, and this request may need ${needed}; nothing of it was accepted`,
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
function worstOfRow({ count, isGrant, isDynamic }: NewRows): { gas: number; bytes: number } {
  const limit = isGrant ? grantGasLimit(Array(count)) : mintGasLimit([{ receiver: '0x', count }], true, isDynamic)
  const bytes = isGrant ? grantBytes(count) : mintBytes(1)
  return { gas: Math.ceil(Number(limit) / count), bytes: Math.ceil(bytes / count) }
}
