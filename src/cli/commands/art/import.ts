import { realpath } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { isImageName } from '../../../art/import/build-folder.ts'
import type { Build, BuildNft } from '../../../art/import/read-build.ts'
import type { ArtIssue } from '../../../art/types.ts'
import { readText } from '../../../config/read-text.ts'
import { count } from '../../../core/count.ts'
import { flagError } from '../../../core/errors.ts'
import { listSome } from '../../../core/list-some.ts'
import { quoted } from '../../../core/quoted.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { shortPath } from '../../../core/short-path.ts'
import { manifestCell } from '../../../core/spreadsheet-text.ts'
import { validateManifest } from '../../../manifest/read.ts'
import type { ManifestIssue } from '../../../manifest/row.ts'
import { printArtWarnings } from '../../art/check-images.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, notEmpty, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { writeAtomically } from '../../io/write-file.ts'
import { createOutput } from '../../render/output.ts'
import { csvLine, type View } from '../../render/view.ts'
import { resolveOutputFile } from '../../sheet/resolve-output-file.ts'
import { throwManifestErrors } from '../batch/validate.ts'

const DEFAULT_OUTPUT = 'manifest.csv'
const OUT_FLAG = '--out'
const MAX_COLUMNS = 1000
/** Columns that come first, if they are used. */
const LEADING_COLUMNS = ['id', 'title', 'description', 'image', 'file:animation_url']
/** Maximum number of missing numbers and fields that a note shows. */
const MAX_LISTED_TEXTS = 5

const FIELDS = ['file', 'format', 'rows', 'images', 'columns', 'omitted_fields', 'warnings']
const VIEW: View = {
  fields: FIELDS,
  columns: FIELDS.filter((field) => field !== 'warnings'),
  id: 'file',
  card: ({ columns: _columns, omitted_fields: _omitted, warnings: _warnings, ...record }) => Object.entries(record),
}

export interface ArtImportFlags extends OutputFlags {
  out?: string
  force?: boolean
}

export function command(deps: Deps, run = importBuild): GdnCommand {
  return new GdnCommand({
    about:
      'Specify the build folder of HashLips, which contains json and images, or the assets folder of Metaplex sugar, which contains files such as 0.json. The command writes a manifest that links to the images. It first checks the manifest like gdn batch validate, and writes nothing if there is an error. The image of an NFT is the file that its metadata names, even if the URL contains a placeholder, as in ipfs://NewUriToReplace/1.png. If the metadata names no image in the folder, the command uses the image with the number of the NFT. If there is no such image, the manifest contains the URL from the metadata. A trait whose value is a number becomes a typed trait. The command omits the fields dna, edition, date, compiler, symbol, seller_fee_basis_points, properties, creators and collection, and fields that are lists or objects. Other fields become extra keys. The command reports an error if a metadata file differs from _metadata.json, if two files share an edition number, or if files were renumbered. The command warns about duplicate names, images whose number differs from the number of their NFT, traits that differ only in case, and missing numbers. It also warns about the default description of HashLips, and about folders that it does not read. The manifest must be in a folder that contains the images.',
    examples: [
      ['Import the output of HashLips', 'gdn art import build'],
      ['Import the assets of sugar', 'gdn art import assets --out drop.csv'],
      ['Check the manifest', 'gdn batch validate manifest.csv -b polygon --receiver @alice'],
    ],
  })
    .argument('<folder>')
    .valueFlag('--out <file>', `Manifest to write (${DEFAULT_OUTPUT})`, notEmpty)
    .switchFlag('--force', 'Overwrite an existing file')
    .with(addOutputFlags)
    .action(async (folder: string, flags: ArtImportFlags) => await run(deps, folder, flags))
}

