import type { Pixels } from './pixels.ts'

export interface Size {
  width: number
  height: number
}

/** Returns the largest size that fits into a box. Small images are enlarged only by whole factors. */
export function fitInto({ width, height }: Size, box: Size): Size {
  const scale = Math.min(box.width / width, box.height / height)
  const factor = scale >= 2 ? Math.floor(scale) : Math.min(scale, 1)
  return { width: Math.max(1, Math.round(width * factor)), height: Math.max(1, Math.round(height * factor)) }
}

/** Scales an image. Each new pixel is the mean of the pixels that it covers. */
export function scalePixels({ width, height, data }: Pixels, to: Size): Pixels {
  const target = new Uint8Array(to.width * to.height * 4)
  for (let y = 0; y < to.height; y++) {
    const top = Math.floor((y * height) / to.height)
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * height) / to.height))
    for (let x = 0; x < to.width; x++) {
      const left = Math.floor((x * width) / to.width)
      const right = Math.max(left + 1, Math.floor(((x + 1) * width) / to.width))
      let [red, green, blue, alpha] = [0, 0, 0, 0]
      for (let row = top; row < bottom; row++) {
        for (let at = (row * width + left) * 4, end = (row * width + right) * 4; at < end; at += 4) {
          // Weight colors by alpha. Otherwise, the hidden color of transparent pixels would show at the edges.
          const weight = data[at + 3] ?? 0
          red += (data[at] ?? 0) * weight
          green += (data[at + 1] ?? 0) * weight
          blue += (data[at + 2] ?? 0) * weight
          alpha += weight
        }
      }
      const pixel = (y * to.width + x) * 4
      if (alpha === 0) continue
      target[pixel] = Math.round(red / alpha)
      target[pixel + 1] = Math.round(green / alpha)
      target[pixel + 2] = Math.round(blue / alpha)
      target[pixel + 3] = Math.round(alpha / ((bottom - top) * (right - left)))
    }
  }
  return { ...to, data: target }
}
