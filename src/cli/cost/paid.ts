import type * as z from 'zod'
import type { transactionRecordSchema } from '../../api/endpoints/gettransactions.ts'
import { readTransaction } from '../../client/read-records.ts'
import { readRunCosts } from '../../client/run-costs.ts'
import { GdnError } from '../../core/errors.ts'
import { isTimeUp } from '../../core/time-up.ts'
import type { Connection, Deps } from '../deps.ts'
import { type Io, safe } from '../io/io.ts'
import type { DataRecord, Output, View } from '../render/output.ts'
import { spentText } from './spent.ts'

type Transaction = Partial<z.output<typeof transactionRecordSchema>>

/** Fields with the fees paid by a transaction. */
const PAID_FIELDS = ['gas_used', 'fee_paid_wei', 'currency', 'simulated']
/** Fields with the fees paid by a run. */
const RUN_PAID_FIELDS = [...PAID_FIELDS, 'pending_transactions', 'paid_before']

/** The costs of a run that sent nothing, or whose server doesn't report them. */
export const UNKNOWN_RUN_COSTS: DataRecord = Object.fromEntries(RUN_PAID_FIELDS.map((field) => [field, null]))

/** Returns the fee paid by a transaction, if the server reports it. */
export function toPaidFee({
  gas_used,
  fee_paid,
  currency,
  is_simulated,
}: Pick<Transaction, 'gas_used' | 'fee_paid' | 'currency' | 'is_simulated'>): DataRecord {
  if (typeof fee_paid !== 'string') return { gas_used }
  return { gas_used, fee_paid_wei: fee_paid, currency: currency ?? null, simulated: is_simulated ?? false }
}

/**
 * Returns the fee paid by the transaction with this ID. On an error, returns no fee, because the command itself
 * succeeded.
 */
export async function readTransactionFee(
  { signals: { signal } }: Pick<Deps, 'signals'>,
  { client }: Pick<Connection, 'client'>,
  id: string,
): Promise<DataRecord> {
  try {
    return toPaidFee((await readTransaction({ client, signal }, id)) ?? {})
  } catch (error) {
    if (!(error instanceof GdnError) || signal.aborted) throw error
    return {}
  }
}

/** Maximum time that a command waits for its costs after --timeout has expired, in milliseconds. */
const MAX_EXTRA_WAIT_MS = 5_000

/**
 * Starts to measure the cost of a run. Returns a function that returns the cost since the start. This function still
 * works after the command's --timeout, but not after an interruption. It always returns the same fields. They are null
 * if the server doesn't report the cost or nothing was paid. `paid_before` indicates whether the run had paid fees
 * before.
 */
export async function startRunMeter(
  { signals: { signal } }: Pick<Deps, 'signals'>,
  connection: Pick<Connection, 'client'>,
  run: string,
): Promise<() => Promise<DataRecord>> {
  const read = async () => {
    const within = isTimeUp(signal.reason) ? AbortSignal.timeout(MAX_EXTRA_WAIT_MS) : signal
    if (connection.client.supports('runCosts') !== true || within.aborted) return null
    try {
      return await readRunCosts(connection, run, within)
    } catch (error) {
      if (!(error instanceof GdnError) && !within.aborted) throw error
      return null
    }
  }
  const before = await read()
  return async () => {
    const after = await read()
    if (after === null) return UNKNOWN_RUN_COSTS
    const { pending_transactions = 0 } = after
    if (after.fee_paid === (before?.fee_paid ?? '0') && pending_transactions === 0) return UNKNOWN_RUN_COSTS
    const less = (all: string, part = '0') => String(BigInt(all) - BigInt(part))
    const fee_paid = less(after.fee_paid, before?.fee_paid)
    const gas_used = less(after.gas_used, before?.gas_used)
    const paid_before = before !== null && before.fee_paid !== '0'
    return { ...UNKNOWN_RUN_COSTS, ...toPaidFee({ ...after, fee_paid, gas_used }), pending_transactions, paid_before }
  }
}

/** Maximum number of NFTs. For more NFTs, no costs are requested, because each NFT takes a separate request. */
const MAX_NFTS = 20

/** Returns the fees paid by the mints of NFTs, by NFT ID. Omits NFTs whose fees the server doesn't report. */
export async function readMintFees(
  { signals: { signal } }: Pick<Deps, 'signals'>,
  { client }: Pick<Connection, 'client'>,
  ids: readonly string[],
): Promise<ReadonlyMap<string, DataRecord>> {
  const paid = new Map<string, DataRecord>()
  if (client.supports('history') !== true || ids.length > MAX_NFTS) return paid
  try {
    for (const id of ids) {
      const { events } = await client.call('getnfthistory', { nft_gdn_id: id, limit: 1 }, { signal })
      const mint = events.find(({ kind }) => kind === 'mint')
      if (mint?.gas_used != null) paid.set(id, toPaidFee(mint))
    }
  } catch (error) {
    if (!(error instanceof GdnError) || signal.aborted) throw error
  }
  return paid
}

/** Returns the view of a run with additional fields for its fees. */
export const withRunPaid = (view: View): View => withPaid(view, RUN_PAID_FIELDS)

/**
 * On a terminal, prints the fees paid by transactions below the table. Several NFTs may share a transaction, so each
 * transaction is printed once.
 */
export function notePaid(io: Io, { mode }: Pick<Output, 'mode'>, records: readonly DataRecord[]): void {
  if (!io.stdoutTty || mode !== 'table') return
  const transactions = new Map(records.map((record) => [record.transaction_gdn_id, record]))
  for (const record of transactions.values()) {
    if (typeof record.fee_paid_wei === 'string' && record.gas_used !== null) io.note(safe(`Paid: ${spentText(record)}`))
  }
}

/** Returns a view with additional fields for the paid fees. A terminal shows them in coins. */
export function withPaid(view: View, paidFields: readonly string[] = PAID_FIELDS): View {
  const otherFields = view.fields.filter((field) => !paidFields.includes(field))
  const at = otherFields.includes('error') ? otherFields.indexOf('error') : otherFields.length
  return {
    ...view,
    fields: otherFields.toSpliced(at, 0, ...paidFields),
    card: (record) => {
      const isPaid = typeof record.fee_paid_wei === 'string' && record.gas_used !== null
      const paid = isPaid ? (['paid', spentText(record)] as const) : (['gas_used', record.gas_used] as const)
      const rows =
        view.card?.(record) ??
        otherFields.map((field) => [field, view.forms?.[field]?.(record[field]) ?? record[field]] as const)
      const end = rows.findIndex(([name]) => name === 'error')
      return rows.toSpliced(end < 0 ? rows.length : end, 0, paid)
    },
  }
}
