import { dirname, resolve } from 'node:path'
import type { Fit } from '../../art/render/read-image.ts'
import { sharedImages } from '../../art/shared-images.ts'
import type { Art } from '../../art/types.ts'
import { artWarnings } from '../../art/warnings.ts'
import { formatPlace, GdnError, type Place } from '../../core/errors.ts'
import type { Deps } from '../deps.ts'
import { type Io, safe } from '../io/io.ts'
import { withProgress } from '../io/progress.ts'

/** Pairs of traits with one image, and images with a problem, that are printed as warnings. */
const LISTED = 5

/** The result of a check of all images. */
export interface ImagesCheck {
  /** The number of images; null if they were not checked. */
  checked: number | null
  /** The SHA-256 of the image of each trait; null if one can't be used, or if they were not checked. */
  hashes: readonly string[] | null
  /** Why the images can't be used, or why they were not checked. */
  error: GdnError | null
}

/** Checks the images of an `art.yaml` like `gdn art generate`. Without sharp, it doesn't check them. */
export async function checkImages({ io }: Pick<Deps, 'io'>, art: Art, fit: Fit | null): Promise<ImagesCheck> {
  const { checkFiles } = await import('../../art/generate/check-files.ts')
  try {
    const { hashes, ones } = await withProgress(io, 'Checking the images', async () => await checkFiles(art, fit))
    return { checked: hashes.length + ones.length, hashes, error: null }
  } catch (error) {
    if (error instanceof GdnError) return { checked: null, hashes: null, error }
    throw error
  }
}

/**
 * Reports why images can't be used, or why they were not checked.
 *
 * @param mayThrow whether an image that can't be used ends the command. Otherwise, it is a warning
 * @throws the error of an image that can't be used
 */
export function reportImages(io: Pick<Io, 'warn'>, { error }: ImagesCheck, mayThrow = true): void {
  if (error === null) return
  if (error.code === 'native_missing') {
    io.warn(safe(`The images were not checked: ${error.message}. ${error.hint ?? ''}`.trimEnd()))
    return
  }
  if (mayThrow) throw error
  const { issues = [error] } = (error.details ?? {}) as { issues?: readonly { place?: Place; message: string }[] }
  for (const { place, message } of issues.slice(0, LISTED)) {
    io.warn(safe(`${place === undefined ? '' : `${formatPlace(place)}: `}${message}`))
  }
  if (issues.length > LISTED) io.warn(`… and ${issues.length - LISTED} more images with a problem.`)
}

/** Warns about traits that have the same image. */
export function warnOfSharedImages(io: Pick<Io, 'warn'>, art: Art, hashes: readonly string[] | null): void {
  const shared = sharedImages(art, hashes)
  for (const text of shared.slice(0, LISTED)) io.warn(safe(text))
  if (shared.length > LISTED) io.warn(`… and ${shared.length - LISTED} more traits with the image of another trait.`)
}

/** Warns about parts of an `art.yaml` that are valid but probably unintended. */
export async function warnOfArt({ io, cwd }: Pick<Deps, 'io' | 'cwd'>, art: Art, count: number): Promise<void> {
  const found = await artWarnings(art, count, dirname(resolve(cwd, art.file)))
  for (const text of found.slice(0, LISTED)) io.warn(safe(text))
  if (found.length > LISTED) io.warn(`… and ${found.length - LISTED} more warnings about ${safe(art.file)}.`)
}
