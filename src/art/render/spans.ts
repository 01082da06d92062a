import type { Pixels } from './blend.ts'

/** The property that all pixels of a span share. `MIXED` makes no statement. */
export const TRANSPARENT = 0
export const MIXED = 1
export const OPAQUE = 2

/** Shorter runs of equal pixels are a part of mixed ones, so that no image has more spans than are worth it. */
const SHORTEST = 16

/** The visible part of a layer's image, at its place in the output. */
export interface LayerImage extends Pixels {
  left: number
  top: number
  /** The index of each row's first span in `kinds`, and the number of spans at the end. */
  rows: Uint32Array
  kinds: Uint8Array
  /** The end of each span, from the left of the output. */
  ends: Uint32Array
}

/** Finds the part of an image that isn't transparent, and the spans of its rows. */
export function layerImage({ width, height, data }: Pixels): LayerImage {
  const kinds: number[] = []
  const ends: number[] = []
  const rows = new Uint32Array(height + 1)
  let [left, right, top, bottom] = [width, 0, height, 0]
  for (let y = 0; y < height; y++) {
    const first = ends.length
    rows[y] = first
    findSpans(data.subarray(y * width * 4, (y + 1) * width * 4), kinds, ends)
    for (let span = first; span < ends.length; span++) {
      if (kinds[span] === TRANSPARENT) continue
      left = Math.min(left, span === first ? 0 : (ends[span - 1] as number))
      right = Math.max(right, ends[span] as number)
      top = Math.min(top, y)
      bottom = y + 1
    }
  }
  rows[height] = ends.length
  const spans = { rows, kinds: Uint8Array.from(kinds), ends: Uint32Array.from(ends) }
  if (right === 0) return { left: 0, top: 0, width: 0, height: 0, data: new Uint8Array(0), ...spans }
  const own = { left, top, width: right - left, height: bottom - top }
  if (own.width === width && own.height === height) return { ...own, data, ...spans }
  const cropped = new Uint8Array(own.width * own.height * 4)
  for (let row = 0; row < own.height; row++) {
    const from = ((top + row) * width + left) * 4
    cropped.set(data.subarray(from, from + own.width * 4), row * own.width * 4)
  }
  return { ...own, data: cropped, ...spans }
}

/** Appends the spans of a row, which are as long as they can be. */
function findSpans(row: Uint8Array, kinds: number[], ends: number[]): void {
  const width = row.length / 4
  const first = ends.length
  const add = (kind: number, end: number) => {
    if (ends.length > first && kinds.at(-1) === kind) ends[ends.length - 1] = end
    else {
      kinds.push(kind)
      ends.push(end)
    }
  }
  for (let x = 0; x < width; ) {
    const alpha = row[x * 4 + 3] as number
    let end = x + 1
    if (alpha === 0 || alpha === 255) {
      while (end < width && row[end * 4 + 3] === alpha) end += 1
    }
    const isLong = end - x >= SHORTEST && (alpha === 0 || alpha === 255)
    add(isLong ? (alpha === 0 ? TRANSPARENT : OPAQUE) : MIXED, end)
    x = end
  }
}
