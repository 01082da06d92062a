import type { Pixels } from './pixels.ts'

const MAX_COLORS = 256
/** Sixel parameter: transparent pixels show the background of the terminal. */
const KEEP_BACKGROUND = 1
/** Minimum alpha at which a pixel counts as opaque. Sixels have no partial transparency. */
const SEEN = 128

export async function sixelText({ width, height, data }: Pixels): Promise<string> {
  // The library assigns to this global without declaring it. In a module, that throws unless the global exists.
  if (!('UPNG' in globalThis)) Object.assign(globalThis, { UPNG: undefined })
  const { FINALIZER, image2sixel, introducer, sixelEncode } = await import('./sixel-library.ts')
  const opaque = data.map((value, i) => (i % 4 !== 3 ? value : value < SEEN ? 0 : 255))
  const colors = fewColors(opaque)
  // The library's quantization can merge similar colors, so it is skipped if all colors fit.
  return colors === null
    ? image2sixel(opaque, width, height, MAX_COLORS, KEEP_BACKGROUND)
    : introducer(KEEP_BACKGROUND) + sixelEncode(opaque, width, height, colors) + FINALIZER
}

type Color = [red: number, green: number, blue: number]

/** Returns all colors of an image, or null if there are more than a sixel palette can hold. */
function fewColors(data: Uint8Array): Color[] | null {
  const found = new Map<number, Color>([[0, [0, 0, 0]]])
  for (let at = 0; at < data.length && found.size <= MAX_COLORS; at += 4) {
    const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(at, at + 4)
    if (alpha > 0) found.set((red << 16) | (green << 8) | blue, [red, green, blue])
  }
  return found.size > MAX_COLORS ? null : [...found.values()]
}
