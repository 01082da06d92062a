import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256Hex } from '../../core/sha256-hex.ts'
import { VERSION } from '../../core/version.ts'
import { EDITION_FILE, MANIFEST_FILE } from '../../manifest/edition-files.ts'
import { SHARP_VERSION } from '../render/load-sharp.ts'
import type { Fit } from '../render/read-image.ts'
import { EXTENSIONS } from '../render/renderer.ts'
import type { Edition, EditionItem } from '../types.ts'
import { checkFiles } from './check-files.ts'
import type { GeneratedImage, ImageJob } from './image-job.ts'
import { makeImages } from './make-images.ts'
import { manifestRows } from './manifest-rows.ts'
import {
  checkOutput,
  DraftFolder,
  type EditionFile,
  findChanges,
  findUnfinishedFolders,
  IMAGE_FOLDER,
  type OutputChanges,
  PAGE_FILE,
  readOutput,
  type UnfinishedOutput,
} from './output-folder.ts'
import { withOutputLock } from './output-lock.ts'

export interface GenerateOptions {
  /** The absolute path of the output folder. */
  out: string
  /** The NFTs whose images are generated. */
  items: readonly EditionItem[]
  fit: Fit | null
  threads: number
  signal: AbortSignal
  csvLine(cells: readonly string[]): string
  /**
   * Returns the HTML of the page about the edition.
   *
   * @param readImage returns the bytes of an NFT's image
   */
  renderPage(readImage: (item: EditionItem) => Promise<Buffer>): Promise<string>
  /** Called with the SHA-256 of each trait's image before any image is generated. */
  onChecked(hashes: readonly string[]): void
  /** Called before and after each image. `kept` is the number of images that were already complete. */
  onProgress(progress: { made: number; kept: number; of: number }): void
}

export interface GenerateResult {
  images: readonly GeneratedImage[]
  /** Number of images whose files an earlier command generated. */
  kept: number
  /** Number of one-of-one images that this command copied. */
  copied: number
  /** The path of the former output folder; null if there was none or it is unchanged. */
  former: string | null
  /** The numbers of the images that differ from those in the earlier output folder. */
  changedImages: ReadonlySet<number>
  /** Files in the earlier output folder that were changed after gdn wrote them, relative to the folder. */
  edited: readonly string[]
  /** Files and folders in the earlier output folder that gdn didn't write, relative to the folder. */
  added: readonly string[]
  /** Unfinished folders of commands with different settings. */
  unfinished: readonly UnfinishedOutput[]
}

/**
 * Generates the images and the manifest of an edition. The output folder becomes visible only when it is complete.
 * Interrupted work stays in a folder next to it, so that the same call can continue.
 *
 * @throws GdnError `native_missing`; `invalid_input` with the location in `art.yaml`; `usage`; `run_busy`; `file_error`
 */
export async function generate(edition: Edition, options: GenerateOptions): Promise<GenerateResult> {
  await checkOutput(options.out)
  return await withOutputLock(options.out, async () => await generateLocked(edition, options))
}

