import { shownKey } from '../batch/row-key.ts'
import type { RunStore } from '../batch/run-store.ts'
import type { Change } from './compare.ts'
import type { Candidate } from './find-nfts.ts'
import type { ChangePlan } from './planned.ts'

const PAGE = 1_000
const MAX_MOVED = 50

/** What must be the same when a saved plan is applied. A reason is only for people. */
const essence = ({ action, want, fields, nftGdnId, revision, reference }: Change): string =>
  JSON.stringify([action, want, fields, nftGdnId, revision, reference])

/** The changes of a saved plan by the positions of their rows, in a temporary table. */
export class SavedChanges {
  readonly #store: RunStore
  #position = 0
  readonly moved: ChangePlan['moved'] = { count: 0, rows: [] }
  #waiting: [position: number, changes: string][] = []

  constructor(store: RunStore) {
    this.#store = store
  }

  async begin(): Promise<void> {
    await this.#store.state.scratch((sql) =>
      sql.script(`DROP TABLE IF EXISTS temp.saved;
        CREATE TEMP TABLE saved (position INTEGER PRIMARY KEY, changes TEXT NOT NULL)`),
    )
  }

  readonly enter = async (changes: readonly Change[]): Promise<void> => {
    const position = this.#position++
    if (changes.length === 0) return
    this.#waiting.push([position, JSON.stringify(changes)])
    if (this.#waiting.length >= PAGE) await this.flush()
  }

  async flush(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    await this.#store.state.scratch((sql) => {
      for (const row of waiting) sql.run('INSERT INTO temp.saved VALUES (?, ?)', ...row)
    })
  }

  /** Finds rows with a change that the saved plan does not have. One that has fewer was applied in part. */
  async compare(candidates: readonly Candidate[], found: readonly [number, Change[]][]): Promise<void> {
    const [first, last] = [found[0]?.[0] ?? 0, found.at(-1)?.[0] ?? -1]
    const rows = await this.#store.state.scratch((sql) =>
      sql.all<{ position: number; changes: string }>(
        'SELECT position, changes FROM temp.saved WHERE position BETWEEN ? AND ?',
        first,
        last,
      ),
    )
    const saved = new Map(rows.map(({ position, changes }) => [position, JSON.parse(changes) as Change[]]))
    for (const [at, [position, changes]] of found.entries()) {
      const known = new Set(saved.get(position)?.map(essence))
      const row = candidates[at]?.row
      if (row === undefined || changes.every((change) => known.has(essence(change)))) continue
      this.moved.count++
      if (this.moved.rows.length < MAX_MOVED) {
        this.moved.rows.push({ key: shownKey(row.key), line: row.row.line, changes })
      }
    }
  }
}
