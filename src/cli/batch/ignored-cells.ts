import { RowNamer } from '../../batch/rows/manifest-row.ts'
import { shownKey } from '../../batch/rows/row-key.ts'
import type { Run } from '../../batch/types.ts'
import { GdnError } from '../../core/errors.ts'
import type { ManifestOptions } from '../../manifest/options.ts'
import { readManifest } from '../../manifest/read.ts'

/** Returns the cells of a row in a CSV manifest, by the key of the row; undefined if the file has no such row. */
export type CellsOfFile = (key: string) => readonly string[] | undefined

/** Returns the cells of a run's manifest as it is now. The state has no cells of ignored columns. */
export async function cellsOfFile({ manifestPath: path }: Run, options: ManifestOptions): Promise<CellsOfFile> {
  const byKey = new Map<string, readonly string[]>()
  if (path === null) return () => undefined
  const byLine = new Map<number, readonly string[]>()
  const namer = new RowNamer()
  const onCells = (line: number, cells: readonly string[]) => byLine.set(line, cells)
  try {
    for await (const block of readManifest({ path }, { ...options, onCells }).blocks()) {
      for (const item of block) {
        const named = 'row' in item ? namer.name(item.row) : null
        const cells = named === null ? undefined : byLine.get(named.line)
        if (named !== null && cells !== undefined) byKey.set(shownKey(named.key), cells)
      }
      byLine.clear()
    }
  } catch (error) {
    // The comparison of the manifest with the run has reported it.
    if (!(error instanceof GdnError)) throw error
  }
  return (key) => byKey.get(key)
}
