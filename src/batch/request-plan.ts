import type { PlannedRow } from '../state/rows.ts'

export const DEFAULT_CHUNK_SIZE = 50

/** The rows of each request, and the order of the requests. Rows are identified by their positions in the manifest. */
export interface RequestPlan {
  readonly requests: number
  readonly rows: number
  /** The distinct sizes of the requests, in rows. */
  readonly sizes: ReadonlySet<number>
  readonly receivers: number
  /** Whether the order of the rows differs from the order of the manifest. */
  readonly reordered: boolean
  /** Positions of rows with local files. */
  readonly withFiles: readonly number[]
  rowsOf(request: number): number[]
  /** Returns a plan without the rows at these positions. */
  without(positions: ReadonlySet<number>): RequestPlan
}

const CHUNK_LENGTH = 65_536

/** A growable list of 32-bit integers. An array would need up to three times as much memory. */
class Numbers {
  readonly #pieces: Int32Array[] = []
  length = 0

  push(value: number): void {
    const at = this.length++ % CHUNK_LENGTH
    if (at === 0) this.#pieces.push(new Int32Array(CHUNK_LENGTH))
    const piece = this.#pieces[this.#pieces.length - 1]
    if (piece !== undefined) piece[at] = value
  }

  at(index: number): number {
    return this.#pieces[Math.floor(index / CHUNK_LENGTH)]?.[index % CHUNK_LENGTH] ?? 0
  }
}

/** Collects the rows to be sent, in ascending order of their positions. */
export class RequestPlanBuilder {
  readonly #positions = new Numbers()
  readonly #groups = new Numbers()
  readonly #withFiles: number[] = []

  get rows(): number {
    return this.#positions.length
  }

  add({ position, receivers, files }: Pick<PlannedRow, 'position' | 'receivers' | 'files'>): void {
    this.#positions.push(position)
    this.#groups.push(receivers)
    if (files > 0) this.#withFiles.push(position)
  }

  /** Groups rows with the same receiver and sender into requests. */
  build(chunkSize: number, inOrder: boolean): RequestPlan {
    const { rank, count } = ranksOf(this.#groups)
    const { rows } = this
    // Null keeps the order of the manifest.
    const order = inOrder || count === rows ? null : byGroup(this.#groups, rank, count)
    const at = (index: number): number => (order === null ? index : (order[index] ?? 0))
    const starts = new Numbers()
    const sizes = new Set<number>()
    for (let index = 0, size = 0, before = -1; index < rows; index++, size++) {
      const group = this.#groups.at(at(index))
      if (group !== before || size === chunkSize) {
        starts.push(index)
        if (size > 0) sizes.add(size)
        size = 0
      }
      if (index === rows - 1) sizes.add(size + 1)
      before = group
    }
    const startOf = (request: number): number => (request < starts.length ? starts.at(request) : rows)
    return {
      requests: starts.length,
      rows,
      sizes,
      receivers: count,
      reordered: order?.some((place, index) => place !== index) ?? false,
      withFiles: this.#withFiles,
      rowsOf: (request) => {
        const from = startOf(request)
        return Array.from({ length: startOf(request + 1) - from }, (_, index) => this.#positions.at(at(from + index)))
      },
      without: (positions) => this.#without(positions).build(chunkSize, inOrder),
    }
  }

  #without(positions: ReadonlySet<number>): RequestPlanBuilder {
    const withFiles = new Set(this.#withFiles)
    const rest = new RequestPlanBuilder()
    for (let index = 0; index < this.rows; index++) {
      const position = this.#positions.at(index)
      if (positions.has(position)) continue
      rest.add({ position, receivers: this.#groups.at(index), files: withFiles.has(position) ? 1 : 0 })
    }
    return rest
  }
}

const NO_RANK = -1

/**
 * Ranks the groups in the order of their first rows. Group numbers have few gaps, so an array that is indexed by group
 * stays small.
 */
function ranksOf(groups: Numbers) {
  let highest = 0
  for (let index = 0; index < groups.length; index++) highest = Math.max(highest, groups.at(index))
  const rank = new Int32Array(highest + 1).fill(NO_RANK)
  let count = 0
  for (let index = 0; index < groups.length; index++) {
    const group = groups.at(index)
    if (rank[group] === NO_RANK) rank[group] = count++
  }
  return { rank, count }
}

/** Sorts the rows by group with a counting sort. Within a group, rows keep the manifest's order. */
function byGroup(groups: Numbers, rank: Int32Array, count: number): Uint32Array {
  const next = new Uint32Array(count + 1)
  const rankOf = (index: number): number => rank[groups.at(index)] ?? 0
  for (let index = 0; index < groups.length; index++) next[rankOf(index) + 1] = (next[rankOf(index) + 1] ?? 0) + 1
  for (let each = 1; each < next.length; each++) next[each] = (next[each] ?? 0) + (next[each - 1] ?? 0)
  const order = new Uint32Array(groups.length)
  for (let index = 0; index < groups.length; index++) {
    const place = next[rankOf(index)] ?? 0
    order[place] = index
    next[rankOf(index)] = place + 1
  }
  return order
}

/** Yields the positions of the rows that a plan sends. */
export function* listPositions(plan: RequestPlan): Generator<number> {
  for (let request = 0; request < plan.requests; request++) yield* plan.rowsOf(request)
}
