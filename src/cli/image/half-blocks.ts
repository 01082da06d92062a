import type { Pixels } from './pixels.ts'

const RESET = '\u001b[0m'
/** Minimum alpha of a visible pixel. */
const MIN_VISIBLE_ALPHA = 128

/**
 * Formats an image as text with two pixels per character: one in the foreground color, and one in the background color.
 *
 * @param pixels the image. Its width must be the number of columns, and its height twice the number of rows
 */
export function halfBlocks(pixels: Pixels, colors: 256 | 'true'): string {
  const { width, height } = pixels
  const code = colors === 256 ? indexedColor : trueColor
  let text = ''
  for (let y = 0; y < height; y += 2) {
    let [front, back] = ['', '']
    let line = ''
    for (let x = 0; x < width; x++) {
      const upper = colorAt(pixels, x, y, code)
      const lower = y + 1 < height ? colorAt(pixels, x, y + 1, code) : null
      const wantedFront = upper ?? lower
      const wantedBack = upper === null ? '' : (lower ?? '')
      if (back !== '' && wantedBack === '') {
        line += RESET
        front = ''
        back = ''
      }
      if (wantedFront !== null && wantedFront !== front) {
        line += `\u001b[38;${wantedFront}m`
        front = wantedFront
      }
      if (wantedBack !== back) {
        line += `\u001b[48;${wantedBack}m`
        back = wantedBack
      }
      line += wantedFront === null ? ' ' : upper === null ? '▄' : '▀'
    }
    text += `${line}${RESET}\n`
  }
  return text
}

type FormatColor = (red: number, green: number, blue: number) => string

function colorAt({ width, data }: Pixels, x: number, y: number, code: FormatColor): string | null {
  const at = (y * width + x) * 4
  if ((data[at + 3] ?? 0) < MIN_VISIBLE_ALPHA) return null
  return code(data[at] ?? 0, data[at + 1] ?? 0, data[at + 2] ?? 0)
}

const trueColor: FormatColor = (red, green, blue) => `2;${red};${green};${blue}`

/** The six levels of each color in the color cube of 256-color terminals. */
const COLOR_CUBE_LEVELS = [0, 95, 135, 175, 215, 255]
const findNearestLevel = (value: number) => (value < 48 ? 0 : value < 115 ? 1 : Math.floor((value - 35) / 40))

/** Returns the nearest color in the color cube or the gray ramp of 256-color terminals. */
const indexedColor: FormatColor = (red, green, blue) => {
  const [r, g, b] = [findNearestLevel(red), findNearestLevel(green), findNearestLevel(blue)]
  const grey = Math.min(23, Math.max(0, Math.round(((red + green + blue) / 3 - 8) / 10)))
  const level = 8 + 10 * grey
  const distance = (to: readonly (number | undefined)[]) =>
    [red, green, blue].reduce((sum, value, i) => sum + (value - (to[i] ?? 0)) ** 2, 0)
  const inCube =
    distance([COLOR_CUBE_LEVELS[r], COLOR_CUBE_LEVELS[g], COLOR_CUBE_LEVELS[b]]) <= distance([level, level, level])
  return `5;${inCube ? 16 + 36 * r + 6 * g + b : 232 + grey}`
}
