/** @module-tag slow */
import { spawnSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { parseArt } from '../../src/art/art-file.ts'
import { checkFiles } from '../../src/art/generate/check-files.ts'
import { loadSharp } from '../../src/art/render/load-sharp.ts'
import type { Fit } from '../../src/art/render/read-image.ts'
import { hashPixels, openRenderer } from '../../src/art/render/renderer.ts'
import { BLEND_MODES, type BlendMode } from '../../src/art/types.ts'
import { GdnError } from '../../src/core/errors.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

type Rgba = readonly [number, number, number, number]

const SIDE = 16

async function tempDir(): Promise<string> {
  const folder = await temporaryFolder('gdn-art-')
  return folder
}

/** Writes an image of one color for each pixel. */
async function image(folder: string, name: string, colorAt: (x: number, y: number) => Rgba, side = SIDE) {
  const data = Buffer.alloc(side * side * 4)
  for (let at = 0; at < side * side; at++) data.set(colorAt(at % side, Math.floor(at / side)), at * 4)
  const path = join(folder, name)
  await sharp(data, { raw: { width: side, height: side, channels: 4 } })
    .png()
    .toFile(path)
  return path
}

function artOf(folder: string, files: readonly (string | Record<string, unknown>)[], output = '') {
  const layers = files.map((given, index) => {
    const trait = typeof given === 'string' ? { file: given } : given
    return `  - name: L${index}\n    traits:\n      T: ${JSON.stringify(trait)}`
  })
  return parseArt(`title: a\ndescription: b\n${output}layers:\n${layers.join('\n')}\n`, 'art.yaml', folder)
}

async function render(art: ReturnType<typeof artOf>, fit: Fit | null = null) {
  const renderer = await openRenderer(art, { fit })
  return { renderer, pixels: await renderer.render({ traits: new Int16Array(art.layers.length) }) }
}

const problemOf = async (act: Promise<unknown>): Promise<string> => {
  const error = await act.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof GdnError)) throw error ?? new Error('was accepted')
  return `${error.place?.file}:${error.place?.line} ${error.message}`
}

/** Colors and alphas that reach each branch of the formulas. */
const levels = (x: number, y: number, shift: number): Rgba => [
  (x * 17 + shift) % 256,
  (y * 17 + shift * 3) % 256,
  (x * y * 5 + shift) % 256,
  x === 0 ? 0 : y === 0 ? 255 : (x * 40 + y * 13 + shift) % 256,
]

describe('blends as the formulas of the specification', () => {
  /** The formulas in the order and with the names of https://www.w3.org/TR/compositing-1/#blending. */
  const B: Record<BlendMode, (cb: number, cs: number) => number> = {
    normal: (_, cs) => cs,
    multiply: (cb, cs) => cb * cs,
    screen: (cb, cs) => 1 - (1 - cb) * (1 - cs),
    overlay: (cb, cs) => B['hard-light'](cs, cb),
    darken: (cb, cs) => Math.min(cb, cs),
    lighten: (cb, cs) => Math.max(cb, cs),
    'color-dodge': (cb, cs) => (cb === 0 ? 0 : cs === 1 ? 1 : Math.min(1, cb / (1 - cs))),
    'color-burn': (cb, cs) => (cb === 1 ? 1 : cs === 0 ? 0 : 1 - Math.min(1, (1 - cb) / cs)),
    'hard-light': (cb, cs) => (cs <= 0.5 ? cb * 2 * cs : 1 - (1 - cb) * (1 - (2 * cs - 1))),
    'soft-light': (cb, cs) =>
      cs <= 0.5
        ? cb - (1 - 2 * cs) * cb * (1 - cb)
        : cb + (2 * cs - 1) * ((cb <= 0.25 ? ((16 * cb - 12) * cb + 4) * cb : Math.sqrt(cb)) - cb),
    difference: (cb, cs) => Math.abs(cb - cs),
    exclusion: (cb, cs) => cb + cs - 2 * cb * cs,
  }

  test.each(BLEND_MODES)('%s', async (blend) => {
    const folder = await tempDir()
    await image(folder, 'below.png', (x, y) => levels(x, y, 90))
    await image(folder, 'above.png', (x, y) => levels(y, x, 7))
    const { pixels } = await render(artOf(folder, ['below.png', { file: 'above.png', blend, opacity: 0.8 }]))
    let largest = 0
    for (let at = 0; at < SIDE * SIDE; at++) {
      const [x, y] = [at % SIDE, Math.floor(at / SIDE)]
      const [cb, cs] = [levels(x, y, 90), levels(y, x, 7)].map((color) => color.map((value) => value / 255)) as [
        number[],
        number[],
      ]
      const ab = cb[3] as number
      const as = (cs[3] as number) * 0.8
      const ao = as + ab * (1 - as)
      const expected = [0, 1, 2].map((channel) => {
        const [b, s] = [cb[channel] as number, cs[channel] as number]
        // "Cs = (1 - αb) x Cs + αb x B(Cb, Cs)", then "co = Cs x αs + Cb x αb x (1 - αs)"
        const mixed = (1 - ab) * s + ab * B[blend](b, s)
        return ao === 0 ? 0 : ((mixed * as + b * ab * (1 - as)) / ao) * 255
      })
      const alpha = ao * 255
      const isVisible = Math.round(alpha) > 0
      for (const [channel, value] of [...expected, alpha].entries()) {
        largest = Math.max(largest, Math.abs((pixels.data[at * 4 + channel] as number) - (isVisible ? value : 0)))
      }
    }
    // Rounding once to 8 bits.
    expect(largest).toBeLessThan(0.51)
  })
})

