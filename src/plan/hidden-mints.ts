import type { StoredRow } from '../batch/rows/manifest-row.ts'
import type { RowKey } from '../batch/rows/row-key.ts'
import { type ResentRow, resentRows } from '../batch/send/list-resendable.ts'
import { blockMints } from '../state/plan-tables.ts'
import { UNKNOWN_OUTCOME_REASON } from './mint-changes.ts'
import { rowsWithChanges } from './plan-rows.ts'
import type { PlanState } from './plan-state.ts'

/** Marks all mints as impossible if a row is hidden in another collection, because the run wouldn't send any row. */
export async function blockHiddenMints(planning: PlanState): Promise<void> {
  const { run, options, tally } = planning
  const { counts, mints } = tally
  if (mints.length === 0) return
  const check = { rows: () => rowsToSend(planning), resent: () => rowsToResend(planning), run: run.drop }
  const reason = (await options.whyHidden?.(check)) ?? null
  if (reason === null) return
  await run.state.scratch((sql) => blockMints(sql, reason))
  counts.impossible += counts.mint
  counts.mint = 0
  counts.retries = 0
  mints.length = 0
  tally.newUnnamed = 0
}

/** Yields the rows to mint, except those that the server may have accepted. */
async function* rowsToSend({ run }: PlanState): AsyncGenerator<StoredRow> {
  for await (const { row, changes } of rowsWithChanges(run, 'JOIN'))
    if (changes.some(({ action, reason }) => action === 'mint' && reason !== UNKNOWN_OUTCOME_REASON)) yield row
}

/** Yields the rows with an unknown outcome that a mint sends again. Omits rows whose NFTs are on the server. */
async function* rowsToResend({ run, deps, options }: PlanState): AsyncGenerator<ResentRow> {
  const unresolved = new Set<RowKey>()
  for await (const { row, changes } of rowsWithChanges(run, 'JOIN'))
    if (changes.some(({ reason }) => reason === UNKNOWN_OUTCOME_REASON)) unresolved.add(row.key)
  if (unresolved.size === 0) return
  for await (const resent of resentRows(run, deps.client, options.signal)) if (unresolved.has(resent.key)) yield resent
}
