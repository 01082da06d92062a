import { refuseTaken } from '../batch/claim.ts'
import { lookingAtRun } from '../batch/dry-run.ts'
import { findEdits } from '../batch/edited-rows.ts'
import { readRows } from '../batch/gather.ts'
import type { KeptRow } from '../batch/manifest-row.ts'
import { withRoomForMarker } from '../batch/marker.ts'
import { shownKey } from '../batch/row-key.ts'
import { checkOptions } from '../batch/run.ts'
import type { RunStore } from '../batch/run-store.ts'
import type { BatchClient, BatchOptions, Items, RunRef } from '../batch/types.ts'
import { refuseOtherBackend, refuseSilentBackend } from '../client/backend.ts'
import { pageOf, pagesOf, type RowRecord } from '../state/rows.ts'
import { type Abilities, type Action, type Change, compareRow, isMoved, revisionOf } from './compare.ts'
import { type Candidate, findCandidates, ownerHistories, type Place, readRecords } from './find-nfts.ts'

export interface PlanOptions extends BatchOptions {
  /** Change NFTs back that others have changed. */
  takeOver?: boolean
  /** Why the collection doesn't permit transfers; null if it does, or if that isn't known. */
  noTransfers(): Promise<string | null>
  /** Compare the plan with the changes that were saved with its rows. */
  isSaved?: boolean
}

export interface PlanDeps {
  client: BatchClient
  /** @param enter takes the saved changes of each row, in order */
  readManifest: (enter: (changes: readonly Change[]) => Promise<void>) => Items
  onProgress?(done: number): void
}

/** Rows by their outcome, and changes by action. A row may have an update and a transfer. */
export type PlanCounts = Record<Action, number> & {
  rows: number
  /** Rows that are as the manifest says. */
  unchanged: number
  /** Mints of rows whose last mint failed. */
  retries: number
  /** Rows that the run has minted, and that are no longer in the manifest. */
  vanished: number
}

/** A change with its row. */
export interface PlannedChange extends Change {
  key: string
  line: number
  title: string
}

/** A row that changed on the server since a plan was saved. */
export interface MovedRow {
  key: string
  line: number
  /** What differs now. */
  changes: Change[]
}

/** The differences between a manifest and what exists. */
export interface ChangePlan {
  run: RunRef
  counts: PlanCounts
  /** What the plan can't say, for people. */
  notes: readonly string[]
  /** Rows whose changes are others than those of the saved plan; the first ones are named. */
  moved: { count: number; rows: MovedRow[] }
  /** All changes in the order of the manifest. */
  changes(): AsyncGenerator<PlannedChange>
  /** All rows with their changes. */
  rows(): AsyncGenerator<{ row: KeptRow; changes: Change[] }>
}

/** Rows that are compared together: one request for their reference IDs, and one for their NFTs. */
const PAGE = 1_000

/**
 * Compares a manifest with what exists, and passes the plan. Memory does not grow with the manifest: rows and changes
 * are in temporary tables. Nothing is sent that has an effect, and the state directory is unchanged.
 *
 * @throws GdnError `invalid_manifest`, `run_busy`, `already_accepted`, `wrong_backend`, and errors of the server
 */
export async function withPlan<Result>(
  options: PlanOptions,
  deps: PlanDeps,
  use: (plan: ChangePlan) => Promise<Result>,
): Promise<Result> {
  checkOptions(options)
  return await lookingAtRun(options, async (store) => {
    const { drop } = store
    const { backend } = options
    if (backend !== undefined) {
      if (drop.setId !== null) refuseOtherBackend(`the run ${drop.name}`, drop.backend, backend)
      refuseSilentBackend(backend)
    }
    const saved = new SavedChanges(store)
    await saved.begin()
    await readRows(store, withRoomForMarker(deps.readManifest(saved.enter), drop.marker ?? undefined), 'draft')
    await saved.flush()
    const planner = new Planner(store, options, deps)
    await planner.run()
    return await use({
      run: { id: drop.id, name: drop.name },
      counts: planner.counts,
      notes: planner.notes,
      moved: planner.moved,
      changes: () => changesOf(store),
      rows: () => rowsOf(store),
    })
  })
}

/** The changes of a saved plan by the positions of their rows, in a temporary table. */
class SavedChanges {
  readonly #store: RunStore
  #position = 0
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
}

/** What must be the same when a saved plan is applied. A reason is only for people. */
const essence = ({ action, want, fields, nftGdnId, revision, reference }: Change): string =>
  JSON.stringify([action, want, fields, nftGdnId, revision, reference])

const MAX_MOVED = 50