const magick = ['magick', 'convert'].find((name) => spawnSync(name, ['-version']).status === 0)

describe.skipIf(magick === undefined)('blends like ImageMagick, within 2 of 255', () => {
  const NAMES: Record<BlendMode, string> = {
    ...(Object.fromEntries(BLEND_MODES.map((mode) => [mode, mode])) as Record<BlendMode, string>),
    normal: 'over',
    'color-dodge': 'ColorDodge',
    'color-burn': 'ColorBurn',
    'hard-light': 'HardLight',
    'soft-light': 'SoftLight',
  }

  test.each(BLEND_MODES)('%s', async (blend) => {
    const folder = await tempDir()
    const opaque = (color: Rgba): Rgba => [color[0], color[1], color[2], 255]
    const below = await image(folder, 'below.png', (x, y) => opaque(levels(x, y, 90)))
    const above = await image(folder, 'above.png', (x, y) => levels(y, x, 7))
    const { pixels } = await render(artOf(folder, ['below.png', { file: 'above.png', blend }]))
    const made = spawnSync(
      magick as string,
      [below, above, '-compose', NAMES[blend], '-composite', '-depth', '8', 'rgba:-'],
      { maxBuffer: 1e7 },
    )
    expect(made.status).toBe(0)
    const largest = Math.max(...pixels.data.map((value, at) => Math.abs(value - (made.stdout[at] as number))))
    expect(largest).toBeLessThanOrEqual(2)
  })
})

test('skips hidden layers, and fills the background', async () => {
  const folder = await tempDir()
  await image(folder, 'a.png', (x) => (x < 8 ? [200, 0, 0, 255] : [0, 0, 0, 0]))
  const art = artOf(folder, ['a.png', 'a.png'], 'output: { background: "#0000ff80" }\n')
  const renderer = await openRenderer(art, { fit: null })
  const { data } = await renderer.render({ traits: Int16Array.from([0, -1]) })
  expect([...data.subarray(0, 4)]).toEqual([200, 0, 0, 255])
  expect([...data.subarray(12 * 4, 12 * 4 + 4)]).toEqual([0, 0, 255, 128])
})

test.each(['png', 'webp'])('decoding an encoded %s image returns the pixels', async (format) => {
  const folder = await tempDir()
  await image(folder, 'a.png', (x, y) => levels(x, y, 31))
  const { renderer, pixels } = await render(artOf(folder, ['a.png'], `output: { format: ${format} }\n`))
  const decoded = await sharp(await renderer.encode(pixels))
    .ensureAlpha()
    .raw()
    .toBuffer()
  expect(hashPixels({ ...pixels, data: decoded })).toBe(hashPixels(pixels))
})

test('a JPEG image is opaque, and white where the layers are transparent', async () => {
  const folder = await tempDir()
  await image(folder, 'a.png', () => [0, 0, 0, 0])
  const { renderer, pixels } = await render(artOf(folder, ['a.png'], 'output: { format: jpeg }\n'))
  const decoded = await sharp(await renderer.encode(pixels)).stats()
  expect(decoded.channels.map(({ min }) => min)).toEqual([255, 255, 255])
})

