import { dirname, resolve } from 'node:path'
import type { Fit } from '../../art/render/read-image.ts'
import type { Art, ArtIssue } from '../../art/types.ts'
import { collectArtWarnings } from '../../art/warnings.ts'
import { count as formatCount } from '../../core/count.ts'
import { formatProblem, GdnError, type Place } from '../../core/errors.ts'
import type { Deps } from '../deps.ts'
import { type Io, safe } from '../io/io.ts'
import { withProgress } from '../io/progress.ts'

/** Maximum number of printed warnings of each kind. */
const MAX_LISTED_WARNINGS = 5

export interface ImagesCheck {
  /** The number of images; null if they were not checked. */
  checked: number | null
  /** The SHA-256 of each trait's image; null if an image can't be used or the images were not checked. */
  hashes: readonly string[] | null
  /** The reason why the images can't be used or were not checked; null if they are valid. */
  error: GdnError | null
}

/** Checks the images of an `art.yaml` in the same way as `gdn art generate`. Without sharp, checks nothing. */
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

interface ImageWarningOptions {
  /** Whether to throw if an image can't be used, instead of returning a warning. */
  mayThrow: boolean
  io: Pick<Io, 'warn'>
  /** Warnings that the caller prints later, unless this function throws. */
  others: readonly ArtIssue[]
}

/**
 * Returns warnings about images that can't be used or were not checked.
 *
 * @throws the error of an image that can't be used. Before it throws, the function prints the other warnings, because
 *   one of them may name the right image.
 */
export function imageWarnings(
  { error }: Pick<ImagesCheck, 'error'>,
  { mayThrow, io, others }: ImageWarningOptions,
): ArtIssue[] {
  if (error === null) return []
  const { code, message, hint = '' } = error
  if (code === 'native_missing') {
    return [{ place: {}, message: `The images were not checked: ${message}. ${hint}`.trimEnd() }]
  }
  if (mayThrow) {
    printArtWarnings(io, others)
    throw error
  }
  const { issues } = (error.details ?? {}) as { issues?: readonly { place?: Place; message: string }[] }
  return (issues ?? [error]).map(({ place = {}, message }) => ({ place, message }))
}

/** Returns warnings about parts of an `art.yaml` that are valid but probably unintended. */
export const findArtWarnings = async ({ cwd }: Pick<Deps, 'cwd'>, art: Art, count: number): Promise<ArtIssue[]> =>
  await collectArtWarnings(art, count, dirname(resolve(cwd, art.file)))

/** Prints the first warnings of a kind, without their hints. */
export function printArtWarnings(io: Pick<Io, 'warn'>, warnings: readonly ArtIssue[]): void {
  for (const warning of warnings.slice(0, MAX_LISTED_WARNINGS)) io.warn(safe(formatProblem(warning)))
  const unlisted = warnings.length - MAX_LISTED_WARNINGS
  if (unlisted > 0) io.warn(`… and ${formatCount(unlisted, 'more warning')}. Add \`-o json\` to list all of them.`)
}
