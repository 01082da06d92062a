import type { Pixels } from './blend.ts'

/** The property that all pixels of a span share. For `MIXED`, there is none. */
export const TRANSPARENT = 0
export const MIXED = 1
export const OPAQUE = 2

/**
 * Minimum length of a run of equal pixels. Shorter runs become part of a mixed span, because more spans would cost more
 * than they save.
 */
const MIN_SPAN_PIXELS = 16

/** The image of a layer, as spans of its rows. Only the visible pixels are stored. */
export interface LayerImage {
  /** The index of each row's first span, followed by the number of spans. */
  rows: Uint32Array
  kinds: Uint8Array
  /** The end of each span in its row. */
  ends: Uint32Array
  /** The offset of each span's pixels in `data`. */
  offsets: Uint32Array
  /** RGBA with 8 bits per channel, alpha not premultiplied. */
  data: Uint8Array
}

export function toLayerImage({ width, height, data }: Pixels): LayerImage {
  const kinds: number[] = []
  const ends: number[] = []
  const rows = new Uint32Array(height + 1)
  for (let y = 0; y < height; y++) {
    rows[y] = ends.length
    findSpans(data.subarray(y * width * 4, (y + 1) * width * 4), kinds, ends)
  }
  rows[height] = ends.length
  const { packed, offsets } = pack({ width, height, data }, rows, kinds, ends)
  return { rows, kinds: Uint8Array.from(kinds), ends: Uint32Array.from(ends), offsets, data: packed }
}

/** Copies the visible pixels. */
function pack({ width, height, data }: Pixels, rows: Uint32Array, kinds: readonly number[], ends: readonly number[]) {
  const offsets = new Uint32Array(ends.length)
  const sources: { from: number; to: number; at: number }[] = []
  let size = 0
  for (let y = 0; y < height; y++) {
    let start = 0
    for (let span = rows[y] as number; span < (rows[y + 1] as number); span++) {
      const end = ends[span] as number
      offsets[span] = size
      if (kinds[span] !== TRANSPARENT) {
        sources.push({ from: (y * width + start) * 4, to: (y * width + end) * 4, at: size })
        size += (end - start) * 4
      }
      start = end
    }
  }
  const packed = new Uint8Array(size)
  for (const { from, to, at } of sources) packed.set(data.subarray(from, to), at)
  return { packed, offsets }
}

/** Appends the spans of a row. Each span is as long as possible. */
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
    const isLong = end - x >= MIN_SPAN_PIXELS && (alpha === 0 || alpha === 255)
    add(isLong ? (alpha === 0 ? TRANSPARENT : OPAQUE) : MIXED, end)
    x = end
  }
}
