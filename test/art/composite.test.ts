import { expect, test } from 'vitest'
import type { Rgba } from '../../src/art/render/blend.ts'
import { composite } from '../../src/art/render/composite.ts'
import { type LayerImage, MIXED, OPAQUE, TRANSPARENT, toLayerImage } from '../../src/art/render/spans.ts'
import { BLEND_MODES } from '../../src/art/types.ts'
import { SeededRandom } from '../../src/core/random-words.ts'

const random = new SeededRandom('composite', 'test')

/** An image with runs of transparent, opaque and other pixels, of which some reach the edges. */
function randomImage(width: number, height: number): LayerImage {
  const data = new Uint8Array(width * height * 4)
  for (let y = 0; y < height; y++) {
    let left = 0
    let alpha = 0
    for (let x = 0; x < width; x++, left--) {
      if (left <= 0) {
        left = 1 + random.below(40)
        alpha = [0, 0, 255, 255, random.below(256)][random.below(5)] ?? 0
      }
      data.set([random.below(256), random.below(256), random.below(256), alpha], (y * width + x) * 4)
    }
  }
  return toLayerImage({ width, height, data })
}

/** The same image without knowledge of its pixels, so that all of them are blended. */
function withoutSpans({ rows, kinds, ends, offsets, data }: LayerImage, width: number, height: number): LayerImage {
  const full = new Uint8Array(width * height * 4)
  for (let y = 0; y < height; y++) {
    let start = 0
    for (let span = rows[y] as number; span < (rows[y + 1] as number); span++) {
      const [end, at] = [ends[span] as number, offsets[span] as number]
      if (kinds[span] !== TRANSPARENT) full.set(data.subarray(at, at + (end - start) * 4), (y * width + start) * 4)
      start = end
    }
  }
  return {
    rows: Uint32Array.from({ length: height + 1 }, (_, row) => row),
    kinds: new Uint8Array(height).fill(MIXED),
    ends: new Uint32Array(height).fill(width),
    offsets: Uint32Array.from({ length: height }, (_, row) => row * width * 4),
    data: full,
  }
}

test('copying opaque pixels and skipping transparent ones results in the same pixels as blending all', () => {
  const kinds = new Set<number>()
  for (let round = 0; round < 100; round++) {
    const size = { width: 1 + random.below(120), height: 1 + random.below(8) }
    const background = [
      [0, 0, 0, 0],
      [10, 20, 30, 128],
      [200, 100, 50, 255],
    ][random.below(3)] as unknown as Rgba
    const layers = Array.from({ length: random.below(6) }, () => ({
      image: randomImage(size.width, size.height),
      opacity: random.below(3) === 0 ? 0.6 : 1,
      blend: random.below(2) === 0 ? ('normal' as const) : (BLEND_MODES[random.below(BLEND_MODES.length)] ?? 'normal'),
    }))
    for (const { image } of layers) for (const kind of image.kinds) kinds.add(kind)
    const all = layers.map((one) => ({ ...one, image: withoutSpans(one.image, size.width, size.height) }))
    // The memory of an earlier image, as renderers use it.
    const data = Uint8Array.from({ length: size.width * size.height * 4 }, () => random.below(256))
    expect(composite(size, background, layers, data)).toEqual(composite(size, background, all))
  }
  expect([...kinds].sort()).toEqual([TRANSPARENT, MIXED, OPAQUE])
})

test('only the visible pixels of an image are kept', () => {
  const data = new Uint8Array(50 * 4 * 4)
  data.set([1, 2, 3, 4], (2 * 50 + 20) * 4)
  const image = toLayerImage({ width: 50, height: 4, data })
  expect([...image.data]).toEqual([1, 2, 3, 4])
  expect([...image.ends]).toEqual([50, 50, 20, 21, 50, 50])
})
