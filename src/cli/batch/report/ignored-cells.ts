import { RowNamer } from '../../../batch/rows/manifest-row.ts'
import { formatKey } from '../../../batch/rows/row-key.ts'
import { runRows } from '../../../batch/runs/run-rows.ts'
import type { Run } from '../../../batch/types.ts'
import { GdnError } from '../../../core/errors.ts'
import type { ManifestOptions } from '../../../manifest/options.ts'
import { readManifest } from '../../../manifest/read.ts'
import type { ManifestRow } from '../../../manifest/row.ts'

/** The cells in the current CSV manifest. The state database doesn't store cells of ignored columns. */
export interface FileCells {
  /** Returns the cells of a run's row; undefined if the file doesn't contain the row. */
  of(key: string, row: ManifestRow): readonly string[] | undefined
  /** The number of rows of the run for which `of` found no cells. */
  missing: number
}

interface RowCells {
  cells: readonly string[]
  values: ReadonlySet<string>
}

export async function readFileCells(run: Run, options: ManifestOptions): Promise<FileCells> {
  const byKey = new Map<string, readonly string[]>()
  /** Rows of the file that aren't part of the run, by line number. They include edited rows without an ID. */
  const otherRows = new Map<number, RowCells>()
  if (run.manifestPath !== null) await readCells(run, run.manifestPath, { options, byKey, otherRows })
  const lookup: FileCells = {
    missing: 0,
    of(key, row) {
      const cells = byKey.get(key) ?? findEditedCells(otherRows.get(row.line), row)
      if (cells === undefined) lookup.missing++
      return cells
    },
  }
  return lookup
}

async function readCells(
  run: Run,
  path: string,
  {
    options,
    byKey,
    otherRows,
  }: { options: ManifestOptions; byKey: Map<string, readonly string[]>; otherRows: Map<number, RowCells> },
): Promise<void> {
  const byLine = new Map<number, readonly string[]>()
  const namer = new RowNamer()
  const runKeys = new Set<string>()
  for await (const { result } of runRows(run)) runKeys.add(result.key)
  const onCells = (line: number, cells: readonly string[]) => byLine.set(line, cells)
  try {
    for await (const block of readManifest({ path }, { ...options, onCells }).blocks()) {
      for (const item of block) {
        if (!('row' in item)) continue
        const keyedRow = namer.name(item.row)
        const cells = byLine.get(item.row.line)
        if (keyedRow === null || cells === undefined) continue
        const key = formatKey(keyedRow.key)
        if (runKeys.has(key)) byKey.set(key, cells)
        else otherRows.set(item.row.line, { cells, values: collectValues(item.row) })
      }
      byLine.clear()
    }
  } catch (error) {
    // The comparison of the manifest with the run has already reported this error.
    if (!(error instanceof GdnError)) throw error
  }
}

function collectValues({ receiver, metadata, localFiles }: ManifestRow): Set<string> {
  const { file_fields, attribute = [], ...texts } = metadata
  return new Set([
    receiver.toLowerCase(),
    ...Object.entries(texts).map((pair) => pair.join(': ')),
    ...file_fields.map(({ key, url }) => `${key}: ${url}`),
    ...localFiles.map(({ key, path }) => `${key}: ${path}`),
    ...attribute.map(({ tag, value }) => `${tag}: ${value}`),
  ])
}

/** Returns the cells of `other`, which is now on the line of `row`, if more than half of the values are equal. */
function findEditedCells(other: RowCells | undefined, row: ManifestRow): readonly string[] | undefined {
  if (other === undefined) return undefined
  const before = collectValues(row)
  const sharedValues = [...other.values].filter((value) => before.has(value)).length
  return sharedValues * 2 > Math.max(before.size, other.values.size) ? other.cells : undefined
}
