import { rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { makeEdition } from '../../../art/edition.ts'
import { explainDeviations } from '../../../art/edition-report.ts'
import type { GenerateResult } from '../../../art/generate/generate.ts'
import type { UnfinishedOutput } from '../../../art/generate/output-folder.ts'
import { loadSharp } from '../../../art/render/load-sharp.ts'
import type { Fit } from '../../../art/render/read-image.ts'
import { findSharedImages } from '../../../art/shared-images.ts'
import {
  type Art,
  type ArtIssue,
  DEFAULT_SEED,
  type Edition,
  type EditionItem,
  MAX_NFT_COUNT,
} from '../../../art/types.ts'
import { count as formatCount } from '../../../core/count.ts'
import { flagError, GdnError, isInterruption } from '../../../core/errors.ts'
import { formatBytes } from '../../../core/format-bytes.ts'
import { isInside } from '../../../core/is-inside.ts'
import { listSome } from '../../../core/list-some.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { EDITION_FILE, MANIFEST_FILE } from '../../../manifest/edition-files.ts'
import { countChangedRows, type RowChangeCounts } from '../../art/changed-rows.ts'
import { findArtWarnings, printArtWarnings } from '../../art/check-images.ts'
import { readArt } from '../../art/read-art.ts'
import { roughDuration } from '../../batch/progress/progress-text.ts'
import { GdnCommand, requiredFlagError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, integer, notEmpty, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { withProgress } from '../../io/progress.ts'
import { createOutput } from '../../render/output.ts'
import { csvLine, type View } from '../../render/view.ts'
import { addEditionFlags, addFitFlag } from './check.ts'

const MAX_THREADS = 64
/** Default maximum number of threads. More threads use a lot of memory and are seldom faster. */
const DEFAULT_THREADS = 8
/** Minimum number of finished images for which progress includes a rate. */
const MIN_RATED_IMAGES = 5
/** Maximum number of manually added files that a warning lists. */
const MAX_LISTED_FILES = 5
/** Maximum number of deviations in text output. */
const MAX_LISTED_DEVIATIONS = 10

const VIEW: View = {
  fields: [
    'folder',
    'manifest',
    'images',
    'made',
    'copied',
    'kept',
    'seed',
    'deviations',
    'former_folder',
    'changed_rows',
    'edited_files',
    'unfinished_folders',
    'warnings',
  ],
  columns: ['folder', 'manifest', 'images', 'made', 'copied', 'kept'],
  id: 'manifest',
  // The card omits the deviations, changed files, unfinished folders and warnings, because they are printed as
  // sentences.
  card: ({
    deviations: _deviations,
    edited_files: _files,
    unfinished_folders: _folders,
    warnings: _warnings,
    ...record
  }) => Object.entries(record),
}

export interface ArtGenerateFlags extends OutputFlags {
  count?: number
  seed?: string
  strict?: boolean
  out?: string
  from?: number
  only?: number
  fit?: Fit
  threads?: number
  clean?: boolean
}

export function command(deps: Deps, run = generateArt): GdnCommand {
  return new GdnCommand({
    about:
      'The output folder contains the images, and manifest.csv for `gdn batch mint`. It also contains art.html with the distribution of the traits, and edition.json with the SHA-256 hashes of the files and their pixels. With the same versions of gdn and sharp, the same art.yaml, images, count and seed produce the same manifest and pixels on every machine. If the output folder exists, the command renames it when the new folder is complete. If you stop the command, run the same command again to continue. With different settings or images, the command starts from the beginning. To delete unfinished folders, add --clean. The command reuses images whose pixels have not changed. The field `images` is the sum of three fields: `made`, `copied` (one-of-ones that were not scaled) and `kept` (images from an earlier run of the command).',
    examples: [
      ['Generate an edition of 9,000 NFTs', 'gdn art generate art.yaml --count 9000 --seed spring-2027 --out drop'],
      ['Generate only NFTs 5000 to 5099', 'gdn art generate art.yaml --count 9000 --from 5000 --only 100 --out sample'],
    ],
  })
    .argument('<art.yaml>')
    .with(addEditionFlags)
    .valueFlag('--out <folder>', 'Output folder', { parse: notEmpty, required: true })
    .switchFlag('--strict', 'Fail if trait counts differ from the weights')
    .valueFlag('--from <n>', 'Number of the first NFT to generate (1)', integer(1, MAX_NFT_COUNT))
    .valueFlag('--only <n>', 'Number of NFTs to generate (all)', integer(1, MAX_NFT_COUNT))
    .with(addFitFlag)
    .valueFlag(
      '--threads <n>',
      `Number of images to generate concurrently (one per core, at most ${DEFAULT_THREADS})`,
      integer(1, MAX_THREADS),
    )
    .switchFlag('--clean', 'Delete unfinished folders that have different settings')
    .with(addOutputFlags)
    .action(async (path: string, flags: ArtGenerateFlags) => await run(deps, path, flags))
}

export async function generateArt(deps: Deps, path: string, flags: ArtGenerateFlags): Promise<void> {
  const { io, cwd } = deps
  const output = createOutput(io, flags, VIEW)
  const request = editionRequest(flags, cwd)
  const { out, count, seed } = request
  const art = await readArt(deps, path)
  refuseInputs(art, { path, out, cwd })
  const warnings: ArtIssue[] = []
  const warn = (issues: readonly ArtIssue[]) => {
    warnings.push(...issues)
    printArtWarnings(io, issues)
  }
  warn(await findArtWarnings(deps, art, count))
  const { edition, result } = await makeImages(deps, art, { flags, request, warn })
  const { images, kept, copied, edited, added } = result
  const isDeleted = ({ isRecent }: UnfinishedOutput) => flags.clean === true && !isRecent
  for (const folder of result.unfinished.filter(isDeleted)) await rm(folder.path, { recursive: true, force: true })
  const shown = (full: string) => relative(cwd, full) || '.'
  const manifest = shown(resolve(out, MANIFEST_FILE))
  const rows =
    result.former === null
      ? null
      : await countChangedRows(join(result.former, MANIFEST_FILE), join(out, MANIFEST_FILE), result.changedImages)
  const former = result.former === null ? null : shown(result.former)
  const deviations = explainDeviations(art, count - art.oneOfOnes.length, edition.deviations).map(({ text }) => text)
  const afterwards = outputWarnings({ out: shown(out), former, rows, edited, added })
  const unfinished = result.unfinished.map((folder) => ({
    folder: shown(folder.path),
    bytes: folder.bytes,
    deleted: isDeleted(folder),
  }))
  await output.one({
    folder: shown(out),
    manifest,
    images: images.length,
    made: images.length - kept - copied,
    copied,
    kept,
    seed,
    deviations,
    former_folder: former,
    changed_rows: rows?.changed ?? null,
    edited_files: edited,
    unfinished_folders: unfinished,
    warnings: [...warnings, ...afterwards],
  })
  for (const text of deviations.slice(0, MAX_LISTED_DEVIATIONS)) io.note(safe(text))
  const more = deviations.length - MAX_LISTED_DEVIATIONS
  if (more > 0) io.note(`… and ${formatCount(more, 'trait')} more. Add \`-o json\` to list all of them.`)
  if (former !== null) io.note(`The former folder is now ${safe(former)}.`)
  printArtWarnings(io, afterwards)
  noteUnfinished(io, unfinished, flags)
  io.note(`Check the manifest: gdn batch validate ${shellWord(safe(manifest))} -b <blockchain> --receiver <address>`)
  io.note('To allow changes to rows or images after the mint, mint with --dynamic or --unrevealed.')
}

interface EditionRequest {
  /** The full path of the folder to write. */
  out: string
  count: number
  seed: string
  /** Number of the first NFT to generate. */
  from: number
  /** Number of NFTs to generate. */
  only: number
}

function editionRequest(flags: ArtGenerateFlags, cwd: string): EditionRequest {
  const { count, seed = DEFAULT_SEED } = flags
  if (count === undefined) throw requiredFlagError('--count', 'Add --count <n>, the number of NFTs.')
  if (flags.out === undefined) throw requiredFlagError('--out', 'Add --out <folder>.')
  const { from = 1, only = count } = flags
  if (from > count) throw flagError('--from', `exceeds the count of ${count}`, `Use a number from 1 to ${count}.`)
  const available = count - from + 1
  if (flags.only !== undefined && only > available) {
    throw flagError('--only', `exceeds the number of NFTs from ${from} to ${count}`, `Use at most ${available}.`)
  }
  return { out: resolve(cwd, flags.out), count, seed, from, only }
}

interface MakeOptions {
  flags: ArtGenerateFlags
  request: EditionRequest
  warn(issues: readonly ArtIssue[]): void
}

/** Chooses the traits of the edition, and makes its images and its manifest. */
async function makeImages(
  { io, signals }: Deps,
  art: Art,
  { flags, request, warn }: MakeOptions,
): Promise<{ edition: Edition; result: GenerateResult }> {
  const { out, count, seed, from, only } = request
  const { generate } = await import('../../../art/generate/generate.ts')
  return await withProgress(io, 'Choosing the traits', async ({ update }) => {
    const edition = makeEdition(art, { count, seed, strict: flags.strict })
    const items = edition.items.slice(from - 1, from - 1 + only)
    update('Checking the images')
    const startedAt = performance.now()
    const result = await generate(edition, {
      out,
      items,
      fit: flags.fit ?? null,
      threads: flags.threads ?? Math.min(DEFAULT_THREADS, availableParallelism()),
      signal: signals.signal,
      csvLine,
      renderPage: (readImage) => renderPage(edition, items, readImage),
      onChecked: (hashes) => warn(findSharedImages(art, hashes)),
      onProgress: (progress) => update(progressText(progress, performance.now() - startedAt)),
    }).catch((error: unknown) => {
      const isInterrupted = error instanceof GdnError && isInterruption(error)
      throw isInterrupted ? error.withHint('Run the same command again to continue.') : error
    })
    return { edition, result }
  })
}

interface UnfinishedFolder {
  folder: string
  bytes: number
  deleted: boolean
}

function noteUnfinished(
  io: Deps['io'],
  unfinished: readonly UnfinishedFolder[],
  { clean = false }: ArtGenerateFlags,
): void {
  for (const { folder, bytes, deleted } of unfinished) {
    const text = `${folder} (${formatBytes(bytes)})`
    io.note(safe(deleted ? `Deleted ${text}.` : `Unfinished folder with different settings: ${text}`))
  }
  if (clean && unfinished.some(({ deleted }) => !deleted)) {
    io.note('Folders that changed within the last minute are kept, because another command may be writing to them.')
  }
  if (unfinished.length > 0 && !clean) {
    io.note(`To delete ${unfinished.length === 1 ? 'it' : 'them'}, run the same command with --clean.`)
  }
}

interface ReplacedOutput {
  out: string
  former: string | null
  rows: RowChangeCounts | null
  edited: readonly string[]
  added: readonly string[]
}

/** Returns warnings about the former manifest, and about files in the folder that the user changed or added. */
function outputWarnings({ out, former, rows, edited, added }: ReplacedOutput): ArtIssue[] {
  const texts: string[] = []
  if (former !== null && rows !== null) {
    const { changed, onlyImage } = rows
    if (changed > onlyImage) texts.push(changedText(rows, out, former))
    else if (onlyImage > 0) texts.push(changedImagesText(onlyImage, join(out, MANIFEST_FILE)))
    if (rows.missing > 0) texts.push(missingText(rows, former))
  }
  if (added.length > 0) texts.push(addedText(added, out, former))
  const ofFiles = edited.map((file): ArtIssue => {
    const outcome = former === null ? 'gdn kept your version' : `your version is now ${join(former, file)}`
    return { place: { file: join(out, file) }, message: `was changed after it was generated: ${outcome}` }
  })
  return [...texts.map((message) => ({ place: {}, message })), ...ofFiles]
}

function addedText(added: readonly string[], out: string, former: string | null): string {
  const shownFiles = listSome(added.slice(0, MAX_LISTED_FILES), added.length)
  const folderText =
    former === null
      ? 'gdn did not change the folder.'
      : `The former folder ${former} now contains ${added.length === 1 ? 'it' : 'them'}.`
  return `${out} had ${formatCount(added.length, 'file')} that gdn did not generate: ${shownFiles}. ${folderText}`
}

const changedImagesText = (images: number, manifest: string): string =>
  `${formatCount(images, 'image')} ${images === 1 ? 'differs' : 'differ'} from the former ${images === 1 ? 'one' : 'ones'}, but the rows are the same. If the NFTs of these rows are minted, compare the images: gdn plan ${shellWord(safe(manifest))}`

const missingText = ({ missing, of }: RowChangeCounts, former: string): string =>
  `${missing} of the ${formatCount(of, 'row')} of the former manifest ${missing === 1 ? 'is' : 'are'} missing from the new manifest. The rows remain in ${former}. To generate part of an edition, use another --out folder.`

/**
 * Describes rows that have the number of an earlier NFT, but different content. An edition with such rows can't be used
 * to resume a drop that was minted from the former manifest.
 */
const changedText = ({ changed, onlyImage, of }: RowChangeCounts, out: string, former: string): string =>
  `${changed} of the ${formatCount(of, 'row')} of the former manifest now ${changed === 1 ? 'has' : 'have'} different content under the same number${onlyImage === 0 ? '' : `, and ${onlyImage} of these ${onlyImage === 1 ? 'differs' : 'differ'} only in the image`}. If NFTs were minted from the former manifest, don't mint the new one. To change these NFTs, run \`gdn plan ${shellWord(safe(join(out, MANIFEST_FILE)))}\`. To restore the former edition, move ${out} away, and rename ${former} to ${out}.`

/** Number of NFTs in the sample that the page shows. */
const SAMPLE_SIZE = 12

/** Returns the HTML of a page about the edition, with images of some of its NFTs. */
async function renderPage(
  edition: Edition,
  items: readonly EditionItem[],
  readImage: (item: EditionItem) => Promise<Buffer>,
): Promise<string> {
  const [{ EditionView }, { fileThumbnail }] = await Promise.all([
    import('../../art/edition-view.ts'),
    import('../../art/thumbnail.ts'),
  ])
  const sharp = await loadSharp()
  const view = new EditionView(edition)
  return await view.renderPage(
    view.pick(SAMPLE_SIZE, items),
    async (item) => await fileThumbnail(sharp, await readImage(item)),
    items,
  )
}

/**
 * Refuses an output folder that contains an input or the current folder, because the command replaces the whole folder.
 */
function refuseInputs(art: Art, { path, out, cwd }: { path: string; out: string; cwd: string }): void {
  const inputs = [
    [cwd, 'the current folder'],
    [dirname(resolve(cwd, path)), path],
    ...art.layers.map(({ folder, name }) => [folder, `the images of ${name}`]),
    ...art.oneOfOnes.map((oneOfOne) => [oneOfOne.path, oneOfOne.image]),
  ] as const
  const inside = inputs.find(([full]) => isInside(full, out))
  const base = dirname(resolve(cwd, path))
  const folders = art.layers.flatMap(({ folder }) => (folder === base ? [] : [folder, dirname(folder)]))
  // The folder of `art.yaml` may also contain the layer folders.
  const layers = folders.find((folder) => !isInside(base, folder) && isInside(out, folder))
  if (layers !== undefined) {
    const message = `the folder is in ${relative(cwd, layers) || '.'}, which contains layers`
    throw flagError(
      '--out',
      message,
      'Use another folder, because gdn reads each folder in the layers folder as a layer.',
    )
  }
  if (inside === undefined) return
  throw flagError(
    '--out',
    `the folder contains ${inside[1]}`,
    `Use another folder, because the command replaces all files in the folder, including ${EDITION_FILE}.`,
  )
}

function progressText({ made, kept, of }: { made: number; kept: number; of: number }, elapsedMs: number): string {
  const text = `Generating images: ${made + kept} of ${of}`
  if (made < MIN_RATED_IMAGES) return text
  const perMs = made / elapsedMs
  return `${text}, ${(perMs * 1000).toFixed(1)}/s, about ${roughDuration((of - made - kept) / perMs)} left`
}
