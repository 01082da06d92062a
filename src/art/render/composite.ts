import type { BlendMode } from '../types.ts'
import { type BlendRow, blendRowOf, fillRow, type Pixels, type Rgba, roundRow } from './blend.ts'
import { type LayerImage, MIXED, OPAQUE, TRANSPARENT } from './spans.ts'

export interface Layer {
  image: LayerImage
  /** 0 to 1. */
  opacity: number
  blend: BlendMode
}

/** A layer, and its span at the current position in a row. */
interface Cursor {
  image: LayerImage
  opacity: number
  blendRow: BlendRow
  /** Whether an opaque pixel hides everything below it. */
  hides: boolean
  span: number
  kind: number
  end: number
}

/**
 * Draws layers over a background, the first at the bottom. Where an opaque pixel hides everything below it, it is
 * copied, which is what blending it would result in.
 */
export function composite(size: { width: number; height: number }, background: Rgba, layers: readonly Layer[]): Pixels {
  const { width, height } = size
  const data = new Uint8Array(width * height * 4)
  const row = new Float32Array(width * 4)
  fillRow(row, 4, background)
  roundRow(row, 4, data, 0)
  new Uint32Array(data.buffer).fill(new Uint32Array(data.buffer)[0] as number)
  const cursors = layers.map(({ image, opacity, blend }): Cursor => {
    const hides = blend === 'normal' && opacity === 1
    return { image, opacity, blendRow: blendRowOf(blend), hides, span: 0, kind: TRANSPARENT, end: 0 }
  })
  for (let y = 0; y < height; y++) {
    // The span of copied pixels that isn't written yet.
    let copied: Cursor | null = null
    let copiedFrom = 0
    const active = cursors.filter(({ image }) => y >= image.top && y < image.top + image.height)
    for (const cursor of active) startRow(cursor, y)
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
      const source: Cursor | null = isBlended ? null : (active[base] ?? null)
      if (copied !== null && copied !== source) {
        copy(copied.image, y, copiedFrom, x, data, width)
        copied = null
      }
      if (isBlended) blend(row, active, base, background, y, x, end, data, width)
      else if (source !== null && copied === null) {
        copied = source
        copiedFrom = x
      }
      x = end
    }
    if (copied !== null) copy(copied.image, y, copiedFrom, width, data, width)
  }
  return { width, height, data }
}

function startRow(cursor: Cursor, y: number): void {
  cursor.span = (cursor.image.rows[y] as number) - 1
  nextSpan(cursor)
}

function nextSpan(cursor: Cursor): void {
  cursor.span += 1
  cursor.kind = cursor.image.kinds[cursor.span] ?? MIXED
  cursor.end = cursor.image.ends[cursor.span] as number
}

const offset = ({ left, top, width }: LayerImage, y: number, x: number): number => ((y - top) * width + x - left) * 4

function copy(image: LayerImage, y: number, from: number, to: number, data: Uint8Array, width: number): void {
  const at = offset(image, y, from)
  data.set(image.data.subarray(at, at + (to - from) * 4), (y * width + from) * 4)
}

/** Blends the layers from an opaque one up, or from the background. */
function blend(
  row: Float32Array,
  active: readonly Cursor[],
  base: number,
  background: Rgba,
  y: number,
  from: number,
  to: number,
  data: Uint8Array,
  width: number,
): void {
  const length = (to - from) * 4
  const bottom = active[base]
  if (bottom === undefined) fillRow(row, length, background)
  else bottom.blendRow(row, 0, bottom.image.data, offset(bottom.image, y, from), length, 1)
  for (let index = base + 1; index < active.length; index++) {
    const { image, opacity, blendRow, kind } = active[index] as Cursor
    if (kind !== TRANSPARENT) blendRow(row, 0, image.data, offset(image, y, from), length, opacity)
  }
  roundRow(row, length, data, (y * width + from) * 4)
}
