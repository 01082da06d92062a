import { parseTransaction } from 'viem'
import type { Blockchain } from '../../../../api/blockchains.ts'
import { maxBigint } from '../../../../core/units.ts'
import { CANCELS, listAttempts } from '../../../store/attempts.ts'
import { type LimitedRun, limitedRuns } from '../../../store/run-costs.ts'
import type { Db } from '../../../store/schema.ts'
import { listSignedTransactions } from '../../../store/transactions.ts'
import { hasMaxCost, type NetworkFees } from '../../fees.ts'
import type { EvmNetwork, Fees, Hex } from '../network.ts'
import { type PendingCall, parsePendingCall } from './debt.ts'
import { readDataFee } from './network-fees.ts'
import { offeredFees, raiseFees } from './replacement-fees.ts'
import { dataCost, maxCostOfSignings, readRunBudget } from './run-budget.ts'
import { limitFees } from './run-fee.ts'

/** A pending transaction with the fields that determine its replacement. */
interface Unmined {
  id: string
  raw: string
}

/** The fees that determine a replacement. Amounts are in wei. */
export interface ReplacingFees {
  suggested: Fees
  /** The base fee of the next block. */
  base: bigint
  data: NetworkFees['data']
}

/** A transaction whose maximum price is below the next base fee, with its replacement. Amounts are in wei. */
export interface Replacement<Row extends Unmined> {
  transaction: Row
  /** The maximum gas prices of the transaction and of its replacement. */
  offered: bigint
  raised: bigint
  /** Maximum cost of the replacement without the data fee. */
  cost: bigint
  /** Maximum additional cost of the replacement, compared with the most expensive earlier signed version. */
  increase: bigint
}

/**
 * Returns the transactions whose maximum price is below the next base fee, with their replacements. Omits canceled
 * transactions, because the limits of a run don't apply to them.
 *
 * @param maxFee the maximum gas price of the run; null without a limit
 */
export async function computeReplacements<Row extends Unmined>(
  db: Db,
  transactions: readonly Row[],
  maxFee: string | null,
  current: ReplacingFees,
): Promise<Replacement<Row>[]> {
  const low = transactions.flatMap((transaction) => {
    const call = parseTransaction(transaction.raw as Hex)
    const fees = offeredFees(call)
    return fees.maxFeePerGas < current.base ? [{ transaction, call, fees }] : []
  })
  if (low.length === 0) return []
  const attempts = await listAttempts(
    db,
    low.map(({ transaction }) => transaction.id),
  )
  const suggested = limitFees(current.suggested, maxFee)
  return low.flatMap(({ transaction, call: { gas = 0n, value = 0n }, fees }) => {
    const earlier = attempts.get(transaction.id) ?? []
    if ((earlier.at(-1)?.cancels ?? CANCELS.nothing) !== CANCELS.nothing) return []
    const raised = raiseFees(fees, suggested).maxFeePerGas
    const cost = gas * raised + value
    const signings = [transaction.raw, ...earlier.map(({ raw }) => raw)]
    const increase = cost + dataCost(transaction.raw.length / 2, current) - maxCostOfSignings(signings, current)
    return [{ transaction, offered: fees.maxFeePerGas, raised, cost, increase: maxBigint(0n, increase) }]
  })
}

/** Returns the pending transactions of a signer, each with the fees at which it is expected to be mined. */
export async function readPendingCalls(
  db: Db,
  { blockchain, request }: Pick<EvmNetwork, 'request'> & { blockchain: Blockchain },
  signer: string,
  suggested: Fees,
): Promise<PendingCall[]> {
  const rows = await listSignedTransactions(db, blockchain, signer)
  const { baseFee: base = 0n } = suggested
  const calls = new Map(rows.map(({ id, raw }) => [id, parsePendingCall(raw as Hex)]))
  const low = rows.filter(({ raw }) => offeredFees(parseTransaction(raw as Hex)).maxFeePerGas < base)
  if (low.length === 0) return [...calls.values()]
  const current = { suggested, base, data: await readDataFee(request) }
  for (const name of new Set(low.map(({ run }) => run))) {
    const rowsOfRun = low.filter(({ run }) => run === name)
    const collections = name === null ? [] : new Set(rowsOfRun.flatMap(({ run_collection_id: id }) => id ?? []))
    const runs: LimitedRun[] = []
    for (const id of collections) runs.push(...(await limitedRuns(db, id)).filter(({ run }) => run === name))
    const run = runs[0] ?? null
    const upperBound = { offered: suggested.maxFeePerGas, data: current.data }
    let unspent = run !== null && hasMaxCost(run) ? (await readRunBudget(db, run, upperBound)).unspent : null
    for (const { transaction, raised, cost, increase } of await computeReplacements(
      db,
      rowsOfRun,
      run?.max_fee ?? null,
      current,
    )) {
      const isHeld = (run?.max_fee != null && raised > BigInt(run.max_fee)) || (unspent !== null && increase > unspent)
      if (!isHeld && unspent !== null) unspent -= increase
      const call = parsePendingCall(transaction.raw as Hex)
      calls.set(transaction.id, isHeld ? { ...call, state: 'held' } : { ...call, cost, state: 'raised' })
    }
  }
  return [...calls.values()]
}
