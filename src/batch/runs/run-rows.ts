import { dirname } from 'node:path'
import { chunksOf } from '../../core/chunks-of.ts'
import { GdnError } from '../../core/errors.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import { sentMetadata } from '../../operations/reconcile/content-and-owners.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { type Drop, readDrop } from '../../state/drops.ts'
import { openStateIfExists, type StateReader } from '../../state/open-state.ts'
import { type ChangedRow, changedRows } from '../../state/row-outcomes.ts'
import { findBodyOfKey } from '../../state/row-requests.ts'
import { findOutcomeOfKey } from '../../state/row-results.ts'
import { findRowName, readRowPage, readRowPages } from '../../state/rows.ts'
import { ManifestColumns } from '../rows/manifest-cells.ts'
import { parseStoredRow, RowNamer } from '../rows/manifest-row.ts'
import { formatKey } from '../rows/row-key.ts'
import { parseRowParts, splitRowText } from '../rows/row-text.ts'
import type { ResultRow, Run } from '../types.ts'
import { readResultsOutsideManifest, resultsPage, rowResult, unsentResult } from './results.ts'

/** Number of changed rows that are read at a time. */
const PAGE_SIZE = 100

/** A row with its outcome. `row` is null if the row was removed from the manifest after it was sent. */
export interface RunRow {
  result: ResultRow
  row: ManifestRow | null
  /** A removed row as it was last applied or sent. Null if the state doesn't have it. */
  removed: ManifestRow | null
  /**
   * The row that was drawn for this slot of a shuffled drop, and whose metadata the slot's NFT has. Null if there is no
   * NFT or no draw.
   */
  drawn: { key: string; line: number } | null
  /**
   * Returns the metadata as sent, with URLs instead of local files. For an adopted row, the metadata has the paths of
   * local files.
   */
  sentMetadata(): Promise<Json | null>
}

type Json = Readonly<Record<string, unknown>>

/**
 * Yields results with their rows, in the manifest's order, even while a process works on the run.
 *
 * @param drawn the numbers of the rows that were drawn for the slots of a shuffled drop, counted from 1
 */
export async function* runRows(run: Run, drawn?: Uint32Array): AsyncGenerator<RunRow> {
  for await (const page of runRowPages(run, { drawn })) yield* page
}

/** Yields results with their rows, in pages of at most `limit` rows. */
export async function* runRowPages(
  run: Run,
  { limit, drawn }: { limit?: number; drawn?: Uint32Array | undefined } = {},
): AsyncGenerator<RunRow[]> {
  const { state, drop } = await openDrop(run)
  try {
    const pages = readRowPages(
      state,
      (sql, after, most) => resultsPage(sql, drop, { after, limit: most, live: run.running }),
      limit,
    )
    for await (const page of pages) {
      const names = drawn === undefined ? null : await state.read((sql) => drawnNames(sql, drop, page, drawn))
      yield page.map(({ key, result, parts, position }) => {
        const row = buildManifestRow(key, result.line, parts)
        const drawnRow = result.nft_gdn_id === null ? null : (names?.get(position) ?? null)
        return { result, row, removed: null, drawn: drawnRow, sentMetadata: () => readSentMetadata(state, drop, key) }
      })
    }
    const outside = await state.read((sql) => readResultsOutsideManifest(sql, drop, run.running))
    const most = limit ?? outside.length
    for (const chunk of chunksOf(outside, most)) {
      yield chunk.map(({ result, key, parts }) => ({
        result,
        row: null,
        removed: parts === null ? null : buildManifestRow(key, result.line, parts),
        drawn: null,
        sentMetadata: async () => null,
      }))
    }
  } finally {
    state.close()
  }
}

/** Returns the keys and lines of the rows that were drawn for slots, by the position of the slot. */
function drawnNames(sql: Sql, { setId }: Drop, slots: readonly { position: number }[], drawn: Uint32Array) {
  const names = slots.flatMap(({ position }) => {
    const row = drawn[position]
    const name = row === undefined ? null : findRowName(sql, { set: setId ?? -1 }, row - 1)
    return name === null ? [] : [[position, { key: formatKey(name.key), line: name.line }] as const]
  })
  return new Map(names)
}

const buildManifestRow = (key: string, line: number, parts: readonly string[]): ManifestRow => ({
  line,
  id: key.startsWith('id:') ? key.slice('id:'.length) : null,
  ...parseRowParts(parts),
})

async function openDrop({ stateDir, id, name }: Run): Promise<{ state: StateReader; drop: Drop }> {
  const state = await openStateIfExists(stateDir)
  const drop = (await state?.read((sql) => readDrop(sql, id))) ?? null
  if (state !== null && drop !== null) return { state, drop }
  state?.close()
  throw new GdnError('not_found_locally', `the run ${name} was removed in the meantime`)
}

async function readSentMetadata(state: StateReader, drop: Drop, key: string): Promise<Json | null> {
  const sentBody = await state.read((sql) => findBodyOfKey(sql, drop, key))
  if (sentBody === undefined) return null
  return (sentMetadata(sentBody.body)[sentBody.position] as Json | undefined) ?? null
}

/** The outcomes of a manifest's rows in a run that has sent some of these rows. */
export interface RunOutcomes {
  /**
   * Returns the outcome of a row. Must be called once for each row, in the manifest's order, because copies of a row
   * differ only in their copy number.
   */
  findResult(row: ManifestRow): Promise<ResultRow>
  close(): Promise<void>
}

/** Opens a run to look up the outcomes of rows in the current manifest. A row that the run doesn't have is pending. */
export async function openOutcomes(run: Run): Promise<RunOutcomes> {
  const { state, drop } = await openDrop(run)
  const namer = new RowNamer()
  return {
    async findResult(row) {
      const key = namer.name(row)?.key ?? `id:${row.id}`
      const { title } = row.metadata
      const shownRow = { key, line: row.line, title, receiver: row.receiver, contract: drop.contract }
      const outcome = await state.read((sql) => findOutcomeOfKey(sql, drop, key))
      return outcome === null ? unsentResult(shownRow) : rowResult(outcome, shownRow, run.running)
    },
    close: async () => state.close(),
  }
}

export async function* runResults(run: Run): AsyncGenerator<ResultRow> {
  for await (const { result } of runRows(run)) yield result
}

/** Returns the manifest columns that the rows of a run use. */
export async function runColumns(run: Run): Promise<ManifestColumns> {
  const { state, drop } = await openDrop(run)
  try {
    const columns = new ManifestColumns(run.manifestPath === null ? null : dirname(run.manifestPath))
    const rows = { set: drop.setId ?? -1 }
    for await (const page of readRowPages(state, (sql, after, limit) => readRowPage(sql, rows, after, limit))) {
      for (const record of page) columns.learn(parseStoredRow(record).row)
    }
    let after: string | undefined = ''
    while (after !== undefined) {
      const page: { after: string; limit: number } = { after, limit: PAGE_SIZE }
      const changed: ChangedRow[] = await state.read((sql) => changedRows(sql, drop.id, page))
      for (const { body } of changed) columns.learn({ line: 0, id: null, ...parseRowParts(splitRowText(body)) })
      after = changed.at(-1)?.id
    }
    return columns
  } finally {
    state.close()
  }
}
