import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, posix } from 'node:path'
import { GdnError, systemCode } from '../../core/errors.ts'
import { fileError } from '../../core/file-error.ts'
import { listSome } from '../../core/list-some.ts'
import { nearest } from '../../core/nearest.ts'
import { quoted } from '../../core/quoted.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import { sniffContentType } from '../../files/content-type.ts'
import { readImageSize } from '../../files/image-size.ts'
import { findDamage } from '../../files/inspect/inspect-file.ts'
import { issuesError } from '../../manifest/manifest-error.ts'
import { loadSharp, type Sharp } from '../render/load-sharp.ts'
import {
  type Fit,
  type ImageFile,
  imageError,
  readImageFile,
  readSize,
  type Size,
  wrongSizeError,
} from '../render/read-image.ts'
import { EXTENSIONS } from '../render/renderer.ts'
import type { Art, ArtLayer, OneOfOne } from '../types.ts'

/** The files to which an `art.yaml` refers. */
export interface CheckedFiles {
  sharp: Sharp
  /** The SHA-256 of the image of each trait, as lower-case hex. */
  hashes: readonly string[]
  /** The one-of-ones, in their order in `art.oneOfOnes`. */
  ones: readonly CheckedOneOfOne[]
}

/** The image of a one-of-one. It is copied, or scaled and encoded like the other images. */
export interface CheckedOneOfOne {
  extension: string
  sha256: string
  isScaled: boolean
}

interface CheckedImage {
  image: ImageFile
  sha256: string
  /** The size; null if the file has no size in pixels. */
  size: Size | null
}

/** Maximum number of other images with the same wrong size that an error lists. */
const MAX_LISTED_IMAGES = 4

/** Returns the end of an error about an image of the wrong size: the other images that have this size. */
function sameSizeText(images: readonly ImageFile[]): string {
  if (images.length === 0) return ''
  const shownFiles = images.slice(0, MAX_LISTED_IMAGES).map(({ file, place }) => `${quoted(file)} (line ${place.line})`)
  return `, as ${images.length === 1 ? 'does' : 'do'} ${listSome(shownFiles, images.length, ' and')}`
}

/**
 * Checks every image to which an `art.yaml` refers, before any image is generated.
 *
 * @throws GdnError `native_missing` without sharp; `invalid_input` with the location of the first problem in
 * `art.yaml`. `details` contains all problems.
 */
export async function checkFiles(art: Art, fit: Fit | null): Promise<CheckedFiles> {
  const sharp = await loadSharp()
  const problems: GdnError[] = []
  const collect = async <Value>(check: () => Promise<Value>): Promise<Value | null> => {
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof GdnError) || error.code !== 'invalid_input') throw error
      problems.push(error)
      return null
    }
  }
  const traits: (CheckedImage | null)[] = []
  const paths = pathsOf(art)
  for (const layer of art.layers) {
    const hasFolder = (await collect(() => checkFolder(layer, paths.folders))) !== null
    for (const trait of layer.traits) {
      traits.push(hasFolder ? await collect(() => checkTrait(sharp, trait, paths.images)) : null)
    }
  }
  const output = art.output.size ?? traits[0]?.size ?? null
  const needsScaling = ({ size }: CheckedImage) =>
    size !== null && output !== null && (size.width !== output.width || size.height !== output.height)
  const ones: CheckedOneOfOne[] = []
  const checkedFiles = [...traits]
  for (const oneOfOne of art.oneOfOnes) {
    const checked = await collect(() => checkOneOfOne(sharp, oneOfOne, paths.images))
    checkedFiles.push(checked)
    if (checked === null) continue
    const isScaled = checked.canScale && needsScaling(checked)
    const extension = isScaled ? EXTENSIONS[art.output.format] : checked.extension
    ones.push({ extension, sha256: checked.sha256, isScaled })
  }
  if (fit === null && output !== null) {
    const bySize = new Map<string, ImageFile[]>()
    for (const checkedFile of checkedFiles) {
      if (!checkedFile?.size || !needsScaling(checkedFile)) continue
      const key = `${checkedFile.size.width} ${checkedFile.size.height}`
      bySize.set(key, [...(bySize.get(key) ?? []), checkedFile.image])
    }
    for (const [key, [first, ...sameSizeImages]] of bySize) {
      const [width = 0, height = 0] = key.split(' ').map(Number)
      if (first !== undefined)
        problems.push(wrongSizeError(first, { width, height }, output, sameSizeText(sameSizeImages)))
    }
  }
  if (problems.length > 0) throw problemsError(problems)
  return { sharp, hashes: traits.flatMap((trait) => trait?.sha256 ?? []), ones }
}

