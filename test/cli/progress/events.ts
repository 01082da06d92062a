import type { PlannedEvent, RowCounts } from '../../../src/batch/types.ts'

export const counts = (some: Partial<RowCounts>): RowCounts => {
  const all = { pending: 0, unknown: 0, accepted: 0, deployed: 0, failed: 0, ...some }
  return { total: all.pending + all.unknown + all.accepted + all.deployed + all.failed, ...all }
}

export const planned = (rows: RowCounts, more: Partial<PlannedEvent> = {}): PlannedEvent => ({
  type: 'planned',
  run: { id: '3f9a000000000000', name: 'drop-3f9a' },
  resumed: false,
  rows,
  requests: 6,
  receivers: 1,
  reordered: false,
  files: 0,
  changes: { added: 0, changed: 0, keptAccepted: 0, removed: 0, removedUnsent: 0, removedFailed: 0, examples: [] },
  ...more,
})
