import type { ManifestRow } from '../../manifest/row.ts'
import type { Deps } from '../deps.ts'
import { graphicsOf } from './terminal.ts'

const TILE = { columns: 18, rows: 9 }
const GAP = 2
const MAX_LINES = 3

/** Collects rows of a manifest, and draws the images of the first ones when the command ends. */
export interface Preview {
  add(row: ManifestRow): void
  draw(): Promise<void>
}

/** Returns a preview, or null if stdout can't draw images or is too narrow. */
export function previewOf(deps: Pick<Deps, 'io' | 'env'>): Preview | null {
  const way = graphicsOf(deps)
  const perLine = Math.floor((deps.io.columns + GAP) / (TILE.columns + GAP))
  if (way === null || perLine < 1) return null
  const rows: ManifestRow[] = []
  let total = 0
  return {
    add(row) {
      total++
      if (rows.length < perLine * MAX_LINES) rows.push(row)
    },
    async draw() {
      if (rows.length === 0) return
      const { drawTiles } = await import('./tiles.ts')
      await drawTiles(deps, rows, { way, tile: TILE, gap: GAP, perLine, more: total - rows.length })
    },
  }
}
