import { count } from '../../core/count.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { Deps } from '../deps.ts'
import { graphicsOf } from './terminal.ts'

const TILE = { columns: 18, rows: 9 }
const GAP = 2
const MAX_LINES = 3

/** Collects rows of a manifest. Draws the images of the first rows when the command ends. */
export interface Preview {
  add(row: ManifestRow): void
  draw(): Promise<void>
}

/** Returns the layout for images side by side; null if stdout can't draw images or is too narrow. */
export function tilesOf(deps: Pick<Deps, 'io' | 'env'>) {
  const way = graphicsOf(deps)
  const perLine = Math.floor((deps.io.columns + GAP) / (TILE.columns + GAP))
  return way === null || perLine < 1 ? null : { way, tile: TILE, gap: GAP, perLine }
}

/** Returns a preview; null if stdout can't draw images or is too narrow. */
export function previewOf(deps: Pick<Deps, 'io' | 'env'>): Preview | null {
  const layout = tilesOf(deps)
  if (layout === null) return null
  const rows: ManifestRow[] = []
  let total = 0
  return {
    add(row) {
      total++
      if (rows.length < layout.perLine * MAX_LINES) rows.push(row)
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
