/** A decoded picture: four bytes a pixel (red, green, blue, alpha), row by row. */
export interface Pixels {
  width: number
  height: number
  data: Uint8Array
}

/** Why a picture isn't drawn: as the end of a sentence, and in a word or two. Nothing is quoted from it. */
export class PictureError extends Error {
  readonly inShort: string

  constructor(message: string, inShort: string) {
    super(message)
    this.name = 'PictureFault'
    this.inShort = inShort
  }
}

export const broken = () => new PictureError('is broken', 'broken')

export const tooManyBytes = () => new PictureError('is too large to be drawn here: more than 16 MiB', 'too large')

/** What is read of a picture. */
export const MAX_PICTURE_BYTES = 16 * 1024 * 1024
/** Decoded, each pixel takes four bytes, and several times that while it is decoded. */
const MAX_PIXELS = 20_000_000
const MAX_SIDE = 16_384

/** Refuses by its size in pixels what would take all memory to decode. */
export function checkSize(width: number, height: number): void {
  if (!(width > 0 && height > 0)) throw broken()
  if (width <= MAX_SIDE && height <= MAX_SIDE && width * height <= MAX_PIXELS) return
  throw new PictureError(`is too large to be drawn here: ${width} x ${height} pixels`, 'too large')
}