export async function importBuild(deps: Deps, folder: string, flags: ArtImportFlags): Promise<void> {
  const { io, cwd, signals } = deps
  const output = createOutput(io, flags, VIEW)
  const { path, replace } = await resolveOutputFile(
    deps,
    DEFAULT_OUTPUT,
    { to: flags.out, force: flags.force },
    OUT_FLAG,
  )
  if (!/\.csv$/i.test(path)) throw flagError(OUT_FLAG, 'must be a file whose name ends with .csv')
  const { readBuild } = await import('../../../art/import/read-build.ts')
  const progress = await io.progress('Reading the metadata')
  let written: WrittenManifest
  let build: Build
  try {
    build = await readBuild(folder, {
      cwd,
      readText: (file, maxBytes) => readText(file, maxBytes, 'invalid_input'),
      onNft(done) {
        signals.signal.throwIfAborted()
        progress.update(`Reading the metadata: ${count(done, 'NFT')}`)
      },
    })
    throwManifestErrors({ issues: [...build.issues], issueCount: build.issues.length }, null)
    await refuseOutside(deps, folder, path)
    progress.update(`Checking ${count(build.nfts.length, 'NFT')}`)
    written = await writeManifest(build, { path, replace, cwd })
  } finally {
    progress.stop()
  }
  const omitted = [...build.omittedFieldCounts.keys()].sort()
  const { format } = build.folder
  const rows = build.nfts.length
  const warnings = findWarnings(build)
  await output.one({
    file: path,
    format,
    rows,
    images: written.images,
    columns: written.columns,
    omitted_fields: omitted,
    warnings,
  })
  printArtWarnings(io, warnings)
  for (const note of describeBuild(build, omitted)) io.note(safe(note))
  const shownPath = shellWord(safe(shortPath(path, cwd)))
  io.note(`Check the manifest: gdn batch validate ${shownPath} -b <blockchain> --receiver <address>`)
}

/**
 * Refuses a file outside of the manifest's folder. The files become public, so a manifest can only refer to files below
 * its folder.
 */
async function refuseOutside({ cwd }: Deps, folder: string, path: string): Promise<void> {
  const [real, base] = await Promise.all([
    realpath(resolve(cwd, folder)),
    realpath(dirname(path)).catch(() => dirname(path)),
  ])
  if (real === base || real.startsWith(base.endsWith(sep) ? base : `${base}${sep}`)) return
  throw flagError(
    OUT_FLAG,
    `must be in a folder that contains ${folder}`,
    `Use ${OUT_FLAG} ${shellWord(`${folder}/${DEFAULT_OUTPUT}`)}.`,
  )
}

interface WrittenManifest {
  images: number
  columns: readonly string[]
}

async function writeManifest(
  { nfts }: Build,
  { path, replace, cwd }: { path: string; replace: boolean; cwd: string },
): Promise<WrittenManifest> {
  const usedNames = new Set(nfts.flatMap(({ cells, files }) => [...cells.keys(), ...files.keys()]))
  const columns = [
    ...LEADING_COLUMNS.filter((name) => name === 'id' || usedNames.has(name)),
    ...[...usedNames].filter((name) => !LEADING_COLUMNS.includes(name)),
  ]
  if (columns.length > MAX_COLUMNS) {
    const message = `has ${columns.length} different traits and fields, more than ${MAX_COLUMNS}`
    throwManifestErrors({ issues: [{ place: { file: nfts[0]?.file }, message }], issueCount: 1 }, null)
  }
  let images = 0
  const lines = nfts.map(({ number, cells, files }) =>
    columns.map((column) => {
      if (column === 'id') return String(number)
      const file = files.get(column)
      if (file === undefined) return manifestCell(cells.get(column) ?? '')
      if ('url' in file) return file.url
      images++
      return relative(dirname(path), resolve(cwd, file.path)).split(sep).join('/')
    }),
  )
  const text = [columns, ...lines].map((cells) => csvLine(cells)).join('')
  const check = async (draft: string) => {
    // The user chooses the receiver and the blockchain later. Without a blockchain, the placeholder for the receiver
    // isn't checked as an address.
    const options = { blockchain: null, mayLackBlockchain: true, receiver: 'later', localFiles: true }
    const { issues, issueCount } = await validateManifest({ path: draft }, options)
    throwManifestErrors({ issues: issues.map((issue) => locateInMetadata(issue, columns, nfts)), issueCount }, null)
  }
  await writeAtomically(path, text, { replace, flag: OUT_FLAG, check })
  return { images, columns }
}

