import type { Pixels } from './pixels.ts'

const MAX_COLORS = 256
/** Sixel parameter that shows the terminal's background through transparent pixels. */
const KEEP_BACKGROUND = 1
/** Minimum alpha of an opaque pixel. Sixels don't support partial transparency. */
const MIN_OPAQUE_ALPHA = 128

export async function formatSixels({ width, height, data }: Pixels): Promise<string> {
  // The library assigns to an undeclared global. In a module, this throws unless the global exists.
  if (!('UPNG' in globalThis)) Object.assign(globalThis, { UPNG: undefined })
  const { FINALIZER, image2sixel, introducer, sixelEncode } = await import('./sixel-library.ts')
  const opaque = data.map((value, i) => (i % 4 !== 3 ? value : value < MIN_OPAQUE_ALPHA ? 0 : 255))
  const colors = collectPalette(opaque)
  // The library's quantization can merge similar colors, so skip it if the palette has room for all colors.
  return colors === null
    ? image2sixel(opaque, width, height, MAX_COLORS, KEEP_BACKGROUND)
    : introducer(KEEP_BACKGROUND) + sixelEncode(opaque, width, height, colors) + FINALIZER
}

type Color = [red: number, green: number, blue: number]

/** Returns all colors of an image; null if a sixel palette has no room for all of them. */
function collectPalette(data: Uint8Array): Color[] | null {
  const colors = new Map<number, Color>([[0, [0, 0, 0]]])
  for (let at = 0; at < data.length && colors.size <= MAX_COLORS; at += 4) {
    const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(at, at + 4)
    if (alpha > 0) colors.set((red << 16) | (green << 8) | blue, [red, green, blue])
  }
  return colors.size > MAX_COLORS ? null : [...colors.values()]
}
