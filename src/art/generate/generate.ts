import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { VERSION } from '../../core/version.ts'
import { sniffContentType } from '../../files/content-type.ts'
import { loadSharp, SHARP_VERSION } from '../render/load-sharp.ts'
import { type Fit, readImageFile } from '../render/read-image.ts'
import { checkImages, EXTENSIONS, openRenderer } from '../render/renderer.ts'
import type { Edition, EditionItem, OneOfOne } from '../types.ts'
import type { ImageJob, MadeImage } from './image-job.ts'
import { makeImages } from './make-images.ts'
import { manifestRows } from './manifest-rows.ts'
import {
  checkOutput,
  DraftFolder,
  EDITION_FILE,
  type EditionFile,
  IMAGE_FOLDER,
  isComplete,
  MANIFEST_FILE,
  PAGE_FILE,
  readOutput,
} from './output-folder.ts'

export interface GenerateOptions {
  /** The absolute path of the output folder. */
  out: string
  /** The NFTs whose images are made. */
  items: readonly EditionItem[]
  fit: Fit | null
  threads: number
  signal: AbortSignal
  /** Formats a line of CSV. */
  csvLine(cells: readonly string[]): string
  /**
   * Returns the HTML of the page about the edition.
   *
   * @param readImage returns the bytes of an NFT's image
   */
  page(readImage: (item: EditionItem) => Promise<Buffer>): Promise<string>
  /** Called before and after each image. `kept` images were complete before. */
  onProgress(progress: { made: number; kept: number; of: number }): void
}

export interface Generated {
  images: readonly MadeImage[]
  /** Images whose files an earlier command made. */
  kept: number
  /** The folder that was at this path before; null if there was none. */
  former: string | null
}

/**
 * Makes the images and the manifest of an edition. The output folder appears only when it is complete. Interrupted work
 * remains beside it, and the same call continues it.
 *
 * @throws GdnError `native_missing`; `invalid_input` with the location in `art.yaml`; `usage`; `file_error`
 */
export async function generate(edition: Edition, options: GenerateOptions): Promise<Generated> {
  const { art } = edition
  const { out, items, fit, signal, onProgress } = options
  await checkOutput(out)
  const sharp = await loadSharp()
  const { width, height } = await openRenderer(art, { fit, sharp })
  const hashes = await checkImages(sharp, art, { width, height, fit })
  const ones = await Promise.all(art.oneOfOnes.map(checkOneOfOne))
  const fileOf = ({ number, oneOfOne }: EditionItem) =>
    `${IMAGE_FOLDER}/${number}.${oneOfOne === null ? EXTENSIONS[art.output.format] : ones[oneOfOne]?.extension}`
  const inputs = [VERSION, SHARP_VERSION, describe(edition, items), ...hashes, ...ones.map(({ sha256 }) => sha256)]
  const digest = createHash('sha256')
    .update(JSON.stringify([...inputs, String(fit)]))
    .digest('hex')
  const earlier = await readOutput(out)
  if (earlier?.inputs === digest && (await isComplete(out, earlier.images.values()))) {
    return { images: [...earlier.images.values()], kept: earlier.images.size, former: null }
  }
  const draft = await DraftFolder.open(out, digest)
  const made = await draft.made()
  const kept = made.size
  let unchanged = 0
  const jobs = items
    .filter(({ number }) => !made.has(number))
    .map((item): ImageJob => ({ item, file: fileOf(item), earlier: earlierOf(earlier?.images.get(item.number), out) }))
  onProgress({ made: 0, kept, of: items.length })
  await makeImages({ art, fit, folder: draft.path }, jobs, {
    threads: options.threads,
    signal,
    async onMade({ image, isUnchanged }) {
      await draft.record(image)
      made.set(image.number, image)
      if (isUnchanged) unchanged++
      onProgress({ made: made.size - kept, kept, of: items.length })
    },
  })
  const images = items.flatMap(({ number }) => made.get(number) ?? [])
  await draft.write(
    MANIFEST_FILE,
    manifestRows(art, items, fileOf)
      .map((cells) => options.csvLine(cells))
      .join(''),
  )
  await draft.write(PAGE_FILE, await options.page((item) => readFile(join(draft.path, fileOf(item)))))
  await draft.write(EDITION_FILE, editionText(edition, { inputs: digest, images }))
  signal.throwIfAborted()
  return { images, kept: kept + unchanged, former: await draft.publish() }
}

function earlierOf(image: MadeImage | undefined, out: string): ImageJob['earlier'] {
  if (image?.pixels === undefined || image.pixels === null) return null
  return { path: `${out}/${image.file}`, sha256: image.sha256, pixels: image.pixels }
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

/** Returns what the files of an edition depend on, except the images of its layers. */
function describe({ art, items, seed }: Edition, chosen: readonly EditionItem[]): string {
  const { file: _file, ...content } = art
  const numbers = [chosen[0]?.number, chosen.length]
  return JSON.stringify({ content, seed, count: items.length, numbers }, (key, value) =>
    key === 'place' || key === 'path' || key === 'folder' ? undefined : value,
  )
}

function editionText({ items, seed }: Edition, { images, ...rest }: Pick<EditionFile, 'inputs' | 'images'>): string {
  const head: Omit<EditionFile, 'images'> = { gdn: VERSION, sharp: SHARP_VERSION, ...rest, seed, count: items.length }
  // One line for each image, for diffs.
  const lines = images.map((image) => `    ${JSON.stringify(image)}`).join(',\n')
  return `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "images": [\n${lines}\n  ]\n}\n`
}
