import type { Pixels } from './pixels.ts'
import type { Size } from './scale.ts'

const GREY = [104, 104, 104, 255]
/** Of a box, at least one pixel. */
const FRAME_PART = 1 / 100

/** An empty frame, where a picture would be. */
export function frame({ width, height }: Size): Pixels {
  const data = new Uint8Array(width * height * 4)
  const thick = Math.max(1, Math.round(width * FRAME_PART))
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const isInside = x >= thick && y >= thick && x < width - thick && y < height - thick
      if (!isInside) data.set(GREY, (y * width + x) * 4)
    }
  }
  return { width, height, data }
}

/** Pictures side by side, each in the middle of a box of its own. */
export function sideBySide(pictures: readonly Pixels[], box: Size, gap: number): Pixels {
  const width = pictures.length * (box.width + gap) - gap
  const data = new Uint8Array(width * box.height * 4)
  for (const [i, picture] of pictures.entries()) {
    const left = i * (box.width + gap) + Math.floor((box.width - picture.width) / 2)
    const top = Math.floor((box.height - picture.height) / 2)
    for (let y = 0; y < picture.height; y++) {
      const row = picture.data.subarray(y * picture.width * 4, (y + 1) * picture.width * 4)
      data.set(row, ((top + y) * width + left) * 4)
    }
  }
  return { width, height: box.height, data }
}
