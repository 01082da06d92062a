import { stat } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import { fileUrlProblem } from '../../api/file-url.ts'
import { GdnError, type Place } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import { quoted } from '../../core/quoted.ts'
import { parseStrictJson } from '../../core/strict-json.ts'
import type { ArtIssue } from '../types.ts'
import { type BuildFolder, COLLECTION_FILE, isImageName, LIST_FILE, openBuildFolder } from './build-folder.ts'
import { isOmittedField, type MetadataCells, metadataCells } from './metadata-cells.ts'
import { listProblem, type NumberedFile, renumberingIssue } from './numbering.ts'

/** An NFT of a build. */
export interface BuildNft extends Pick<MetadataCells, 'cells' | 'fields'> {
  number: number
  /** The path of the metadata file, in the form that messages use. */
  file: string
  /** The prefix of its fields in messages: `[3].` in a list, and an empty string otherwise. */
  within: string
  /** Files by column: `image` or `file:animation_url`. */
  files: Map<string, BuildFile>
}

/** A file of an NFT: a path relative to the working directory, or a URL. */
export type BuildFile = { path: string } | { url: string }

/** The output of HashLips or sugar. */
export interface Build {
  folder: BuildFolder
  /** The NFTs, ordered by number, without those that have a problem. */
  nfts: readonly BuildNft[]
  issues: readonly ArtIssue[]
  /** The number of NFTs with each field for which manifests have no column. */
  omittedFieldCounts: ReadonlyMap<string, number>
  emptyTraitCount: number
  /** Number of images that were taken from the folder although the metadata has a valid URL. */
  replacedUrlCount: number
  /** The name in `collection.json`. */
  collection: string | null
}

/**
 * Reads a text file of limited size.
 *
 * @throws GdnError `invalid_input`
 */
export type ReadText = (path: string, maxBytes: number) => Promise<string>

export interface ReadBuildOptions {
  cwd: string
  readText: ReadText
  /** Called after each metadata file. It can throw to stop the import. */
  onNft: (done: number) => void
}

const MAX_METADATA_BYTES = 1024 * 1024
const MAX_LIST_BYTES = 256 * 1024 * 1024
const URL_SCHEME = /^[a-z][a-z0-9+.-]+:/i

/**
 * Reads the metadata in a folder from HashLips or sugar, and finds the images.
 *
 * @throws GdnError `invalid_input` if the folder isn't from one of these tools. `issues` contains the problems of NFTs.
 */
export async function readBuild(path: string, options: ReadBuildOptions): Promise<Build> {
  const folder = await openBuildFolder(path, options.cwd)
  const reader = new BuildReader(folder, options)
  await reader.read()
  return reader.build()
}

interface Metadata {
  number: number
  file: string
  within: string
  value: unknown
}

class BuildReader {
  readonly #folder: BuildFolder
  readonly #options: ReadBuildOptions
  readonly #nfts: BuildNft[] = []
  readonly #issues: ArtIssue[] = []
  readonly #omittedFieldCounts = new Map<string, number>()
  readonly #placesByDna = new Map<string, string>()
  /** The files with each value of `edition`. */
  readonly #filesByEdition = new Map<number, Pick<Metadata, 'number' | 'file'>[]>()
  /** The names of images, by number. */
  readonly #imageNamesByNumber = new Map<number, string[]>()
  #emptyTraitCount = 0
  #replacedUrlCount = 0
  #collection: string | null = null
  #hasReportedImages = false

  constructor(folder: BuildFolder, options: ReadBuildOptions) {
    this.#folder = folder
    this.#options = options
    for (const name of folder.imageNames) {
      const [, digits] = /^(\d{1,9})\.[^.]+$/.exec(name) ?? []
      if (digits === undefined || !isImageName(name)) continue
      const number = Number(digits)
      this.#imageNamesByNumber.set(number, [...(this.#imageNamesByNumber.get(number) ?? []), name])
    }
  }

