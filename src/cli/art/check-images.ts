import type { Fit } from '../../art/render/read-image.ts'
import { sharedImages } from '../../art/shared-images.ts'
import type { Art } from '../../art/types.ts'
import { formatPlace, GdnError } from '../../core/errors.ts'
import type { Deps } from '../deps.ts'
import { type Io, safe } from '../io/io.ts'
import { withProgress } from '../io/progress.ts'

/** Pairs of traits with one image that are printed as text. */
const LISTED = 5

/** The result of a check of all images. */
export interface ImagesCheck {
  /** The number of images; null if they were not checked. */
  checked: number | null
  /** Why the images can't be used, or why they were not checked. */
  error: GdnError | null
}

/** Checks the images of an `art.yaml` like `gdn art generate`. Without sharp, it doesn't check them. */
export async function checkImages({ io }: Pick<Deps, 'io'>, art: Art, fit: Fit | null): Promise<ImagesCheck> {
  const { checkFiles } = await import('../../art/generate/check-files.ts')
  try {
    const { hashes, ones } = await withProgress(io, 'Checking the images', async () => await checkFiles(art, fit))
    return { checked: hashes.length + ones.length, error: null }
  } catch (error) {
    if (error instanceof GdnError) return { checked: null, error }
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
  io.warn(safe(`${error.place === undefined ? '' : `${formatPlace(error.place)}: `}${error.message}`))
}

/** Warns about traits that have the same image file. */
export function warnOfSharedImages(io: Pick<Io, 'warn'>, art: Art): void {
  const shared = sharedImages(art)
  for (const text of shared.slice(0, LISTED)) io.warn(safe(text))
  if (shared.length > LISTED) io.warn(`… and ${shared.length - LISTED} more traits with the image of another trait.`)
}
