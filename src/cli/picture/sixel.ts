import type { Pixels } from './pixels.ts'

const MAX_COLORS = 256
/** What can't be seen shows the terminal's own background. */
const KEEP_BACKGROUND = 1
/** There are no shades of that: what shines through less than half isn't there. */
const SEEN = 128

/** A picture as sixels. */
export async function sixelText({ width, height, data }: Pixels): Promise<string> {
  // What finds its colors is a script that makes this global without declaring it: in a module only one that is there
  // already can be set.
  if (!('UPNG' in globalThis)) Object.assign(globalThis, { UPNG: undefined })
  const { FINALIZER, image2sixel, introducer, sixelEncode } = await import('./sixel-library.ts')
  const opaque = data.map((value, i) => (i % 4 !== 3 ? value : value < SEEN ? 0 : 255))
  const colors = fewColors(opaque)
  // Its search for colors takes a few flat ones for shades of one: where there is a place for each, none are searched.
  return colors === null
    ? image2sixel(opaque, width, height, MAX_COLORS, KEEP_BACKGROUND)
    : introducer(KEEP_BACKGROUND) + sixelEncode(opaque, width, height, colors) + FINALIZER
}

type Color = [red: number, green: number, blue: number]

/** All colors of a picture that has no more than a terminal takes; null for others. */
function fewColors(data: Uint8Array): Color[] | null {
  const found = new Map<number, Color>([[0, [0, 0, 0]]])
  for (let at = 0; at < data.length && found.size <= MAX_COLORS; at += 4) {
    const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(at, at + 4)
    if (alpha > 0) found.set((red << 16) | (green << 8) | blue, [red, green, blue])
  }
  return found.size > MAX_COLORS ? null : [...found.values()]
}
