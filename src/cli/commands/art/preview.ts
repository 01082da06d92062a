import { realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { makeEdition } from '../../../art/edition.ts'
import { explainDeviations } from '../../../art/edition-report.ts'
import { type Fit, readImageFile } from '../../../art/render/read-image.ts'
import type { Renderer } from '../../../art/render/renderer.ts'
import { findSharedImages } from '../../../art/shared-images.ts'
import { type Art, type ArtIssue, DEFAULT_SEED, type EditionItem } from '../../../art/types.ts'
import { count as formatCount } from '../../../core/count.ts'
import { flagError } from '../../../core/errors.ts'
import { isInside } from '../../../core/is-inside.ts'
import { pathExists } from '../../../core/path-exists.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { EDITION_FILE, MANIFEST_FILE } from '../../../manifest/edition-files.ts'
import { checkImages, findArtWarnings, imageWarnings, printArtWarnings } from '../../art/check-images.ts'
import type { EditionView, RepresentativeNfts } from '../../art/edition-view.ts'
import { readArt } from '../../art/read-art.ts'
import { GdnCommand, requiredFlagError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, integer, notEmpty, type OutputFlags } from '../../flags/common.ts'
import { findTileLayout } from '../../image/preview.ts'
import type { TileSource } from '../../image/tiles.ts'
import { safe } from '../../io/io.ts'
import { withProgress } from '../../io/progress.ts'
import { writeAtomically } from '../../io/write-file.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { openSheet, resolveOutputFile } from '../../sheet/resolve-output-file.ts'
import { addEditionFlags, addFitFlag } from './check.ts'

const DEFAULT_OUTPUT = 'art-preview.html'
const OUT_FLAG = '--out'
const SAMPLE_SIZE = 12
const MAX_SAMPLE_SIZE = 500
/** Height of an image, in terminal lines. */
const TILE_LINES = 3

const VIEW: View = {
  fields: ['number', 'title', 'group', 'rank', 'score', 'rarest', 'attributes', 'one_of_one', 'warning'],
  columns: ['number', 'title', 'group', 'rank', 'rarest'],
  id: 'number',
  cells: ({ rarest, ...record }) => ({ ...record, rarest: (rarest as readonly string[]).join(', ') }),
}

export interface ArtPreviewFlags extends OutputFlags {
  count?: number
  seed?: string
  sample?: number
  fit?: Fit
  out?: string
  force?: boolean
  open?: boolean
}

export function command(deps: Deps, run = preview): GdnCommand {
  return new GdnCommand({
    about:
      'The command chooses the traits of all NFTs in the edition. It shows a sample, the rarest NFTs and the most common NFTs. Like gdn art generate, it checks all images, but it makes only the images of the NFTs that it shows. In a terminal that supports images, it also draws images of the sample. With --out or --open, it writes a page with the images, the requested and actual numbers of each trait, the rules, the one-of-ones and the rarity. With the same count and seed, gdn art generate makes the NFTs that the preview shows.',
    examples: [
      ['Show a sample of an edition', 'gdn art preview art.yaml --count 9000'],
      ['Show the sample in the browser', 'gdn art preview art.yaml --count 9000 --open'],
      ['Write a preview with another seed', 'gdn art preview art.yaml --count 9000 --seed summer --out summer.html'],
    ],
  })
    .argument('<art.yaml>')
    .with(addEditionFlags)
    .valueFlag('--sample <n>', `Number of NFTs in the sample (${SAMPLE_SIZE})`, integer(1, MAX_SAMPLE_SIZE))
    .with(addFitFlag)
    .valueFlag('--out <file>', `Write a page to this file (${DEFAULT_OUTPUT} with --open)`, notEmpty)
    .switchFlag('--force', 'Overwrite a file that gdn did not write')
    .switchFlag('--open', 'Open the page in the browser')
    .with(addOutputFlags)
    .action(async (path: string, flags: ArtPreviewFlags) => await run(deps, path, flags))
}

export async function preview(deps: Deps, path: string, flags: ArtPreviewFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW)
  const { count, seed = DEFAULT_SEED, sample = SAMPLE_SIZE } = flags
  if (count === undefined) throw requiredFlagError('--count', 'Add --count <n>, the number of NFTs.')
  const hasPage = flags.out !== undefined || flags.open === true
  const art = await readArt(deps, path)
  if (hasPage) await refuseInputs(art, { path, out: resolve(deps.cwd, flags.out ?? DEFAULT_OUTPUT), cwd: deps.cwd })
  const where = hasPage
    ? await resolveOutputFile(deps, DEFAULT_OUTPUT, { to: flags.out, force: flags.force, kind: 'art' }, OUT_FLAG)
    : null
  const edition = await withProgress(io, 'Choosing the traits', async () => makeEdition(art, { count, seed }))
  const images = await checkImages(deps, art, flags.fit ?? null)
  const ofArt = await findArtWarnings(deps, art, count)
  const kinds = [
    imageWarnings(images, { mayThrow: true, io, others: ofArt }),
    findSharedImages(art, images.hashes),
    ofArt,
  ]
  for (const warnings of kinds) printArtWarnings(io, warnings)
  const { EditionView } = await import('../../art/edition-view.ts')
  const view = new EditionView(edition)
  const picked = view.pick(sample)
  if (where !== null) await writePage(deps, view, picked, { ...where, fit: flags.fit ?? null })
  await output.many(toRecords(view, picked, io.settings.machine ? kinds.flat() : []))
  await drawSample(deps, view, picked, flags.fit ?? null, output.mode === 'table')
  const deviations = explainDeviations(art, count - art.oneOfOnes.length, edition.deviations)
  for (const { text } of deviations.slice(0, 5)) io.note(safe(text))
  if (deviations.length > 5) io.note(`… and ${deviations.length - 5} more. Run \`gdn art check\` to list all of them.`)
  if (where !== null) io.note(`Wrote ${safe(where.path)}`)
  if (flags.open === true && where !== null) await openSheet(deps, where.path)
  const args = `${shellWord(safe(path))} --count ${count}${flags.seed === undefined ? '' : ` --seed ${shellWord(safe(flags.seed))}`}`
  const fit = flags.fit === undefined ? '' : ` --fit ${flags.fit}`
  if (where === null) io.note(`To see all images and numbers in the browser: gdn art preview ${args}${fit} --open`)
  io.note(`Generate the edition: gdn art generate ${args}${fit} --out drop`)
}

