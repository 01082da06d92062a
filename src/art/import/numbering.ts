import { join } from 'node:path'
import { isObject } from '../../core/json.ts'
import type { ArtIssue } from '../types.ts'
import { type BuildFolder, isImageName, LIST_FILE } from './build-folder.ts'

/** A metadata file, its number and its content. */
export interface NumberedFile {
  number: number
  file: string
  value: unknown
}

/**
 * Returns a problem if all metadata files or all images of a build were renumbered; null otherwise. Other checks would
 * report this once per file, and each image would be paired with another NFT's metadata.
 */
export function renumberingIssue(folder: BuildFolder, files: readonly NumberedFile[]): ArtIssue | null {
  const [first] = files
  if (first === undefined) return null
  const numbers = files.map(({ number }) => number)
  const editions = files.map(({ value }) => readEdition(value))
  const [edition] = editions
  if (folder.format === 'hashlips' && edition !== null && edition !== undefined && findShift(numbers, editions) !== 0) {
    const all = files.length === 1 ? '' : `, and all ${files.length} metadata files have the same offset`
    return {
      place: { file: first.file, field: 'edition' },
      message: `is ${edition}, but the file has the number ${first.number}${all}`,
      hint: `Name each metadata file and image after its edition, such as ${edition}.json and ${edition}.png.`,
    }
  }
  const isNamed = ({ value }: NumberedFile) => {
    const image = isObject(value) ? value.image : undefined
    return typeof image === 'string' && folder.imageNames.has(image.split('/').at(-1) ?? '')
  }
  const images = [...new Set([...folder.imageNames].flatMap(imageNumbers))].sort((a, b) => a - b)
  if (images.length < 2 || findShift(numbers, images) === 0 || files.every(isNamed)) return null
  return {
    place: { file: folder.images },
    message: `the images have the numbers ${formatRange(images)}, but the metadata files have ${formatRange(numbers)}`,
    hint: 'Rename the images, so that each has the number of its metadata file.',
  }
}

/**
 * Returns a problem if the editions in the list of all metadata differ from the numbers of the metadata files; null
 * otherwise. HashLips writes the list last, so an interrupted command leaves an older list.
 */
export function listProblem(
  folder: BuildFolder,
  list: readonly unknown[],
  files: readonly NumberedFile[],
): ArtIssue | null {
  const file = join(folder.metadata, LIST_FILE)
  const hint = `Generate the NFTs again, or delete ${LIST_FILE} to import the files as they are.`
  const numbers = files.map(({ number }) => number)
  const editions = list.map(readEdition)
  const sorted = editions.filter((edition) => edition !== null).sort((a, b) => a - b)
  if (findShift(numbers, sorted) !== 0) {
    const message = `the editions are ${formatRange(sorted)}, but the metadata files have the numbers ${formatRange(numbers)}`
    return { place: { file }, message, hint: hint.replace('Generate the NFTs again', 'Correct the editions') }
  }
  const indexes = new Map<number, number>()
  for (const [index, edition] of editions.entries()) {
    if (edition === null) continue
    const earlier = indexes.get(edition)
    if (earlier !== undefined) {
      const place = { file, field: `[${index}].edition` }
      return { place, message: `is ${edition}, which is also the edition of [${earlier}]`, hint }
    }
    indexes.set(edition, index)
  }
  const counts =
    list.length === files.length ? '' : `has ${list.length} NFTs, but there are ${files.length} metadata files: `
  const missing = files.find(({ number }) => !indexes.has(number))
  if (missing !== undefined) {
    const message = `${counts}no entry has the edition ${missing.number}, the number of ${missing.file}`
    return { place: { file }, message, hint }
  }
  const extra = sorted.find((edition) => !numbers.includes(edition))
  const message = `${counts}${extra === undefined ? 'an entry has no edition' : `no file has the edition ${extra}`}`
  return list.length === files.length ? null : { place: { file }, message, hint }
}

const readEdition = (value: unknown): number | null => {
  const edition: unknown = isObject(value) ? value.edition : undefined
  return typeof edition === 'number' && Number.isSafeInteger(edition) ? edition : null
}

function imageNumbers(name: string): number[] {
  const [, digits] = /^(\d{1,9})\.[^.]+$/.exec(name) ?? []
  return digits === undefined || !isImageName(name) ? [] : [Number(digits)]
}

/** Returns the difference that all pairs of numbers have; 0 if the differences vary or the lengths differ. */
function findShift(numbers: readonly number[], otherNumbers: readonly (number | null)[]): number {
  const [number = 0] = numbers
  const shift = (otherNumbers[0] ?? number) - number
  const isShifted =
    numbers.length === otherNumbers.length && numbers.every((value, index) => otherNumbers[index] === value + shift)
  return isShifted ? shift : 0
}

const formatRange = (sorted: readonly number[]): string =>
  sorted.length === 1 ? String(sorted[0]) : `${sorted[0]} to ${sorted.at(-1)}`