class Planner {
  readonly counts: PlanCounts = {
    ...{ rows: 0, unchanged: 0, mint: 0, update: 0, transfer: 0, drift: 0, impossible: 0 },
    ...{ retries: 0, vanished: 0 },
  }
  readonly notes: string[] = []
  readonly moved: ChangePlan['moved'] = { count: 0, rows: [] }
  readonly #store: RunStore
  readonly #options: PlanOptions
  readonly #deps: PlanDeps
  readonly #mints: number[] = []
  #noTransfers: string | null | undefined

  constructor(store: RunStore, options: PlanOptions, deps: PlanDeps) {
    this.#store = store
    this.#options = options
    this.#deps = deps
  }

  async run(): Promise<void> {
    const { state, drop } = this.#store
    const { client, onProgress } = this.#deps
    const { contractAddress, blockchain, signal, backend, origin, takeOver = false } = this.#options
    if (client.supportsReferences() === null) await client.learnIdempotency({ signal })
    const hasReferences = client.supportsReferences() === true
    const place: Place = { client, contractAddress, blockchain, signal, hasReferences }
    const scope = JSON.stringify(['plan', backend?.id ?? origin, blockchain, contractAddress.toLowerCase()])
    const can = { updates: false, takeOver, sendersOwn: !hasReferences, marker: drop.marker }
    const renamed = await this.#edits()
    await state.scratch((sql) =>
      sql.script(`DROP TABLE IF EXISTS temp.changes;
        CREATE TEMP TABLE changes (position INTEGER, n INTEGER, change TEXT NOT NULL, PRIMARY KEY (position, n)) WITHOUT ROWID`),
    )
    for await (const page of pagesOf(state, (sql, after, limit) => pageOf(sql, 'draft', after, limit), PAGE)) {
      await this.#comparePage(page, { place, scope, can, renamed })
      onProgress?.(this.counts.rows)
    }
    await this.#refuseTaken()
    this.#note(hasReferences)
  }

  /** Returns the NFTs of rows that were minted without an `id` and have one now, and counts rows that vanished. */
  async #edits(): Promise<Map<number, string>> {
    const { state, drop } = this.#store
    const { setId } = drop
    if (setId === null) return new Map()
    const { renamed } = await state.read((sql) => findEdits(sql, drop, 'draft', { newRows: true, setId }))
    const gone = await state.read((sql) =>
      sql.get<{ n: number }>(
        `SELECT count(*) AS n FROM operations WHERE run_id = ? AND released_at IS NULL AND is_replaced = 0
          AND state IN ('accepted', 'deployed') AND substr(identity, ?) NOT IN (SELECT key FROM temp.draft)`,
        drop.id,
        drop.scope.length + 1,
      ),
    )
    this.counts.vanished = (gone?.n ?? 0) - renamed.length
    return new Map(renamed.map(({ row, nftGdnId }) => [row.position, nftGdnId]))
  }

  async #comparePage(
    page: readonly RowRecord[],
    {
      place,
      scope,
      can,
      renamed,
    }: { place: Place; scope: string; can: Omit<Abilities, 'noTransfers'>; renamed: ReadonlyMap<number, string> },
  ): Promise<void> {
    const candidates = await findCandidates(this.#store, place, page)
    for (const candidate of candidates) candidate.nftGdnId ??= renamed.get(candidate.row.position) ?? null
    const records = await readRecords(place, candidates)
    const nftOf = ({ nftGdnId }: Candidate) => (nftGdnId === null ? undefined : records.get(nftGdnId))
    const moved = candidates.flatMap((candidate) => {
      const nft = nftOf(candidate)
      if (nft === undefined || nft.burned === true) return []
      return isMoved(candidate.row.row, nft.receiver_wallet_address ?? null, can) ? [{ candidate, nft }] : []
    })
    const histories = await ownerHistories(this.#store, place, scope, moved)
    if (moved.length > 0) this.#noTransfers ??= await this.#options.noTransfers()
    const noTransfers = this.#noTransfers ?? null
    const found: [number, Change[]][] = candidates.map((candidate) => {
      const { position, row } = candidate.row
      const nft = nftOf(candidate)
      const missing = nft === undefined ? mintOf(candidate) : failedMint(candidate, nft)
      if (missing !== null) return [position, [missing]]
      if (nft === undefined) return [position, [unknownNft(candidate)]]
      const history = histories.get(position)
      const seen = {
        nft,
        isOwnerOurs: history?.isOurs ?? true,
        isMoving: history?.isMoving ?? false,
        isMetadataOurs: (revisionOf(nft) ?? 0) === 0,
      }
      const changes = compareRow(row, seen, { ...can, noTransfers })
      return [
        position,
        changes.map((one) => (one.action === 'transfer' ? { ...one, reference: history?.reference ?? null } : one)),
      ]
    })
    this.#count(found)
    if (this.#options.isSaved === true) await this.#compareSaved(candidates, found)
    await this.#store.state.scratch((sql) => {
      for (const [position, changes] of found) {
        for (const [n, change] of changes.entries()) {
          sql.run('INSERT INTO temp.changes VALUES (?, ?, ?)', position, n, JSON.stringify(change))
        }
      }
    })
  }

  /** Finds rows with a change that the saved plan does not have. One that has fewer was applied in part. */
  async #compareSaved(candidates: readonly Candidate[], found: readonly [number, Change[]][]): Promise<void> {
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

  #count(found: readonly [number, Change[]][]): void {
    const { counts } = this
    for (const [position, changes] of found) {
      counts.rows++
      if (changes.length === 0) counts.unchanged++
      for (const { action, reason } of changes) {
        counts[action]++
        if (action !== 'mint') continue
        this.#mints.push(position)
        if (reason?.startsWith(FAILED) === true) counts.retries++
      }
    }
  }

  /** @throws GdnError `already_accepted` if another run on this machine has rows to be minted */
  async #refuseTaken(): Promise<void> {
    const pending = this.#mints
    if (pending.length === 0) return
    const options = this.#options
    await this.#store.read((sql) =>
      refuseTaken(sql, this.#store, { ...options, newRows: true }, { rows: 'draft', isRead: true, pending }),
    )
  }

  #note(hasReferences: boolean): void {
    const { vanished, mint } = this.counts
    if (vanished > 0) {
      const rows = vanished === 1 ? '1 row that was minted is' : `${vanished} rows that were minted are`
      const edited = mint > 0 ? '. Without an id, an edited row is a new row: it would be minted in addition' : ''
      this.notes.push(`${rows} no longer in the manifest${edited}`)
    }
    if (!hasReferences && this.#store.drop.setId === null) {
      this.notes.push('The server has no reference IDs, and this machine has no run of this manifest: all rows are new')
    }
  }
}

