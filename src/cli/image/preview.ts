import { count } from '../../core/count.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { Deps } from '../deps.ts'
import { findDrawMethod } from './terminal.ts'

const TILE_AREA = { columns: 18, rows: 9 }
const GAP_COLUMNS = 2
const MAX_TILE_LINES = 3

/** Collects rows of a manifest. Draws the images of the first rows when the command ends. */
export interface Preview {
  add(row: ManifestRow): void
  draw(): Promise<void>
}

/** Returns the layout for images side by side; null if stdout can't draw images or is too narrow. */
export function findTileLayout(deps: Pick<Deps, 'io' | 'env'>) {
  const way = findDrawMethod(deps)
  const perLine = Math.floor((deps.io.columns + GAP_COLUMNS) / (TILE_AREA.columns + GAP_COLUMNS))
  return way === null || perLine < 1 ? null : { way, tile: TILE_AREA, gap: GAP_COLUMNS, perLine }
}

/** Returns a preview; null if stdout can't draw images or is too narrow. */
export function createPreview(deps: Pick<Deps, 'io' | 'env'>): Preview | null {
  const layout = findTileLayout(deps)
  if (layout === null) return null
  const rows: ManifestRow[] = []
  let total = 0
  return {
    add(row) {
      total++
      if (rows.length < layout.perLine * MAX_TILE_LINES) rows.push(row)
    },
    async draw() {
      if (rows.length === 0) return
      const { drawTiles, rowTile } = await import('./tiles.ts')
      await drawTiles(deps, rows.map(rowTile), layout)
      const more = total - rows.length
      if (more > 0)
        deps.io.note(`${count(more, 'more row')}. Run \`gdn batch preview\` to show all of them in a browser.`)
    },
  }
}
