import jpeg from 'jpeg-js'
import { readOrientation, turnImage } from './orientation.ts'
import { brokenImageError, type Pixels } from './pixels.ts'

/**
 * Maximum number of scans. A baseline JPEG has one, and a progressive JPEG about ten. Each scan takes time for the
 * whole image.
 */
const MAX_SCANS = 64

export function decodeJpeg(bytes: Uint8Array): Pixels {
  if (countScans(bytes) > MAX_SCANS) throw brokenImageError()
  const limits = { maxResolutionInMP: 20, maxMemoryUsageInMB: 512 }
  const image = jpeg.decode(bytes, { useTArray: true, tolerantDecoding: true, ...limits })
  const { width, height, data } = image
  const exif: unknown = 'exifBuffer' in image ? image.exifBuffer : undefined
  return turnImage({ width, height, data }, exif instanceof Uint8Array ? readOrientation(exif) : 1)
}

/** Returns an upper bound for the number of scans. In scan data, this marker byte never follows FF. */
function countScans(bytes: Uint8Array): number {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let scans = 0
  for (let at = buffer.indexOf('\xff\xda', 0, 'latin1'); at >= 0; at = buffer.indexOf('\xff\xda', at + 2, 'latin1'))
    scans++
  return scans
}