  async read(): Promise<void> {
    const { numberedFiles, otherFiles: otherNames, metadata, hasCollection } = this.#folder
    for (const name of otherNames) {
      this.#report(
        { file: join(metadata, name) },
        'is not named after the number of an NFT',
        'Rename the file, for example to 1.json, or move it to another folder.',
      )
    }
    const numbers = new Map<number, string>()
    const add = async (entry: Metadata) => {
      const earlier = numbers.get(entry.number)
      numbers.set(entry.number, entry.within === '' ? entry.file : `${entry.file}: ${entry.within.slice(0, -1)}`)
      if (earlier === undefined) await this.#add(entry)
      else
        this.#report(
          { file: entry.file, field: entry.within.slice(0, -1) || undefined },
          `has the same number as ${earlier}`,
        )
      this.#options.onNft(numbers.size)
    }
    if (numberedFiles.length > 0) {
      const files: NumberedFile[] = []
      const repeated: NumberedFile[] = []
      for (const { number, name } of numberedFiles) {
        const file = join(metadata, name)
        const value = await this.#readJson(file, MAX_METADATA_BYTES)
        const isFirst = files.at(-1)?.number !== number
        ;(isFirst ? files : repeated).push({ number, file, value })
      }
      const problem = renumberingIssue(this.#folder, files)
      if (problem !== null) {
        this.#issues.push(problem)
        return
      }
      const listed = await this.#readListedEntries(files)
      for (const { number, file, value } of files) {
        if (value === undefined) {
          numbers.set(number, file)
          continue
        }
        await add({ number, file, within: '', value })
        this.#addEdition(value, { number, file })
        this.#compare(value, listed.get(number), file)
      }
      for (const entry of repeated) if (entry.value !== undefined) await add({ ...entry, within: '' })
      this.#checkEditions()
    } else {
      for (const entry of await this.#readList()) await add(entry)
    }
    if (hasCollection) await this.#readCollection()
    const used = new Set(
      this.#nfts.flatMap(({ files }) => [...files.values()].map((file) => ('path' in file ? file.path : null))),
    )
    for (const [number, [name = '']] of this.#imageNamesByNumber) {
      if (numbers.has(number) || used.has(join(this.#folder.images, name))) continue
      const hint = `Add ${number}.json, or move the image to another folder.`
      this.#report({ file: join(this.#folder.images, name) }, 'has no metadata file', hint)
    }
  }

  build(): Build {
    return {
      folder: this.#folder,
      nfts: this.#nfts.sort((a, b) => a.number - b.number),
      issues: this.#issues,
      omittedFieldCounts: this.#omittedFieldCounts,
      emptyTraitCount: this.#emptyTraitCount,
      replacedUrlCount: this.#replacedUrlCount,
      collection: this.#collection,
    }
  }

  #report(place: Place, message: string, hint?: string): void {
    this.#issues.push({ place, message, hint })
  }

  /** Returns the JSON of a file; undefined after a problem, which is reported. */
  async #readJson(file: string, maxBytes: number): Promise<unknown> {
    try {
      const text = await this.#options.readText(resolve(this.#options.cwd, file), maxBytes)
      return parseStrictJson(text, file, 'invalid_input')
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      this.#report({ ...error.place, file }, error.message, error.hint)
      return undefined
    }
  }

  /** Returns the entries of the list of all metadata. */
  async #readList(): Promise<Metadata[]> {
    const file = join(this.#folder.metadata, LIST_FILE)
    const list = await this.#readJson(file, MAX_LIST_BYTES)
    if (list === undefined) return []
    if (!Array.isArray(list) || list.length === 0) {
      this.#report({ file }, Array.isArray(list) ? 'has no NFTs' : 'must be a list of metadata objects')
      return []
    }
    return list.flatMap((value: unknown, index) => {
      const number: unknown = Object(value).edition
      const within = `[${index}].`
      if (Number.isSafeInteger(number) && Number(number) >= 0) return [{ number: Number(number), file, within, value }]
      this.#report({ file, field: `${within}edition` }, 'must be the number of the NFT')
      return []
    })
  }

  /**
   * Returns the entries of the list next to the metadata files, by number. Returns an empty map if the list doesn't
   * belong to these files.
   */
  async #readListedEntries(files: readonly NumberedFile[]): Promise<ReadonlyMap<number, unknown>> {
    if (!this.#folder.hasList) return new Map()
    const file = join(this.#folder.metadata, LIST_FILE)
    const list = await this.#readJson(file, MAX_LIST_BYTES)
    if (list === undefined) return new Map()
    if (!Array.isArray(list)) {
      this.#report({ file }, 'is not a list', `Generate the NFTs again, or delete ${LIST_FILE}.`)
      return new Map()
    }
    const problem = listProblem(this.#folder, list, files)
    if (problem === null) return new Map(list.map((entry: unknown) => [Number(Object(entry).edition), entry]))
    this.#issues.push(problem)
    return new Map()
  }

  /** Compares a metadata file with its entry in the list. They differ if one of them was edited or replaced. */
  #compare(value: unknown, listed: unknown, file: string): void {
    if (!isObject(value) || !isObject(listed)) return
    for (const key of new Set([...Object.keys(value), ...Object.keys(listed)])) {
      const difference = isOmittedField(key) ? null : findDifference(value[key], listed[key], key)
      if (difference === null) continue
      const hint = `Set both to the same value, or delete ${LIST_FILE} to import the files as they are.`
      this.#report(
        { file, field: difference.field },
        `is ${difference.own}, but ${difference.other} in ${LIST_FILE}`,
        hint,
      )
      return
    }
  }

  #addEdition(value: unknown, entry: Pick<Metadata, 'number' | 'file'>): void {
    const edition: unknown = Object(value).edition
    if (this.#folder.format !== 'hashlips' || typeof edition !== 'number') return
    this.#filesByEdition.set(edition, [...(this.#filesByEdition.get(edition) ?? []), entry])
  }

  /**
   * Reports files that share an edition with another file. Omits the file whose name is the edition, or else the first.
   * HashLips names a file by its edition, so two files with the same edition come from different collections.
   */
  #checkEditions(): void {
    for (const [edition, files] of this.#filesByEdition) {
      const right = files.find(({ number }) => number === edition) ?? files[0]
      for (const { number, file } of files) {
        if (right === undefined || file === right.file) continue
        const hint = `Set the edition to ${number}, the number of the file, or generate the NFTs again.`
        this.#report({ file, field: 'edition' }, `is ${edition}, which is also the edition of ${right.file}`, hint)
      }
    }
  }

  async #readCollection(): Promise<void> {
    const metadata = await this.#readJson(join(this.#folder.metadata, COLLECTION_FILE), MAX_METADATA_BYTES)
    const { name }: { name?: unknown } = Object(metadata)
    if (typeof name === 'string' && name.trim() !== '') this.#collection = name.trim()
  }

  async #add({ number, file, within, value }: Metadata): Promise<void> {
    const before = this.#issues.length
    const report = (field: string, message: string, hint?: string) =>
      this.#report({ file, field: `${within}${field}` }, message, hint)
    if (!isObject(value) || Array.isArray(value)) {
      this.#report({ file, field: within.slice(0, -1) || undefined }, 'must be an object')
      return
    }
    const { cells, fields, omittedFields, emptyTraitCount } = metadataCells(value, report)
    for (const key of omittedFields) this.#omittedFieldCounts.set(key, (this.#omittedFieldCounts.get(key) ?? 0) + 1)
    this.#emptyTraitCount += emptyTraitCount
    this.#checkDna(value.dna, within === '' ? file : `${file}: ${within.slice(0, -1)}`, report)
    const files = new Map<string, BuildFile>()
    const image = await this.#findFile(value.image, 'image', number, report)
    if (image !== null) files.set('image', image)
    if (value.animation_url !== undefined && value.animation_url !== null && value.animation_url !== '') {
      const animation = await this.#findFile(value.animation_url, 'animation_url', null, report)
      if (animation !== null) files.set('file:animation_url', animation)
    }
    for (const column of files.keys()) fields.set(column, column.replace('file:', ''))
    if (this.#issues.length === before) this.#nfts.push({ number, file, within, cells, fields, files })
  }

  #checkDna(dna: unknown, where: string, report: (field: string, message: string, hint?: string) => void): void {
    if (typeof dna !== 'string' || dna === '') return
    const earlier = this.#placesByDna.get(dna)
    if (earlier === undefined) this.#placesByDna.set(dna, where)
    else
      report(
        'dna',
        `is the same as in ${earlier}, so both NFTs have the same traits`,
        'Generate one of the NFTs again, or delete it.',
      )
  }

  /**
   * Returns the file to which a field refers. If there is none, returns the image with the NFT's number.
   *
   * @param number the NFT's number; null to use only the field
   */
  async #findFile(
    value: unknown,
    field: string,
    number: number | null,
    report: (field: string, message: string, hint?: string) => void,
  ): Promise<BuildFile | null> {
    const { images } = this.#folder
    if (value !== undefined && value !== null && typeof value !== 'string') {
      report(field, 'must be text')
      return null
    }
    const text = value ?? ''
    const isUrl = URL_SCHEME.test(text)
    const found = isUrl ? this.#findImageByUrl(text) : await this.#findFileByPath(text, field, report)
    if (found === 'refused') return null
    const candidates = found !== null ? [found] : this.#findImagesByNumber(number)
    if (candidates.length > 1) {
      report(field, `could be ${candidates.join(' or ')}`, 'Delete the unused image.')
      return null
    }
    const isUsable = isUrl && fileUrlProblem(text) === null
    const [path] = candidates
    if (path !== undefined) {
      if (isUsable) this.#replacedUrlCount++
      return { path }
    }
    if (isUsable) return { url: text }
    const { missingImageFolder } = this.#folder
    if (number !== null && missingImageFolder !== null) {
      // Report only one problem for all images.
      if (!this.#hasReportedImages) {
        this.#report({ file: missingImageFolder }, "doesn't exist", 'Add the folder with the images of the NFTs.')
      }
      this.#hasReportedImages = true
      return null
    }
    const missing = number === null ? '' : `, and ${images} has no image with the number ${number}`
    if (text === '') report(field, `is missing${missing}`, `Add the image to ${images}.`)
    else report(field, `is ${quoted(text)}, which doesn't exist${missing}`, `Add the file to ${images}.`)
    return null
  }

  #findImagesByNumber(number: number | null): string[] {
    if (number === null) return []
    return (this.#imageNamesByNumber.get(number) ?? []).map((name) => join(this.#folder.images, name))
  }

  /** Returns the image whose name is at the end of a URL, such as `ipfs://NewUriToReplace/1.png`. */
  #findImageByUrl(url: string): string | null {
    const [, last = ''] = /\/([^/?#]+)(?:[?#].*)?$/.exec(url) ?? []
    return this.#folder.imageNames.has(last) ? join(this.#folder.images, last) : null
  }

  /** Returns the file at a path in the folder; null if there is none. */
  async #findFileByPath(
    text: string,
    field: string,
    report: (field: string, message: string, hint?: string) => void,
  ): Promise<string | null | 'refused'> {
    if (text === '') return null
    const leavesFolder = isAbsolute(text) || text.includes('\\') || text.split('/').includes('..')
    if (leavesFolder || /\p{Cc}/u.test(text)) {
      report(field, `must be a file in the folder, not ${quoted(text)}`, 'Use the name of the file, such as 1.png.')
      return 'refused'
    }
    const { images, metadata, path } = this.#folder
    for (const folder of new Set([metadata, images, path])) {
      const stats = await stat(resolve(this.#options.cwd, folder, text)).catch(() => null)
      if (stats?.isFile()) return join(folder, text)
    }
    return null
  }
}

/** Returns the first path at which two values differ, and both values as text; null if they are equal. */
function findDifference(
  own: unknown,
  other: unknown,
  field: string,
): { field: string; own: string; other: string } | null {
  if (own === other) return null
  if (Array.isArray(own) && Array.isArray(other) && own.length !== other.length) {
    return { field, own: `a list of length ${own.length}`, other: `of length ${other.length}` }
  }
  if (isObject(own) && isObject(other) && Array.isArray(own) === Array.isArray(other)) {
    for (const key of new Set([...Object.keys(own), ...Object.keys(other)])) {
      const difference = findDifference(
        own[key],
        other[key],
        Array.isArray(own) ? `${field}[${key}]` : `${field}.${key}`,
      )
      if (difference !== null) return difference
    }
    return null
  }
  return { field, own: quoteValue(own), other: quoteValue(other) }
}

const quoteValue = (value: unknown): string =>
  value === undefined ? 'missing' : typeof value === 'string' ? quoted(value) : quoted(JSON.stringify(value))
