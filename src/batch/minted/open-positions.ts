import { plannedPages } from '../../state/rows.ts'
import type { Gathered } from '../gather.ts'
import type { StoredRun } from '../runs/stored-run.ts'

/** Maps the position of each row without an NFT in the state to whether the run has an operation for the row. */
export async function openPositions(
  store: StoredRun,
  { rows, foundBy }: Gathered,
  pending: ReadonlySet<number>,
): Promise<Map<number, boolean>> {
  const open = new Map<number, boolean>()
  for await (const page of plannedPages(store.state, rows, store.drop, foundBy)) {
    for (const { position, state } of page.rows) {
      if (pending.has(position)) open.set(position, state !== null)
      else if (state === 'unknown' || state === 'absent' || state === 'sent') open.set(position, true)
    }
  }
  return open
}
