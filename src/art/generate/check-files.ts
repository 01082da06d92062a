import { createHash } from 'node:crypto'
import { extname } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { sniffContentType } from '../../files/content-type.ts'
import { loadSharp, type Sharp } from '../render/load-sharp.ts'
import { type Fit, readImageFile } from '../render/read-image.ts'
import { checkImages, openRenderer } from '../render/renderer.ts'
import type { Art, OneOfOne } from '../types.ts'

/** The files that an `art.yaml` names. */
export interface CheckedFiles {
  sharp: Sharp
  /** The SHA-256 of the image of each trait, as lower-case hex. */
  hashes: readonly string[]
  /** The one-of-ones, in their order in `art.oneOfOnes`. */
  ones: readonly { extension: string; sha256: string }[]
}

/**
 * Checks every image that an `art.yaml` names, before any image is made.
 *
 * @throws GdnError `native_missing` without sharp; `invalid_input` with the location in `art.yaml`
 */
export async function checkFiles(art: Art, fit: Fit | null): Promise<CheckedFiles> {
  const sharp = await loadSharp()
  const { width, height } = await openRenderer(art, { fit, sharp })
  const hashes = await checkImages(sharp, art, { width, height, fit })
  return { sharp, hashes, ones: await Promise.all(art.oneOfOnes.map(checkOneOfOne)) }
}

/** Checks that a one-of-one is an image, which is copied unchanged. */
async function checkOneOfOne(one: OneOfOne): Promise<{ extension: string; sha256: string }> {
  const bytes = await readImageFile({ ...one, file: one.image })
  const type = sniffContentType(bytes, '')
  if (!type.startsWith('image/')) {
    throw new GdnError('invalid_input', `${quoted(one.image)} is not an image`, { place: one.place })
  }
  const own = extname(one.image).slice(1).toLowerCase()
  const extension = /^[a-z0-9]{1,5}$/.test(own) ? own : (type.split('/')[1] as string)
  return { extension, sha256: createHash('sha256').update(bytes).digest('hex') }
}
