import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withPathInErrors } from '../../core/file-error.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import { loadSharp } from '../render/load-sharp.ts'
import { type Fit, type ImageFile, readImageFile } from '../render/read-image.ts'
import { hashPixels, openRenderer } from '../render/renderer.ts'
import type { Art, EditionItem } from '../types.ts'

/** The settings that all images of an edition share. */
export interface ImageSetup {
  art: Art
  fit: Fit | null
  /** The absolute path of the folder to which the paths of images are relative. */
  folder: string
}

/** An image to generate. */
export interface ImageJob {
  item: EditionItem
  /** The path of the file, relative to the folder. */
  file: string
  /** An image that an earlier command generated for this number; null if there is none. */
  earlierImage: { path: string; sha256: string; pixels: string } | null
  /** The image of a one-of-one to copy; null if the image is drawn. */
  imageToCopy: ImageFile | null
}

export interface GeneratedImage {
  number: number
  file: string
  /** SHA-256 of the file, as lower-case hex. */
  sha256: string
  /** SHA-256 of the pixels before encoding; null for a copied one-of-one. */
  pixels: string | null
}

export interface JobResult {
  image: GeneratedImage
  /** Whether the file is the same as the one from an earlier command. */
  isUnchanged: boolean
}

export type MakeImage = (job: ImageJob) => Promise<JobResult>

/**
 * Returns a function that generates an image, writes its file and syncs the file.
 *
 * @throws GdnError `native_missing`; `invalid_input` with the location in `art.yaml`; `file_error`
 */
export async function createImageMaker({ art, fit, folder }: ImageSetup): Promise<MakeImage> {
  const renderer = await openRenderer(art, { fit, sharp: await loadSharp() })
  // Several images are generated at the same time. Reuse memory, because allocating it for each image would cost more
  // than drawing some layers.
  const free: Uint8Array[] = []
  const draw = async ({ item, earlierImage }: ImageJob) => {
    const data = free.pop() ?? new Uint8Array(renderer.width * renderer.height * 4)
    try {
      const oneOfOne = item.oneOfOne === null ? undefined : art.oneOfOnes[item.oneOfOne]
      const image =
        oneOfOne === undefined
          ? await renderer.render(item, data)
          : await renderer.renderFile({ ...oneOfOne, file: oneOfOne.image })
      const pixels = hashPixels(image)
      // Keep an equal earlier file, because encoders on other processors can return different bytes for the same
      // pixels.
      const unchanged = pixels === earlierImage?.pixels ? await readIfUnchanged(earlierImage) : null
      return { bytes: unchanged ?? (await renderer.encode(image)), pixels, isUnchanged: unchanged !== null }
    } finally {
      free.push(data)
    }
  }
  return async (job) => {
    const { item, file, imageToCopy } = job
    const { bytes, pixels, isUnchanged } =
      imageToCopy === null
        ? await draw(job)
        : { bytes: await readImageFile(imageToCopy), pixels: null, isUnchanged: false }
    await writeSynced(join(folder, file), bytes)
    return { image: { number: item.number, file, sha256: sha256Hex(bytes), pixels }, isUnchanged }
  }
}

/**
 * Writes and syncs a file.
 *
 * @throws file system errors, which contain the path
 */
export async function writeSynced(path: string, content: string | Buffer): Promise<void> {
  await withPathInErrors(path, async () => {
    const handle = await open(path, 'w')
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
  })
}

/** Reads a file with a known hash; null if the file is missing or has changed. */
export async function readIfUnchanged({ path, sha256: expected }: { path: string; sha256: string }) {
  const bytes = await readFile(path).catch(() => null)
  return bytes !== null && sha256Hex(bytes) === expected ? bytes : null
}