describe('rejects an image, with the location of its trait', () => {
  test.each([
    ['that is no image', 'hello', 'is not an image, but layers need PNG, WebP or JPEG'],
    ['of another format', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'is image/svg+xml, but layers need PNG'],
    ['that is cut off', null, "can't be decoded"],
  ])('%s', async (_, content, message) => {
    const folder = await tempDir()
    const path = await image(folder, 'good.png', (x, y) => levels(x, y, 3))
    const bad = join(folder, 'bad.png')
    await writeFile(bad, content ?? (await readFile(path)).subarray(0, 90))
    expect(await problemOf(render(artOf(folder, ['good.png', 'bad.png'])))).toContain(`art.yaml:9 "bad.png" ${message}`)
  })

  test('rejects an image whose trait does not exist, with its location', async () => {
    const folder = await tempDir()
    expect(await problemOf(render(artOf(folder, ['none.png'])))).toBe('art.yaml:6 "none.png" does not exist')
  })

  test('with more pixels than it has bytes for, before it is decoded', async () => {
    const folder = await tempDir()
    const bomb = await sharp({ create: { width: 1, height: 1, channels: 3, background: '#fff' } })
      .png()
      .toBuffer()
    bomb.writeUInt32BE(60_000, 16)
    bomb.writeUInt32BE(60_000, 20)
    await writeFile(join(folder, 'bomb.png'), bomb)
    expect(await problemOf(render(artOf(folder, ['bomb.png'])))).toMatch(/^art\.yaml:6 "bomb\.png" /)
  })

  test('with too many pixels, by the size in its header', async () => {
    const folder = await tempDir()
    const size = { width: 9000, height: 8000, channels: 3 } as const
    await sharp({ create: { ...size, background: '#fff' } })
      .png()
      .toFile(join(folder, 'bomb.png'))
    const message = 'art.yaml:6 "bomb.png" has 9000 × 8000 pixels, but an image can have at most 67,108,864'
    const art = artOf(folder, ['bomb.png'])
    expect(await problemOf(render(art))).toBe(message)
    expect(await problemOf(checkFiles(art, 'contain'))).toBe(message)
  })

  test('rejects an image whose trait is animated, with its location', async () => {
    const folder = await tempDir()
    const frames = ['#fff', '#000'].map(
      async (background) =>
        await sharp({ create: { width: 4, height: 4, channels: 4, background } })
          .png()
          .toBuffer(),
    )
    await sharp(await Promise.all(frames), { join: { animated: true } })
      .webp({ lossless: true })
      .toFile(join(folder, 'a.webp'))
    expect(await problemOf(render(artOf(folder, ['a.webp'])))).toBe('art.yaml:6 "a.webp" is animated')
  })

  test('rejects an image whose trait has another size, with its location, unless --fit says how to scale it', async () => {
    const folder = await tempDir()
    await image(folder, 'a.png', () => [9, 9, 9, 255])
    await image(folder, 'b.png', () => [80, 80, 80, 255], 8)
    const art = artOf(folder, ['a.png', 'b.png'])
    const message = 'art.yaml:9 "b.png" has 8 × 8 pixels, but the output has 16 × 16'
    expect(await problemOf(render(art))).toBe(message)
    expect(await problemOf(checkFiles(art, null))).toBe(message)
    const { pixels } = await render(art, 'fill')
    expect([...pixels.data.subarray(0, 4)]).toEqual([80, 80, 80, 255])
  })
})

test('a missing sharp is an error with the command that installs it', async () => {
  const missing = Object.assign(new Error('x'), { code: 'ERR_MODULE_NOT_FOUND' })
  await expect(loadSharp(() => Promise.reject(missing), { isPacked: false })).rejects.toMatchObject({
    code: 'native_missing',
    message: "the package sharp, which renders the images, isn't installed",
    hint: expect.stringContaining('@img/sharp-wasm32'),
  })
  await expect(loadSharp(undefined, { isPacked: true })).rejects.toMatchObject({ code: 'native_missing' })
})

test('the decoders are set once for all threads, because reading an image fails meanwhile', async () => {
  const fake = (versions: Record<string, string>) => {
    const calls: string[] = []
    const note = (name: string) => () => calls.push(name)
    const sharp = {
      versions,
      ...Object.fromEntries(['block', 'unblock', 'concurrency', 'cache'].map((n) => [n, note(n)])),
    }
    return { calls, load: async () => ({ default: sharp }) }
  }
  const all = ['block', 'unblock', 'concurrency', 'cache']
  for (const { versions, isMain, calls } of [
    { versions: { vips: '8' }, isMain: true, calls: all },
    { versions: { vips: '8' }, isMain: false, calls: [] },
    { versions: { vips: '8', emscripten: '4' }, isMain: false, calls: all },
  ]) {
    const one = fake(versions)
    for (let times = 0; times < 2; times++) await loadSharp(one.load, { isPacked: false, isMain })
    expect(one.calls).toEqual(calls)
  }
})
