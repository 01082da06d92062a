import type { BlendMode } from '../types.ts'

/** An image or a part of one, in RGBA with 8 bits per channel. Alpha isn't premultiplied. */
export interface Pixels {
  width: number
  height: number
  data: Uint8Array
}

export type Rgba = readonly [red: number, green: number, blue: number, alpha: number]

/**
 * Mixes a channel of the backdrop and the source, both from 0 to 1 and not premultiplied. This is B(cb, cs) in the
 * specification.
 */
type Mix = (backdrop: number, source: number) => number

const multiply: Mix = (b, s) => b * s
const screen: Mix = (b, s) => b + s - b * s
const hardLight: Mix = (b, s) => (s <= 0.5 ? multiply(b, 2 * s) : screen(b, 2 * s - 1))

const softLight: Mix = (b, s) => {
  if (s <= 0.5) return b - (1 - 2 * s) * b * (1 - b)
  const d = b <= 0.25 ? ((16 * b - 12) * b + 4) * b : Math.sqrt(b)
  return b + (2 * s - 1) * (d - b)
}

/** The formulas of https://www.w3.org/TR/compositing-1/#blending. */
const MIXES: Record<Exclude<BlendMode, 'normal'>, Mix> = {
  multiply,
  screen,
  overlay: (b, s) => hardLight(s, b),
  darken: Math.min,
  lighten: Math.max,
  'color-dodge': (b, s) => (b === 0 ? 0 : s === 1 ? 1 : Math.min(1, b / (1 - s))),
  'color-burn': (b, s) => (b === 1 ? 1 : s === 0 ? 0 : 1 - Math.min(1, (1 - b) / s)),
  'hard-light': hardLight,
  'soft-light': softLight,
  difference: (b, s) => Math.abs(b - s),
  exclusion: (b, s) => b + s - 2 * b * s,
}

/**
 * Blends source pixels over target pixels. Numbers are rounded to 32-bit floats only when they are stored, so the
 * result is the same on every machine.
 *
 * @param target RGBA from 0 to 1, alpha premultiplied
 * @param source RGBA with 8 bits per channel, alpha not premultiplied
 * @param length the number of values: 4 for each pixel
 * @param opacity 0 to 1
 */
export type BlendRow = (
  target: Float32Array,
  targetAt: number,
  source: Uint8Array,
  sourceAt: number,
  length: number,
  opacity: number,
) => void

export const blendRowOf = (mode: BlendMode): BlendRow => (mode === 'normal' ? blendNormal : mixRow(MIXES[mode]))

const blendNormal: BlendRow = (target, targetAt, source, sourceAt, length, opacity) => {
  const scale = opacity / 255
  for (let i = 0; i < length; i += 4) {
    const at = sourceAt + i
    const alpha = (source[at + 3] as number) * scale
    if (alpha === 0) continue
    const to = targetAt + i
    const rest = 1 - alpha
    const color = alpha / 255
    target[to] = (source[at] as number) * color + (target[to] as number) * rest
    target[to + 1] = (source[at + 1] as number) * color + (target[to + 1] as number) * rest
    target[to + 2] = (source[at + 2] as number) * color + (target[to + 2] as number) * rest
    target[to + 3] = alpha + (target[to + 3] as number) * rest
  }
}

const mixRow =
  (mix: Mix): BlendRow =>
  (target, targetAt, source, sourceAt, length, opacity) => {
    const scale = opacity / 255
    for (let i = 0; i < length; i += 4) {
      const at = sourceAt + i
      const alpha = (source[at + 3] as number) * scale
      if (alpha === 0) continue
      const to = targetAt + i
      const below = target[to + 3] as number
      for (let channel = 0; channel < 3; channel++) {
        const sourceColor = (source[at + channel] as number) / 255
        const premultiplied = target[to + channel] as number
        const backdrop = below === 0 ? 0 : Math.min(1, premultiplied / below)
        target[to + channel] =
          alpha * (1 - below) * sourceColor + alpha * below * mix(backdrop, sourceColor) + (1 - alpha) * premultiplied
      }
      target[to + 3] = alpha + below * (1 - alpha)
    }
  }

/** Writes pixels of a single color to a target. The color's channels are from 0 to 255. */
export function fillRow(target: Float32Array, length: number, [red, green, blue, alpha]: Rgba): void {
  const opacity = alpha / 255
  for (let at = 0; at < length; at += 4) {
    target[at] = (red / 255) * opacity
    target[at + 1] = (green / 255) * opacity
    target[at + 2] = (blue / 255) * opacity
    target[at + 3] = opacity
  }
}

/**
 * Writes target pixels to an image, rounded to 8 bits. Transparent pixels become black, so that equal images have equal
 * bytes.
 */
export function roundRow(target: Float32Array, length: number, out: Uint8Array, to: number): void {
  for (let at = 0; at < length; at += 4) {
    const alpha = target[at + 3] as number
    const rounded = Math.min(255, Math.floor(alpha * 255 + 0.5))
    if (rounded === 0) {
      out.fill(0, to + at, to + at + 4)
      continue
    }
    const scale = 255 / alpha
    out[to + at] = Math.min(255, (target[at] as number) * scale + 0.5)
    out[to + at + 1] = Math.min(255, (target[at + 1] as number) * scale + 0.5)
    out[to + at + 2] = Math.min(255, (target[at + 2] as number) * scale + 0.5)
    out[to + at + 3] = rounded
  }
}