async function generateLocked(edition: Edition, options: GenerateOptions): Promise<GenerateResult> {
  const { art } = edition
  const { out, items, fit, signal, onProgress } = options
  const { hashes, ones } = await checkFiles(art, fit)
  options.onChecked(hashes)
  const fileOf = ({ number, oneOfOne }: EditionItem) =>
    `${IMAGE_FOLDER}/${number}.${oneOfOne === null ? EXTENSIONS[art.output.format] : ones[oneOfOne]?.extension}`
  const inputs = [
    VERSION,
    SHARP_VERSION,
    describeInputs(edition, items),
    ...hashes,
    ...ones.map(({ sha256 }) => sha256),
  ]
  const digest = sha256Hex(JSON.stringify([...inputs, String(fit)]))
  const earlier = await readOutput(out)
  const { edited, added, isIncomplete } = earlier === null ? NO_CHANGES : await findChanges(out, earlier)
  const done = async (
    images: readonly GeneratedImage[],
    rest: Pick<GenerateResult, 'kept' | 'former'> & { copied?: number },
  ): Promise<GenerateResult> => ({
    ...{ images, edited, added, copied: 0, ...rest },
    changedImages: new Set(
      images.flatMap((image) => (isChangedImage(image, earlier?.images.get(image.number)) ? image.number : [])),
    ),
    unfinished: await findUnfinishedFolders(out),
  })
  const isKept = !isIncomplete && edited.every((file) => file === MANIFEST_FILE || file === PAGE_FILE)
  if (earlier?.inputs === digest && isKept) {
    return await done([...earlier.images.values()], { kept: earlier.images.size, former: null })
  }
  const draft = await DraftFolder.open(out, digest)
  // An earlier command may have stopped just before it renamed the complete folder.
  const complete = await readOutput(draft.path)
  if (complete?.inputs === digest && isUnchanged(await findChanges(draft.path, complete))) {
    const images = [...complete.images.values()]
    return await done(images, { kept: images.length, former: await draft.publish() })
  }
  const made = await draft.readMadeImages()
  const kept = made.size
  let [unchanged, copied] = [0, 0]
  const jobs = items
    .filter(({ number }) => !made.has(number))
    .map((item): ImageJob => {
      const { number, oneOfOne } = item
      const oneOfOneArt = oneOfOne === null || ones[oneOfOne]?.isScaled ? undefined : art.oneOfOnes[oneOfOne]
      const imageToCopy = oneOfOneArt === undefined ? null : { ...oneOfOneArt, file: oneOfOneArt.image }
      return {
        item,
        file: fileOf(item),
        earlierImage: toEarlierImage(earlier?.images.get(number), out),
        imageToCopy,
      }
    })
  onProgress({ made: 0, kept, of: items.length })
  await makeImages({ art, fit, folder: draft.path }, jobs, {
    threads: options.threads,
    signal,
    async onMade({ image, isUnchanged: isSame }) {
      await draft.record(image)
      made.set(image.number, image)
      if (isSame) unchanged++
      if (image.pixels === null) copied++
      onProgress({ made: made.size - kept, kept, of: items.length })
    },
  })
  const images = items.flatMap(({ number }) => made.get(number) ?? [])
  const rows = manifestRows(art, items, fileOf).map((cells) => options.csvLine(cells))
  const files = {
    [MANIFEST_FILE]: await draft.write(MANIFEST_FILE, rows.join('')),
    [PAGE_FILE]: await draft.write(
      PAGE_FILE,
      await options.renderPage((item) => readFile(join(draft.path, fileOf(item)))),
    ),
  }
  await draft.write(EDITION_FILE, editionText(edition, { inputs: digest, files, images }))
  signal.throwIfAborted()
  return await done(images, { kept: kept + unchanged, copied, former: await draft.publish() })
}

const NO_CHANGES: OutputChanges = { edited: [], added: [], isIncomplete: false }
const isUnchanged = ({ edited, isIncomplete }: OutputChanges): boolean => edited.length === 0 && !isIncomplete

const isChangedImage = (image: GeneratedImage, before: GeneratedImage | undefined): boolean =>
  before !== undefined && image.sha256 !== before.sha256 && (image.pixels === null || image.pixels !== before.pixels)

function toEarlierImage(image: GeneratedImage | undefined, out: string): ImageJob['earlierImage'] {
  if (image?.pixels === undefined || image.pixels === null) return null
  return { path: `${out}/${image.file}`, sha256: image.sha256, pixels: image.pixels }
}

/** Returns the data on which an edition's files depend, except the images of its layers. */
function describeInputs({ art, items, seed }: Edition, chosen: readonly EditionItem[]): string {
  const { file: _file, ...content } = art
  const numbers = [chosen[0]?.number, chosen.length]
  return JSON.stringify({ content, seed, count: items.length, numbers }, (key, value) =>
    key === 'place' || key === 'path' || key === 'folder' ? undefined : value,
  )
}

function editionText(
  { items, seed }: Edition,
  { images, ...rest }: Pick<EditionFile, 'inputs' | 'files' | 'images'>,
): string {
  const head: Omit<EditionFile, 'images'> = { gdn: VERSION, sharp: SHARP_VERSION, ...rest, seed, count: items.length }
  // Write one line for each image, so that diffs are readable.
  const lines = images.map((image) => `    ${JSON.stringify(image)}`).join(',\n')
  return `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "images": [\n${lines}\n  ]\n}\n`
}
