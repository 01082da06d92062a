import { encode } from 'fast-png'
import type { DrawMethod } from './draw-method.ts'
import { halfBlocks } from './half-blocks.ts'
import type { Pixels } from './pixels.ts'
import { fitInto, type Size, scalePixels } from './scale.ts'

/** An area of a terminal, in characters. */
export interface ImageArea {
  columns: number
  rows: number
}

/**
 * The useful number of pixels per character. With kitty and iTerm2, the terminal scales the image to the given area.
 * Sixels aren't scaled, but most characters have at least this many pixels.
 */
const CELL_PIXELS: Readonly<Record<DrawMethod, Size>> = {
  kitty: { width: 12, height: 24 },
  iterm: { width: 12, height: 24 },
  sixel: { width: 8, height: 16 },
  blocks: { width: 1, height: 2 },
  'blocks-256': { width: 1, height: 2 },
}

/** Returns the size of an area in pixels. */
export const toPixelSize = ({ columns, rows }: ImageArea, method: DrawMethod): Size => ({
  width: columns * CELL_PIXELS[method].width,
  height: rows * CELL_PIXELS[method].height,
})

export const scaleToArea = (image: Pixels, area: ImageArea, method: DrawMethod): Pixels =>
  scalePixels(image, fitInto(image, toPixelSize(area, method)))

/**
 * Returns text that draws an image on separate lines. The image must already be scaled. The text contains only the
 * pixels, so no other data in the file can reach the terminal.
 */
export async function drawPixels(pixels: Pixels, method: DrawMethod): Promise<string> {
  // The terminal derives the height from the width, because its characters may not be exactly twice as high as wide.
  const columns = Math.ceil(pixels.width / CELL_PIXELS[method].width)
  switch (method) {
    case 'blocks':
      return halfBlocks(pixels, 'true')
    case 'blocks-256':
      return halfBlocks(pixels, 256)
    case 'sixel':
      return `${await (await import('./sixel.ts')).formatSixels(pixels)}\n`
    case 'iterm': {
      const png = encodePng(pixels)
      const parameters = `inline=1;size=${png.length};width=${columns};preserveAspectRatio=1`
      return `\u001b]1337;File=${parameters}:${png.toString('base64')}\u0007\n`
    }
    case 'kitty':
      return `${kittyText(encodePng(pixels), columns)}\n`
  }
}

const encodePng = ({ width, height, data }: Pixels): Buffer =>
  Buffer.from(encode({ width, height, data, channels: 4, depth: 8 }))

/** Maximum length of the base64 data in one kitty escape sequence. */
const KITTY_CHUNK_CHARACTERS = 4096

/**
 * Returns the escape sequences that draw an image in kitty. `q=2` suppresses responses, which would be read as typed
 * input by gdn or, after gdn exits, by the shell.
 */
function kittyText(png: Buffer, columns: number): string {
  const text = png.toString('base64')
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += KITTY_CHUNK_CHARACTERS) {
    const keys = at === 0 ? `a=T,f=100,c=${columns},q=2,` : 'q=2,'
    const more = at + KITTY_CHUNK_CHARACTERS < text.length ? 1 : 0
    pieces.push(`\u001b_G${keys}m=${more};${text.slice(at, at + KITTY_CHUNK_CHARACTERS)}\u001b\\`)
  }
  return pieces.join('')
}
