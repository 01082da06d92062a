// A screenshot in 256 colours: a third of its bytes, and nobody sees the difference.
import { createRequire } from 'node:module'
import { decode, encode } from 'fast-png'

// It declares no variables: as a module it wouldn't load.
const { quantize } = createRequire(import.meta.url)('sixel/upng.js')

const COLOURS = 256

export function smallPng(png) {
  const { width, height, data, channels } = decode(png)
  const rgba = new Uint8Array(width * height * 4)
  for (let i = 0; i < width * height; i++) {
    rgba.set(data.subarray(i * channels, i * channels + 3), i * 4)
    rgba[i * 4 + 3] = 255
  }
  const { inds, plte } = quantize(rgba.buffer, COLOURS)
  const palette = plte.map(({ est }) => [est.rgba & 255, (est.rgba >> 8) & 255, (est.rgba >> 16) & 255])
  return encode({ width, height, data: inds, channels: 1, depth: 8, palette }, { zlib: { level: 9 } })
}
