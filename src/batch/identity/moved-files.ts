import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, relative } from 'node:path'
import { existingPath } from '../../core/existing-path.ts'
import { sha256OfFile } from '../../core/sha256-of-file.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import {
  freshRows,
  type MovedRow,
  movedRows,
  type RelocatedRow,
  readRearrangedRows,
  readRemovedSentRows,
  sentBodies,
} from '../../state/edited-rows.ts'
import { type RowLocation, readRowsAt } from '../../state/rows.ts'
import { parseStoredRow, type StoredRow } from '../rows/manifest-row.ts'
import { isContentKey, rowReferenceId } from '../rows/row-key.ts'
import { copyHash, parseRowParts, splitRowText } from '../rows/row-text.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { Pair } from './pairing.ts'
import { readRemovedRowTexts } from './texts-of-left.ts'

/**
 * Returns the run's rows without an ID whose local files were moved (for example with the manifest) or whose columns
 * were reordered. Each row has its operation. Both changes alter the row's content, but not its reference ID.
 */
export async function rowsWithMovedFiles(run: StoredRun, rows: RowLocation): Promise<Pair[]> {
  const { drop } = run
  const candidates = await run.read((sql) =>
    [...movedRows(sql, drop, rows), ...returnedRows(sql, run, rows)]
      .filter(isFirstOfOperation())
      .flatMap((moved) =>
        readRowsAt(sql, rows, [moved.position]).map((record) => ({ ...moved, row: parseStoredRow(record) })),
      ),
  )
  const pairs: Pair[] = []
  for (const { reference: name, body, id: operationId, operation, nft, row } of candidates) {
    if (!(await haveSameFiles(run, filesOf(body), row.row.localFiles))) continue
    const reference = rowReferenceId(drop.referenceScope, name)
    const names = { reference, mintedAs: reference, label: null, alias: 'stored' } as const
    pairs.push({ row, nftGdnId: nft ?? '', operation, sent: operationId, ...names })
  }
  return pairs
}

/** Returns a filter that keeps the first row of each operation. */
function isFirstOfOperation(): (row: MovedRow) => boolean {
  const seen = new Set<string>()
  return ({ id }) => seen.size < seen.add(id).size
}

/**
 * Returns new rows that the run sent earlier. They left the manifest, and their files were moved before they returned.
 * The current rows of the run don't contain these rows.
 */
function returnedRows(sql: Sql, { drop }: StoredRun, rows: RowLocation): MovedRow[] {
  if (drop.setId === null) return []
  const fresh = freshRows(sql, drop, rows, drop.setId).filter(
    ({ key, reference }) => reference !== null && isContentKey(key),
  )
  if (fresh.length === 0) return []
  const positions = new Map(fresh.map(({ reference, position }) => [reference, position]))
  const left = readRemovedSentRows(sql, drop, rows, { withReplaced: true }).filter(
    ({ reference }) => reference === null,
  )
  const texts = readRemovedRowTexts(sql, drop, left)
  return left.flatMap(({ id, operation, nft }): MovedRow[] => {
    const { reference = '', body } = texts.get(id) ?? {}
    const position = positions.get(reference)
    return position === undefined || body === undefined ? [] : [{ position, reference, body, id, operation, nft }]
  })
}

/** Returns the sent rows with an ID in which only the paths of local files or the order of columns changed. */
export async function findRelocatedRows(run: StoredRun, rows: RowLocation, setId: number): Promise<RelocatedRow[]> {
  return await filterRelocatedRows(run, await run.read((sql) => readRearrangedRows(sql, run.drop, rows, setId)))
}

/**
 * Returns the rows minted under another key in which only the paths of local files or the order of columns changed. The
 * keys of these rows are about to change.
 */
export async function relocatedPairs(
  run: StoredRun,
  rows: RowLocation,
  pairs: readonly { sent: string; row: StoredRow }[],
): Promise<RelocatedRow[]> {
  const candidates = await run.read((sql) => {
    const before = sentBodies(
      sql,
      run.drop,
      pairs.map(({ sent }) => sent),
    )
    const records = readRowsAt(
      sql,
      rows,
      pairs.map(({ row }) => row.position),
    )
    return pairs.flatMap(({ sent: operation }, at): RelocatedRow[] => {
      const [record, body] = [records[at], before.get(operation)]
      if (record === undefined || body === undefined) return []
      const { position, content, portable } = record
      return [{ position, operation, content, portable: portable ?? content, before: body, body: record.body }]
    })
  })
  return await filterRelocatedRows(run, candidates)
}

async function filterRelocatedRows(run: StoredRun, rows: readonly RelocatedRow[]): Promise<RelocatedRow[]> {
  const moved: RelocatedRow[] = []
  for (const row of rows) {
    const isCopy = copyHash({ line: 0, id: null, ...parseRowParts(splitRowText(row.before)) }) === row.portable
    if (isCopy && (await haveSameFiles(run, filesOf(row.before), filesOf(row.body)))) moved.push(row)
  }
  return moved
}

type Files = ManifestRow['localFiles']

const filesOf = (body: Uint8Array): Files => parseRowParts(splitRowText(body)).localFiles

/**
 * Returns whether the files with each key are the same, possibly at different paths. Two files are the same if the
 * earlier one no longer exists, or if their paths relative to the manifest or their contents are equal. Otherwise, the
 * row was edited.
 */
async function haveSameFiles(
  { movedFrom, drop: { manifest } }: StoredRun,
  before: Files,
  files: Files,
): Promise<boolean> {
  const relativePath = (path: string, from: string | null) => relative(dirname(from ?? ''), path)
  for (const { key, path } of files) {
    const earlier = before.find((file) => file.key === key)?.path
    if (earlier === undefined || earlier === path) continue
    const isMoved =
      !existsSync(existingPath(earlier)) ||
      relativePath(earlier, movedFrom ?? manifest) === relativePath(path, manifest) ||
      (await haveSameContent(earlier, path))
    if (!isMoved) return false
  }
  return true
}

/** Returns whether two files have the same content. Reads the files only if their sizes are equal. */
async function haveSameContent(path: string, other: string): Promise<boolean> {
  try {
    const [{ size }, { size: otherSize }] = await Promise.all([stat(existingPath(path)), stat(existingPath(other))])
    return size === otherSize && (await sha256OfFile(path)) === (await sha256OfFile(other))
  } catch {
    return false
  }
}