/** Returns a problem of the manifest, located in the metadata file that the value comes from. */
function locateInMetadata(
  { place, message, hint }: ManifestIssue,
  columns: readonly string[],
  nfts: readonly BuildNft[],
): ManifestIssue {
  const { line = 1, column: position = 0, field = '' } = place
  const column = columns[position - 1] ?? field
  // A problem on line 1, the header, is attributed to the first NFT that has the column.
  const nft = line === 1 ? nfts.find(({ fields }) => fields.has(column)) : nfts[line - 2]
  const source = nft?.fields.get(column)
  return {
    place: { file: nft?.file, field: source === undefined ? undefined : `${nft?.within}${source}` },
    message,
    hint,
  }
}

function describeBuild(build: Build, omitted: readonly string[]): string[] {
  const notes: string[] = []
  const { emptyTraitCount, replacedUrlCount, collection } = build
  if (omitted.length > 0) notes.push(`Omitted fields: ${omitted.join(', ')}`)
  if (emptyTraitCount > 0) notes.push(`Omitted ${count(emptyTraitCount, 'trait')} without a value.`)
  if (replacedUrlCount > 0) {
    notes.push(
      `For ${count(replacedUrlCount, 'file')}, the manifest contains the local path instead of the URL from the metadata.`,
    )
  }
  if (collection !== null)
    notes.push(`Create the collection: gdn collection create --name ${shellWord(safe(collection))} …`)
  return notes
}

/** Returns warnings about a build that can be imported but probably isn't what the user intends. */
function findWarnings({ nfts, folder }: Build): ArtIssue[] {
  const ignored = folder.ignoredFolders.map(
    (file): ArtIssue => ({ place: { file }, message: 'the folder is not imported' }),
  )
  const ofTexts = [...equalNames(nfts), ...defaultDescription(nfts), ...findCaseVariants(nfts)]
  return [...ignored, ...ofTexts, ...missingNumbers(nfts), ...otherNumbers(nfts), ...imageWarnings(nfts, folder)]
}

/** The default description in HashLips' `src/config.js`. */
const DEFAULT_DESCRIPTION = 'Remember to replace this description'

function defaultDescription(nfts: readonly BuildNft[]): ArtIssue[] {
  const all = nfts.filter(({ cells }) => cells.get('description')?.trim() === DEFAULT_DESCRIPTION)
  const [first] = all
  if (first === undefined) return []
  const fix =
    'Set the description in src/config.js of HashLips, run `npm run update_info` there, and import again. You can also edit the description column of the manifest'
  return [
    {
      place: { file: first.file, field: `${first.within}description` },
      message: `is the default description of HashLips (${count(all.length, 'NFT')}): ${quoted(DEFAULT_DESCRIPTION)}. ${fix}`,
    },
  ]
}

/** Finds traits and values that differ only in case. Marketplaces show them as different ones. */
function findCaseVariants(nfts: readonly BuildNft[]): ArtIssue[] {
  const first = new Map<string, { text: string; file: string }>()
  const warnings: ArtIssue[] = []
  for (const { cells, fields, file, within } of nfts) {
    for (const [column, value] of cells) {
      const [, tag] = /^attr[^:]*:(.*)$/s.exec(column) ?? []
      if (tag === undefined) continue
      const place = { file, field: `${within}${fields.get(column)}` }
      for (const [kind, text] of [
        ['the trait', tag],
        ['the value', `${tag}: ${value}`],
      ] as const) {
        const key = `${kind} ${text.toLowerCase()}`
        const earlier = first.get(key)
        if (earlier === undefined) first.set(key, { text, file })
        // If the trait's own name differs in case, report it once instead of for each value.
        const isOther = earlier !== undefined && earlier.text !== text && !first.has(`${key} ${text}`)
        if (!isOther || (kind === 'the value' && first.get(`the trait ${tag.toLowerCase()}`)?.text !== tag)) continue
        first.set(`${key} ${text}`, { text, file })
        const message = `${kind} ${quoted(text)} differs only in case from ${quoted(earlier.text)} in ${earlier.file}`
        warnings.push({ place, message })
      }
    }
  }
  return warnings
}