const FAILED = 'its last mint failed'
const NO_NFT = { nftGdnId: null, tokenId: null, revision: null, reference: null, fields: [] }

/** Returns the mint of a row without an NFT; null if it has one. */
function mintOf({ nftGdnId, sent }: Candidate): Change | null {
  if (nftGdnId !== null) return null
  return { ...NO_NFT, action: 'mint', want: 'mint', reason: sent === null ? null : whyAgain(sent) }
}

function whyAgain({ state, reason }: NonNullable<Candidate['sent']>): string | null {
  if (state === 'failed') return `${FAILED}: ${reason ?? 'the server returned no reason'}`
  const isOpen = state === 'sent' || state === 'unknown' || state === 'absent'
  return isOpen ? 'its outcome is unknown, and is resolved before it is sent again' : null
}

/** Returns the mint of a row whose NFT failed without effect; null for any other NFT. */
function failedMint({ named }: Candidate, { status, error }: { status: string; error?: unknown }): Change | null {
  if (status !== 'failed' || named !== null) return null
  const reason = `${FAILED}: ${typeof error === 'string' ? error : 'the server returned no reason'}`
  return { ...NO_NFT, action: 'mint', want: 'mint', reason }
}

/** An accepted mint whose NFT the server does not return. */
const unknownNft = ({ nftGdnId }: Candidate): Change => ({
  ...NO_NFT,
  nftGdnId,
  action: 'impossible',
  want: 'mint',
  reason: 'it was accepted, but the server does not return its NFT',
})

async function* changesOf(store: RunStore): AsyncGenerator<PlannedChange> {
  for await (const { row, changes } of rowsOf(store, 'JOIN')) {
    for (const change of changes) {
      yield { ...change, key: shownKey(row.key), line: row.row.line, title: row.row.metadata.title }
    }
  }
}

async function* rowsOf(
  store: RunStore,
  join: 'JOIN' | 'LEFT JOIN' = 'LEFT JOIN',
): AsyncGenerator<{ row: KeptRow; changes: Change[] }> {
  const pages = pagesOf(store.state, (sql, after, limit) =>
    sql.all<RowRecord & { changes: string }>(
      `SELECT r.*, json_group_array(json(c.change)) FILTER (WHERE c.change IS NOT NULL) AS changes FROM temp.draft r
        ${join} temp.changes c ON c.position = r.position WHERE r.position > ?
        GROUP BY r.position ORDER BY r.position LIMIT ?`,
      after,
      limit,
    ),
  )
  for await (const page of pages) {
    for (const { changes, ...record } of page)
      yield { row: store.keep(record), changes: JSON.parse(changes) as Change[] }
  }
}