/**
 * Yields the records of the selected NFTs.
 *
 * @param warnings warnings to yield as records after the NFTs, for formats that print nothing else
 */
async function* toRecords(
  view: EditionView,
  picked: RepresentativeNfts,
  warnings: readonly ArtIssue[],
): AsyncGenerator<DataRecord> {
  for (const group of ['rarest', 'commonest', 'sample'] as const) {
    for (const item of picked[group]) {
      const { number, title, attributes, isOneOfOne, rarity } = view.toPageNft(item, null)
      yield {
        ...{ number, title, group, rank: rarity?.rank ?? null, score: rarity?.score ?? null },
        rarest: rarity?.rarest ?? [],
        attributes: attributes.map(([tag, value]) => ({ tag, value })),
        one_of_one: isOneOfOne,
        warning: null,
      }
    }
  }
  const nothing = Object.fromEntries(VIEW.fields.map((field) => [field, null]))
  for (const warning of warnings) yield { ...nothing, group: 'warning', warning }
}

/** Refuses a page that would replace an input or a file of a generated edition, or that is in a layer folder. */
async function refuseInputs(art: Art, { path, out, cwd }: { path: string; out: string; cwd: string }): Promise<void> {
  const real = async (folder: string) => await realpath(folder).catch(() => folder)
  const [folder, base] = await Promise.all([real(dirname(out)), real(dirname(resolve(cwd, path)))])
  const inputs = new Map([
    [resolve(cwd, path), path],
    ...art.oneOfOnes.map((oneOfOne) => [oneOfOne.path, oneOfOne.image] as const),
    ...art.layers.flatMap(({ traits }) => traits.map((trait) => [trait.path, trait.file] as const)),
  ])
  for (const [input, name] of inputs) {
    if (!(await isSameFile(input, out))) continue
    throw flagError(OUT_FLAG, `the file is ${name}, which is an input of the edition`, 'Use another file.')
  }
  for (const layerFolder of new Set(art.layers.map((layer) => layer.folder))) {
    const layers = await real(layerFolder)
    // A layer folder may also contain `art.yaml`. If so, the page may be in this folder too.
    if (isInside(base, layers) || !isInside(folder, layers)) continue
    const message = `the file is in ${relative(cwd, layerFolder) || '.'}, which contains layers`
    throw flagError(OUT_FLAG, message, 'Use a file outside the layer folders.')
  }
  const isOfEdition = [EDITION_FILE, MANIFEST_FILE].includes(basename(out).toLowerCase())
  if (!isOfEdition || !(await pathExists(join(folder, EDITION_FILE)))) return
  const message = `the file belongs to the edition in ${relative(cwd, dirname(out)) || '.'}`
  throw flagError(OUT_FLAG, message, `Use another file, such as ${DEFAULT_OUTPUT}.`)
}

