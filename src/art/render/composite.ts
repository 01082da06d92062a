import type { BlendMode } from '../types.ts'
import { type BlendRow, blendRowOf, fillRow, type Pixels, type Rgba, roundRow } from './blend.ts'
import { type LayerImage, MIXED, OPAQUE, TRANSPARENT } from './spans.ts'

export interface Layer {
  image: LayerImage
  /** The opacity, from 0 to 1. */
  opacity: number
  blend: BlendMode
}

/** A layer, and its span at the current position in a row. */
interface Cursor {
  image: LayerImage
  /** The pixels of the image, four bytes each. */
  words: Uint32Array
  opacity: number
  blendRow: BlendRow
  /** Whether an opaque pixel of the layer hides everything below it. */
  hides: boolean
  span: number
  kind: number
  start: number
  end: number
}

/**
 * Draws layers over a background. The first layer is at the bottom. An opaque pixel that hides everything below it is
 * copied, because blending would have the same result.
 *
 * @param data the memory for the pixels. Default: new memory
 */
export function composite(
  size: { width: number; height: number },
  background: Rgba,
  layers: readonly Layer[],
  data: Uint8Array = new Uint8Array(size.width * size.height * 4),
): Pixels {
  const { width, height } = size
  const row = new Float32Array(width * 4)
  fillRow(row, 4, background)
  roundRow(row, 4, data, 0)
  const words = new Uint32Array(data.buffer, data.byteOffset, width * height)
  words.fill(words[0] as number)
  const cursors = layers.map(({ image, opacity, blend }): Cursor => {
    const hides = blend === 'normal' && opacity === 1
    const words = new Uint32Array(image.data.buffer, image.data.byteOffset, image.data.byteLength / 4)
    return { image, words, opacity, blendRow: blendRowOf(blend), hides, span: 0, kind: TRANSPARENT, start: 0, end: 0 }
  })
  for (let y = 0; y < height; y++) {
    for (const cursor of cursors) startRow(cursor, y)
    const active = cursors.filter(({ kind, end }) => kind !== TRANSPARENT || end < width)
    for (let x = 0; x < width; ) {
      let end = width
      let base = -1
      let isBlended = false
      for (let index = active.length - 1; index >= 0; index--) {
        const cursor = active[index] as Cursor
        while (cursor.end <= x) nextSpan(cursor)
        if (cursor.end < end) end = cursor.end
        if (cursor.kind === OPAQUE && cursor.hides) {
          base = index
          break
        }
        if (cursor.kind !== TRANSPARENT) isBlended = true
      }
      if (isBlended) blend(row, active, base, background, x, end, data, (y * width + x) * 4)
      else if (base !== -1) {
        const cursor = active[base] as Cursor
        copyWords(cursor.words, offsetOf(cursor, x) / 4, words, y * width + x, end - x)
      }
      x = end
    }
  }
  return { width, height, data }
}

/** Copies pixels. For short runs, creating a view would cost more than the copy. */
function copyWords(from: Uint32Array, at: number, to: Uint32Array, target: number, length: number): void {
  if (length > 64) to.set(from.subarray(at, at + length), target)
  else for (let index = 0; index < length; index++) to[target + index] = from[at + index] as number
}

function startRow(cursor: Cursor, y: number): void {
  cursor.span = (cursor.image.rows[y] as number) - 1
  cursor.end = 0
  nextSpan(cursor)
}

function nextSpan(cursor: Cursor): void {
  cursor.span += 1
  cursor.start = cursor.end
  cursor.kind = cursor.image.kinds[cursor.span] ?? MIXED
  cursor.end = cursor.image.ends[cursor.span] as number
}

/** Returns the offset of a pixel of the current span in the data of the image. */
const offsetOf = ({ image, span, start }: Cursor, x: number): number =>
  (image.offsets[span] as number) + (x - start) * 4

/**
 * Blends the layers of a span of pixels into `data`.
 *
 * @param base the index of the opaque layer to start with; -1 for the background
 * @param from the x coordinate of the first pixel
 * @param to the x coordinate after the last pixel
 * @param at the offset of the first pixel in `data`, in bytes
 */
function blend(
  row: Float32Array,
  active: readonly Cursor[],
  base: number,
  background: Rgba,
  from: number,
  to: number,
  data: Uint8Array,
  at: number,
): void {
  const length = (to - from) * 4
  const bottom = active[base]
  if (bottom === undefined) fillRow(row, length, background)
  else bottom.blendRow(row, 0, bottom.image.data, offsetOf(bottom, from), length, 1)
  for (let index = base + 1; index < active.length; index++) {
    const cursor = active[index] as Cursor
    if (cursor.kind === TRANSPARENT) continue
    cursor.blendRow(row, 0, cursor.image.data, offsetOf(cursor, from), length, cursor.opacity)
  }
  roundRow(row, length, data, at)
}
