import { Sequence } from './columns.ts'
import type { KeptRows } from './kept-rows.ts'
import type { Span } from './lines.ts'

export const DEFAULT_CHUNK_SIZE = 50

/** A row that is to be sent: its number in the ledger and its place in the spool. */
interface PlannedRow {
  row: number
  span: Span
}

/** Which rows travel together, in which order. */
export interface Plan {
  readonly requests: number
  readonly rows: number
  readonly receivers: number
  /** Whether rows go in another order than the manifest's. */
  readonly reordered: boolean
  /** Rows that have local files. */
  readonly withFiles: readonly PlannedRow[]
  rowsOf(request: number): PlannedRow[]
}

/**
 * Puts rows of one receiver and sender into one request.
 *
 * @param pending the lines of the spool that are to be sent, lowest first
 */
export function planOf(kept: KeptRows, pending: Sequence, chunkSize: number, inOrder: boolean): Plan {
  const count = pending.length
  const groups = groupsOf(kept, pending)
  // Without an order of their own, rows go as they came.
  const order = inOrder || groups.count === count ? null : byGroup(kept, pending, groups)
  const lineAt = (at: number): number => pending.get(order === null ? at : (order[at] ?? 0))
  const starts = new Sequence()
  for (let at = 0, size = 0, before = -1; at < count; at++, size++) {
    const group = kept.group.get(lineAt(at))
    if (group !== before || size === chunkSize) {
      starts.push(at)
      size = 0
    }
    before = group
  }
  const planned = (line: number): PlannedRow => ({ row: kept.row.get(line), span: kept.spans.get(line) })
  return {
    requests: starts.length,
    rows: count,
    receivers: groups.receivers,
    reordered: order !== null && isReordered(order),
    withFiles: kept.files.filter((line) => isAmong(line, pending)).map(planned),
    rowsOf: (request) => {
      const from = starts.get(request)
      const to = request + 1 < starts.length ? starts.get(request + 1) : count
      return Array.from({ length: to - from }, (_, position) => planned(lineAt(from + position)))
    },
  }
}

/** The groups that have rows to be sent, numbered anew in the order of the first of these, and how many have which. */
function groupsOf(kept: KeptRows, pending: Sequence) {
  const rank = new Uint32Array(kept.groupCount)
  const seen = new Uint8Array(kept.groupCount)
  let count = 0
  let receivers = 0
  for (let at = 0; at < pending.length; at++) {
    const number = kept.group.get(pending.get(at))
    if ((rank[number] ?? 0) > 0) continue
    rank[number] = ++count
    const receiver = kept.receiverOf(number)
    if (seen[receiver] === 0) receivers++
    seen[receiver] = 1
  }
  return { rank, count, receivers }
}

/** Groups in the order of their first rows, and the rows of each in the manifest's order: a counting sort. */
function byGroup({ group }: KeptRows, pending: Sequence, { rank, count }: { rank: Uint32Array; count: number }) {
  const next = new Uint32Array(count + 1)
  const rankAt = (at: number): number => (rank[group.get(pending.get(at))] ?? 0) - 1
  for (let at = 0; at < pending.length; at++) {
    const after = rankAt(at) + 1
    next[after] = (next[after] ?? 0) + 1
  }
  for (let each = 1; each < next.length; each++) next[each] = (next[each] ?? 0) + (next[each - 1] ?? 0)
  const order = new Uint32Array(pending.length)
  for (let at = 0; at < pending.length; at++) {
    const each = rankAt(at)
    const place = next[each] ?? 0
    order[place] = at
    next[each] = place + 1
  }
  return order
}

function isReordered(order: Uint32Array): boolean {
  for (let at = 0; at < order.length; at++) if (order[at] !== at) return true
  return false
}

/** Looks for a line among lines that rise. */
function isAmong(line: number, lines: Sequence): boolean {
  let low = 0
  let high = lines.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (lines.get(middle) < line) low = middle + 1
    else high = middle
  }
  return low < lines.length && lines.get(low) === line
}