/** Returns whether two paths are the same file, even on case-insensitive file systems. */
async function isSameFile(path: string, other: string): Promise<boolean> {
  if (path === other) return true
  const [stats, otherStats] = await Promise.all([path, other].map(async (file) => await stat(file).catch(() => null)))
  return stats != null && otherStats != null && stats.ino === otherStats.ino && stats.dev === otherStats.dev
}

/** Opens a renderer for a small number of images. */
async function renderer(art: Art, fit: Fit | null): Promise<Renderer> {
  const { openRenderer } = await import('../../../art/render/renderer.ts')
  return await openRenderer(art, { fit })
}

async function writePage(
  { io, signals }: Deps,
  view: EditionView,
  picked: RepresentativeNfts,
  { path, replace, fit }: { path: string; replace: boolean; fit: Fit | null },
): Promise<void> {
  const { art } = view.edition
  const [{ loadSharp }, { thumbnail, fileThumbnail }] = await Promise.all([
    import('../../../art/render/load-sharp.ts'),
    import('../../art/thumbnail.ts'),
  ])
  const sharp = await loadSharp()
  const { render } = await renderer(art, fit)
  let made = 0
  const html = await withProgress(io, 'Generating images', ({ update }) =>
    view.renderPage(picked, async (item: EditionItem) => {
      signals.signal.throwIfAborted()
      made++
      update(`Generating images: ${made}`)
      const oneOfOne = item.oneOfOne === null ? undefined : art.oneOfOnes[item.oneOfOne]
      if (oneOfOne === undefined) return await thumbnail(sharp, await render(item))
      return await fileThumbnail(sharp, await readImageFile({ ...oneOfOne, file: oneOfOne.image }))
    }),
  )
  await writeAtomically(path, html, { replace, flag: OUT_FLAG })
}

/** Draws images of the sample if stdout is a terminal that can display images. */
async function drawSample(
  deps: Deps,
  view: EditionView,
  picked: RepresentativeNfts,
  fit: Fit | null,
  isTable: boolean,
) {
  const layout = isTable ? findTileLayout(deps) : null
  if (layout === null) return
  const { art } = view.edition
  const [{ drawTiles }, { decodeImage }] = await Promise.all([
    import('../../image/tiles.ts'),
    import('../../image/decode.ts'),
  ])
  const { render } = await renderer(art, fit)
  const chosen = [...picked.rarest, ...picked.sample].slice(0, layout.perLine * TILE_LINES)
  const items = chosen.sort((a, b) => a.number - b.number)
  const sources = items.map((item): TileSource => {
    const oneOfOne = item.oneOfOne === null ? undefined : art.oneOfOnes[item.oneOfOne]
    const read = async () =>
      oneOfOne === undefined
        ? await render(item)
        : await decodeImage(await readImageFile({ ...oneOfOne, file: oneOfOne.image }))
    return { title: view.toPageNft(item, null).title, read }
  })
  await drawTiles(deps, sources, layout)
  if (picked.sample.length + picked.rarest.length > items.length) {
    deps.io.note(`The images of ${formatCount(items.length, 'NFT')} are shown.`)
  }
}