const formatTexts = (texts: readonly string[], total = texts.length): string =>
  listSome(texts.slice(0, MAX_LISTED_TEXTS), total, ' and')

function equalNames(nfts: readonly BuildNft[]): ArtIssue[] {
  const byName = new Map<string, BuildNft[]>()
  for (const nft of nfts) {
    const name = nft.cells.get('title') ?? ''
    const all = byName.get(name)
    if (all === undefined) byName.set(name, [nft])
    else all.push(nft)
  }
  return [...byName].flatMap(([name, all]) => {
    const [, second] = all
    if (second === undefined) return []
    const numbers = formatTexts(all.map(({ number }) => String(number)))
    const place = { file: second.file, field: `${second.within}name` }
    return [{ place, message: `${quoted(name)} is the name of ${all.length} NFTs: ${numbers}` }]
  })
}

function missingNumbers(nfts: readonly BuildNft[]): ArtIssue[] {
  const numbers = new Set(nfts.map(({ number }) => number))
  const [first = 0, last = 0] = [nfts[0]?.number, nfts.at(-1)?.number]
  const missing = last - first + 1 - numbers.size
  if (missing === 0) return []
  const listedNumbers: string[] = []
  for (let number = first; number <= last && listedNumbers.length < MAX_LISTED_TEXTS; number++) {
    if (!numbers.has(number)) listedNumbers.push(String(number))
  }
  return [{ place: {}, message: `Missing numbers: ${formatTexts(listedNumbers, missing)}` }]
}

/** Finds metadata that refers to an image with a different number, for example because two files were swapped. */
function otherNumbers(nfts: readonly BuildNft[]): ArtIssue[] {
  const numbers = new Set(nfts.map(({ number }) => number))
  const mismatches = nfts.flatMap(({ number, file, within, files }) => {
    const image = files.get('image')
    if (image === undefined) return []
    const isFile = 'path' in image
    const name = basename(isFile ? image.path : image.url.replace(/[?#].*$/s, ''))
    const [, digits] = /^(\d{1,9})\.[^.]+$/.exec(name) ?? []
    if (digits === undefined || Number(digits) === number) return []
    // In a URL, a number that no NFT has may be an ID that the host assigned.
    if (!isFile && !numbers.has(Number(digits))) return []
    return [`${basename(file)}${within === '' ? '' : `: ${within.slice(0, -1)}`} names ${name}`]
  })
  return mismatches.length === 0
    ? []
    : [{ place: {}, message: `Images whose number differs from the number of their NFT: ${formatTexts(mismatches)}` }]
}

/** Returns warnings about images that several NFTs share, and about images that no NFT uses. */
function imageWarnings(nfts: readonly BuildNft[], folder: Build['folder']): ArtIssue[] {
  const users = new Map<string, number[]>()
  for (const { number, files } of nfts) {
    const image = files.get('image')
    if (image !== undefined && 'path' in image) users.set(image.path, [...(users.get(image.path) ?? []), number])
  }
  const shared = [...users].filter(([, numbers]) => numbers.length > 1)
  const used = new Set(
    nfts.flatMap(({ files }) => [...files.values()].flatMap((file) => ('path' in file ? file.path : []))),
  )
  const unused = [...folder.imageNames]
    .filter((name) => isImageName(name) && !/^collection\./i.test(name))
    .map((name) => join(folder.images, name))
    .filter((path) => !used.has(path))
    .sort()
  const files = shared.map(([path, numbers]) => `${path} (${formatTexts(numbers.map(String))})`)
  return [
    ...(shared.length === 0 ? [] : [`Images that several NFTs use: ${formatTexts(files)}`]),
    ...(unused.length === 0 ? [] : [`Images that no NFT uses: ${formatTexts(unused)}`]),
  ].map((message) => ({ place: {}, message }))
}
