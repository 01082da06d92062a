/**
 * Maximum height of a list in pixels. Browsers lay out at most about 17 million pixels. This height is low enough for
 * exact positions.
 */
const MAX_LIST_HEIGHT = 6_000_000
/** Distance from both ends, in pixels, within which one scrolled pixel moves the list by one pixel. */
const EDGE_HEIGHT = 60_000

export interface Grid {
  columns: number
  /** Height of a row in pixels, including the gap below it. */
  rowHeight: number
  tileWidth: number
  gap: number
}

export interface GridOptions {
  /** Available width in pixels. */
  width: number
  /** Minimum width of a tile in pixels. Infinity means a single column. */
  minTile: number
  gap: number
  /** Returns the height of a tile with the given width. */
  heightOf: (tileWidth: number) => number
}

export function gridOf({ width, minTile, gap, heightOf }: GridOptions): Grid {
  const columns = Number.isFinite(minTile) ? Math.max(1, Math.floor((width + gap) / (minTile + gap))) : 1
  const tileWidth = Math.max(0, (width - gap * (columns - 1)) / columns)
  return { columns, tileWidth, gap, rowHeight: Math.ceil(heightOf(tileWidth)) + gap }
}

/**
 * Maps a list of `full` pixels, which may be too high for a browser to lay out, to a scroll height of `shown` pixels.
 * `toFull` and `toShown` convert positions between the two.
 */
export interface Scale {
  full: number
  shown: number
  toFull(place: number): number
  toShown(place: number): number
}

export function scaleOf(full: number, max = MAX_LIST_HEIGHT): Scale {
  if (full <= max) return { full, shown: full, toFull: (place) => place, toShown: (place) => place }
  const edge = Math.min(EDGE_HEIGHT, max / 4)
  const ratio = (full - 2 * edge) / (max - 2 * edge)
  return {
    full,
    shown: max,
    toFull(place) {
      if (place <= edge) return place
      if (place >= max - edge) return full - (max - place)
      return edge + (place - edge) * ratio
    },
    toShown(place) {
      if (place <= edge) return place
      if (place >= full - edge) return max - (full - place)
      return edge + (place - edge) / ratio
    },
  }
}

export interface Span {
  start: number
  /** The end index (exclusive). */
  end: number
}

/** Returns the items whose rows are between two positions of the list, plus `moreRows` rows before and after them. */
export function itemsBetween(grid: Grid, total: number, from: number, to: number, moreRows: number): Span {
  const rows = Math.ceil(total / grid.columns)
  const first = Math.max(0, Math.floor(from / grid.rowHeight) - moreRows)
  const last = Math.min(rows, Math.ceil(to / grid.rowHeight) + moreRows)
  return { start: Math.min(first * grid.columns, total), end: Math.max(0, Math.min(last * grid.columns, total)) }
}

/** Returns the height of all rows in pixels, without a gap below the last row. */
export function heightOf(grid: Grid, total: number): number {
  return total === 0 ? 0 : Math.ceil(total / grid.columns) * grid.rowHeight - grid.gap
}
