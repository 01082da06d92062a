import { selectRunReason } from '../../api/finality-reason.ts'
import { keptMaxCost, type Run } from '../../batch/runs/runs.ts'
import type { RowCounts } from '../../batch/types.ts'
import { findStatus } from '../../client/responses.ts'
import type { Settings } from '../../config/settings.ts'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { groupDigits } from '../../core/group-digits.ts'
import type { Deps } from '../deps.ts'
import type { DataRecord } from '../render/view.ts'
import { formatAmount } from './estimate.ts'

export const SPENT_FIELDS = [
  'gas_used',
  'fee_paid_wei',
  'pending_transactions',
  'max_cost_wei',
  'max_fee_wei',
  'currency',
  'simulated',
  'waiting',
]

/** The costs of a run from which the server has accepted no request. */
const ZERO_COSTS: DataRecord = {
  gas_used: '0',
  fee_paid_wei: '0',
  pending_transactions: 0,
  simulated: null,
  waiting: null,
}

/** The costs of a run whose server doesn't report them. */
export const UNKNOWN_COSTS: DataRecord = Object.fromEntries(SPENT_FIELDS.map((field) => [field, null]))

export interface RunSpending {
  /** The values of `SPENT_FIELDS`. */
  costs: DataRecord
  /** The reasons why the costs are unknown, in sentences; null if they are known. */
  problem: string | null
}

/**
 * Returns the costs of a run that its server reports.
 *
 * @param settingsOrError the settings that reach the server, or the error if it isn't found
 * @param counts the recorded row counts. If the server doesn't have the run and no row was sent, the run has spent
 * nothing. A run without open rows isn't waiting for anything.
 */
export async function readSpending(
  deps: Deps,
  settingsOrError: Settings | GdnError,
  run: Pick<Run, 'id'>,
  counts: Omit<RowCounts, 'total'>,
): Promise<RunSpending> {
  if (settingsOrError instanceof GdnError) return unknownSpending(settingsOrError)
  try {
    return await readReportedCosts(deps, settingsOrError, run, counts)
  } catch (error) {
    if (error instanceof GdnError && !deps.signals.signal.aborted) return unknownSpending(error)
    throw error
  }
}

const unknownSpending = ({ message, hint }: GdnError): RunSpending => ({
  costs: UNKNOWN_COSTS,
  problem: [`The cost of the run is unknown: ${message}.`, hint].filter(Boolean).join(' '),
})

async function readReportedCosts(
  deps: Deps,
  settings: Settings,
  run: Pick<Run, 'id'>,
  { pending, unknown, accepted, deployed }: Omit<RowCounts, 'total'>,
): Promise<RunSpending> {
  const isUnsent = accepted + deployed + unknown === 0
  const { client } = await deps.connect(settings)
  try {
    const { costs } = await client.call('getruncosts', { run: run.id }, { signal: deps.signals.signal })
    return {
      problem: null,
      costs: {
        gas_used: costs.gas_used,
        fee_paid_wei: costs.fee_paid,
        pending_transactions: costs.pending_transactions ?? null,
        max_cost_wei: costs.max_cost,
        max_fee_wei: costs.max_fee,
        currency: costs.currency,
        simulated: costs.is_simulated,
        waiting: pending + unknown + accepted === 0 ? null : selectRunReason(costs.waiting, pending + unknown > 0),
      },
    }
  } catch (error) {
    if (findStatus(error) !== 404) throw error
    if (client.supports('runCosts') !== true) {
      return { costs: UNKNOWN_COSTS, problem: 'The server does not report the cost of the run.' }
    }
    if (!isUnsent) throw error
    const storedMaxCost = await keptMaxCost(settings.stateDir, run.id)
    return {
      costs: { ...ZERO_COSTS, max_cost_wei: storedMaxCost === null ? null : String(storedMaxCost) },
      problem: null,
    }
  } finally {
    await client.close()
  }
}

/**
 * Formats the costs of a run, such as `0.3139 POL of at most 0.5 POL, for 9,659,500 gas`. Mentions the number of
 * transactions whose fee isn't known yet. Adds `by this command` if the run had paid fees before the command.
 */
export function spentText(spent: DataRecord): string {
  const { fee_paid_wei, pending_transactions, max_cost_wei, gas_used, currency, simulated } = spent
  const coin = currency ?? 'coins'
  const limit = typeof max_cost_wei === 'string' ? ` of at most ${formatAmount(max_cost_wei)} ${coin}` : ''
  if (simulated === null) return `0${limit}: nothing has been accepted yet`
  const pending = Number(pending_transactions ?? 0)
  const uncounted = `${count(pending, 'transaction')} ${pending === 1 ? 'is' : 'are'} not counted yet`
  if (pending > 0 && fee_paid_wei === '0') return `nothing yet${limit}: ${uncounted}`
  const later = pending === 0 ? '' : ` so far: ${uncounted}`
  const gas = groupDigits(BigInt(String(gas_used)))
  const by = spent.paid_before === true ? ' by this command' : ''
  return `${formatAmount(fee_paid_wei)} ${coin}${limit}${by}, for ${gas} gas${simulated ? ' (simulated)' : ''}${later}`
}
