import jpeg from 'jpeg-js'
import type { Pixels } from '../picture/pixels.ts'

/** A picture as a JPEG; nothing of it may be see-through. */
export const encodeJpeg = (pixels: Pixels, quality: number): Uint8Array => jpeg.encode(pixels, quality).data
