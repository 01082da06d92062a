import { constants, crc32, deflateSync } from 'node:zlib'
import { toRgb } from './colour.mjs'

const SAMPLES = 4

/**
 * An image from a function that tells the colour (#rrggbb) of every point. Pixels whose corners differ are sampled
 * more finely, so edges come out smooth.
 */
export function renderPng(size, colourAt) {
  const corners = Array.from({ length: size + 1 }, (_, y) => Array.from({ length: size + 1 }, (_, x) => colourAt(x, y)))
  const rgb = new Map()
  const decode = (hex) => rgb.get(hex) ?? rgb.set(hex, toRgb(hex)).get(hex)
  const pixels = Buffer.alloc(size * size * 3)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const first = corners[y][x]
      const flat = first === corners[y][x + 1] && first === corners[y + 1][x] && first === corners[y + 1][x + 1]
      pixels.set(flat ? decode(first) : average(x, y, colourAt, decode), (y * size + x) * 3)
    }
  }
  return encode(size, pixels)
}

function average(x, y, colourAt, decode) {
  const sum = [0, 0, 0]
  for (let j = 0; j < SAMPLES; j++) {
    for (let i = 0; i < SAMPLES; i++) {
      const colour = decode(colourAt(x + (i + 0.5) / SAMPLES, y + (j + 0.5) / SAMPLES))
      for (let c = 0; c < 3; c++) sum[c] += colour[c] ** 2
    }
  }
  return sum.map((value) => Math.round(Math.sqrt(value / SAMPLES ** 2)))
}

/**
 * An image with transparent parts, from a function that tells the colour (#rrggbb or #rrggbbaa) of every point, or null
 * where it is transparent. Edges are smooth.
 */
export function renderLayer(size, colourAt) {
  const known = new Map()
  const decode = (hex) => known.get(hex) ?? known.set(hex, [...toRgb(hex.slice(0, 7)), alphaOf(hex)]).get(hex)
  const corners = Array.from({ length: size + 1 }, (_, y) => Array.from({ length: size + 1 }, (_, x) => colourAt(x, y)))
  const pixels = Buffer.alloc(size * size * 4)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const first = corners[y][x]
      if (first === corners[y][x + 1] && first === corners[y + 1][x] && first === corners[y + 1][x + 1]) {
        if (first !== null) pixels.set(decode(first), (y * size + x) * 4)
        continue
      }
      const sum = [0, 0, 0, 0]
      for (let sample = 0; sample < SAMPLES ** 2; sample++) {
        const [i, j] = [sample % SAMPLES, Math.floor(sample / SAMPLES)]
        const colour = colourAt(x + (i + 0.5) / SAMPLES, y + (j + 0.5) / SAMPLES)
        if (colour === null) continue
        const [r, g, b, alpha] = decode(colour)
        for (const [c, value] of [r, g, b].entries()) sum[c] += value ** 2 * alpha
        sum[3] += alpha
      }
      if (sum[3] === 0) continue
      const rgb = sum.slice(0, 3).map((value) => Math.round(Math.sqrt(value / sum[3])))
      pixels.set([...rgb, Math.round(sum[3] / SAMPLES ** 2)], (y * size + x) * 4)
    }
  }
  return encode(size, pixels, 4)
}

const alphaOf = (hex) => (hex.length > 7 ? Number.parseInt(hex.slice(7), 16) : 255)

function encode(size, pixels, channels = 3) {
  const { palette, alpha, indexes } = toPalette(pixels, channels)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(size, 0)
  header.writeUInt32BE(size, 4)
  header.set([8, 3, 0, 0, 0], 8) // 8 bits, colours from a palette
  // Run lengths only: the search for longer matches differs between versions of zlib, and the files must not.
  const data = deflateSync(filterRows(size, indexes), { level: 9, memLevel: 9, strategy: constants.Z_RLE })
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const colours = [chunk('PLTE', palette), ...(channels === 4 ? [chunk('tRNS', alpha)] : [])]
  const chunks = [chunk('IHDR', header), ...colours, chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([signature, ...chunks])
}

/** The 256 most frequent colours; the few others, all of them blends at edges, take the nearest. */
function toPalette(pixels, channels) {
  const counts = new Map()
  for (let i = 0; i < pixels.length; i += channels) {
    const colour = pixels.readUIntBE(i, channels)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const ranked = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([colour]) => colour)
  const kept = ranked.slice(0, 256)
  const index = new Map(kept.map((colour, i) => [colour, i]))
  for (const colour of ranked.slice(256)) index.set(colour, index.get(nearest(colour, kept, channels)))
  const palette = Buffer.alloc(kept.length * 3)
  const alpha = Buffer.alloc(kept.length)
  for (const [i, colour] of kept.entries()) {
    palette.writeUIntBE(channels === 4 ? Math.floor(colour / 256) : colour, i * 3, 3)
    alpha[i] = colour % 256
  }
  const indexes = Buffer.alloc(pixels.length / channels)
  for (let i = 0; i < indexes.length; i++) indexes[i] = index.get(pixels.readUIntBE(i * channels, channels))
  return { palette, alpha, indexes }
}

function nearest(colour, kept, channels) {
  const byte = (value, i) => Math.floor(value / 256 ** i) % 256
  const distance = (other) => {
    let sum = 0
    for (let i = 0; i < channels; i++) sum += (byte(colour, i) - byte(other, i)) ** 2
    return sum
  }
  return kept.reduce((best, other) => (distance(other) < distance(best) ? other : best))
}

/** Each row as its difference to the row above: flat areas become zeros. */
function filterRows(size, indexes) {
  const rows = Buffer.alloc(size * (size + 1))
  for (let y = 0; y < size; y++) {
    rows[y * (size + 1)] = 2
    for (let x = 0; x < size; x++) {
      const above = y === 0 ? 0 : indexes[(y - 1) * size + x]
      rows[y * (size + 1) + 1 + x] = (indexes[y * size + x] - above) & 255
    }
  }
  return rows
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  framed.set(body, 4)
  framed.writeUInt32BE(crc32(body), body.length + 4)
  return framed
}