/** Returns the absolute paths in an `art.yaml`. Errors don't suggest these paths as replacements for a missing file. */
function pathsOf({ layers, oneOfOnes }: Art): Record<'images' | 'folders', ReadonlySet<string>> {
  const images = [...layers.flatMap(({ traits }) => traits), ...oneOfOnes]
  return { images: new Set(images.map(({ path }) => path)), folders: new Set(layers.map(({ folder }) => folder)) }
}

/** @throws GdnError `invalid_input` with the location of `folder` in `art.yaml`, if the folder doesn't exist */
async function checkFolder({ folder: path, namedFolder }: ArtLayer, usedPaths: ReadonlySet<string>): Promise<true> {
  if (namedFolder === null) return true
  const stats = await stat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw fileError(error) ?? error
  })
  if (stats?.isDirectory()) return true
  const hint =
    'Correct the path of the folder in art.yaml, or create the folder. The path is relative to the folder of art.yaml.'
  const message = stats === null ? await missingText(path, namedFolder.file, usedPaths) : 'is not a folder'
  throw imageError({ ...namedFolder, path }, message, hint)
}

/** Reads an image. If it is missing, the error suggests a similar file that `art.yaml` doesn't name. */
async function readNamedImage(image: ImageFile, usedPaths: ReadonlySet<string>): Promise<Buffer> {
  return await readImageFile(image).catch(async (error: unknown) => {
    const isMissing = await stat(image.path).then(
      () => false,
      (cause: unknown) => systemCode(cause) === 'ENOENT',
    )
    if (!(error instanceof GdnError) || !isMissing) throw error
    throw imageError(image, await missingText(image.path, image.file, usedPaths), error.hint)
  })
}

/** @param shown the path as spelled in `art.yaml` */
async function missingText(path: string, shown: string, usedPaths: ReadonlySet<string>): Promise<string> {
  const folder = dirname(path)
  const names = (await readdir(folder).catch(() => [])).filter((name) => !usedPaths.has(join(folder, name)))
  const full = names.find((name) => name.startsWith(`${basename(path)} #`))
  if (full !== undefined) {
    const text = JSON.stringify(posix.join(posix.dirname(shown), full))
    return `does not exist: " #" begins a comment in YAML, so write ${text} in quotes`
  }
  const near = nearest(basename(path), names)
  return `does not exist${near === undefined ? '' : `: did you mean ${quoted(posix.join(posix.dirname(shown), near))}?`}`
}

async function checkTrait(sharp: Sharp, image: ImageFile, usedPaths: ReadonlySet<string>): Promise<CheckedImage> {
  const bytes = await readNamedImage(image, usedPaths)
  const size = await readSize(sharp, image, bytes)
  await checkDamage(image)
  return { image, size, sha256: sha256Hex(bytes) }
}

/** Checks that a one-of-one is an image. An SVG has no size. Only still images in the formats of layers are scaled. */
async function checkOneOfOne(
  sharp: Sharp,
  oneOfOne: OneOfOne,
  usedPaths: ReadonlySet<string>,
): Promise<CheckedImage & { extension: string; canScale: boolean }> {
  const image: ImageFile = { ...oneOfOne, file: oneOfOne.image }
  const bytes = await readNamedImage(image, usedPaths)
  const type = sniffContentType(bytes, '')
  if (!type.startsWith('image/')) throw imageError(image, 'is not an image')
  await checkDamage(image)
  const still = await readSize(sharp, image, bytes).catch(() => null)
  const size = still ?? (type === 'image/svg+xml' ? null : readImageSize(bytes, type))
  const namedExtension = extname(oneOfOne.image).slice(1).toLowerCase()
  const extension = /^[a-z0-9]{1,5}$/.test(namedExtension) ? namedExtension : (type.split('/')[1] as string)
  return { image, size, sha256: sha256Hex(bytes), extension, canScale: still !== null }
}

/** @throws GdnError `invalid_input` if the file is truncated or damaged, which its header doesn't reveal */
async function checkDamage(image: ImageFile): Promise<void> {
  const damage = await findDamage(image.path)
  if (damage !== null) throw imageError(image, `can't be decoded: ${damage}`)
}

/** Returns the error for unusable images, in the order of the file. */
function problemsError(problems: GdnError[]): GdnError {
  const line = ({ place }: GdnError) => place?.line ?? 0
  const issues = problems
    .sort((a, b) => line(a) - line(b))
    .map(({ place = {}, message, hint }) => ({ place, message, hint }))
  return issuesError('invalid_input', issues)
}
