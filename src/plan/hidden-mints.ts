import type { KeptRow } from '../batch/rows/manifest-row.ts'
import type { RowKey } from '../batch/rows/row-key.ts'
import { type ResentRow, resentRows } from '../batch/send/list-resendable.ts'
import { blockMints } from '../state/plan-tables.ts'
import { UNRESOLVED } from './mint-changes.ts'
import { rowsWithChanges } from './plan-rows.ts'
import type { Planning } from './planning.ts'

/** Marks all mints as impossible if a row is hidden in another collection, because the run wouldn't send any row. */
export async function blockHiddenMints(planning: Planning): Promise<void> {
  const { store, options, tally } = planning
  const { counts, mints } = tally
  if (mints.length === 0) return
  const check = { rows: () => rowsToSend(planning), resent: () => rowsToResend(planning), run: store.drop }
  const reason = (await options.hiddenMints?.(check)) ?? null
  if (reason === null) return
  await store.state.scratch((sql) => blockMints(sql, reason))
  counts.impossible += counts.mint
  counts.mint = 0
  counts.retries = 0
  mints.length = 0
  tally.newUnnamed = 0
}

/** Yields the rows to mint, except those that the server may have accepted. */
async function* rowsToSend({ store }: Planning): AsyncGenerator<KeptRow> {
  for await (const { row, changes } of rowsWithChanges(store, 'JOIN'))
    if (changes.some(({ action, reason }) => action === 'mint' && reason !== UNRESOLVED)) yield row
}

/** Yields the rows with an unknown outcome that a mint sends again. Omits rows whose NFTs are on the server. */
async function* rowsToResend({ store, deps, options }: Planning): AsyncGenerator<ResentRow> {
  const unresolved = new Set<RowKey>()
  for await (const { row, changes } of rowsWithChanges(store, 'JOIN'))
    if (changes.some(({ reason }) => reason === UNRESOLVED)) unresolved.add(row.key)
  if (unresolved.size === 0) return
  for await (const resent of resentRows(store, deps.client, options.signal))
    if (unresolved.has(resent.key)) yield resent
}
