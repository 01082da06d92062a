import { stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'
import { formatIgnoreHint, mapFlag, meaningProblem } from './columns.ts'

/** A column with an unknown meaning, with some of its cells. */
export interface UnknownColumn {
  name: string
  cells: readonly unknown[]
}

interface ManifestContext {
  /** The documented names of the other columns. */
  usedMeanings: ReadonlySet<string>
  /** Whether a receiver is set for rows without a receiver. */
  hasReceiver: boolean
  /** The base folder of relative paths. */
  folder: string
}

const MAX_COLUMNS = 200
/** Maximum number of cells to examine per column. */
export const CELLS_SAMPLED = 20
const MAX_CELL = 1000
/** Minimum number of cells from which a column can count as IDs. Fewer cells often differ by chance. */
const MIN_IDS = 5

const WEB_IMAGE = /^https?:\/\/[^\s?#]+\.(?:png|jpe?g|gif|webp|avif|svg)(?:[?#]\S*)?$/i
const STORED_FILE = /^(?:ipfs|ar):\/\/\S+$/i
const IMAGE_NAME = /^[^\r\n:*?"<>|]+\.(?:png|jpe?g|gif|webp|avif|svg)$/i
const ADDRESS = /^0x[0-9a-f]{40}$/i
const NUMBER = /^[\d\s.,:/%+-]+$/
const ID = /^[\w#.-]{1,40}$/

/** Returns whether a text looks like the URL or the path of an image. */
export const looksLikeImage = (text: string): boolean => WEB_IMAGE.test(text) || IMAGE_NAME.test(text)

type Kind = 'image' | 'file' | 'address' | 'number' | 'text'

interface ExaminedColumn {
  name: string
  kind: Kind
  /** Average length of the cells. */
  averageLength: number
  /** Whether the cells could be IDs of rows: all different, and without spaces. */
  mayBeIds: boolean
}

/** Returns hints by column name, for unknown columns whose cells don't look like attributes. */
export async function suggestColumns(
  unknown: readonly UnknownColumn[],
  { usedMeanings, hasReceiver, folder }: ManifestContext,
): Promise<Map<string, string>> {
  const hints = new Map<string, string>()
  const examinedColumns: ExaminedColumn[] = []
  for (const { name, cells } of unknown.slice(0, MAX_COLUMNS)) {
    const column = await examineColumn(name, cells, folder)
    if (column !== null) examinedColumns.push(column)
  }
  const freeMeanings = new Set(['image', 'title', 'description', ...(hasReceiver ? [] : ['receiver'])])
  for (const meaning of usedMeanings) freeMeanings.delete(meaning)
  for (const { name, kind } of examinedColumns) {
    if (kind === 'image' || kind === 'file') {
      const meaning = kind === 'image' && freeMeanings.delete('image') ? 'image' : `file:${name}`
      if (meaningProblem(meaning) === null)
        hints.set(name, `The cells of the column contain ${kind}s: add ${mapFlag(name, meaning)}.`)
    } else if (kind === 'address' && freeMeanings.delete('receiver')) {
      hints.set(name, `The cells of the column are addresses: add ${mapFlag(name, 'receiver')}.`)
    }
  }
  const texts = assignTextColumns(examinedColumns, freeMeanings)
  for (const [meaning, { name }] of texts)
    hints.set(name, formatConditionalHint(name, `contains the ${meaning} of the NFT`, meaning))
  const ids = examinedColumns.find(({ name, mayBeIds }) => mayBeIds && !hints.has(name))
  if (ids !== undefined && !usedMeanings.has('id'))
    hints.set(ids.name, formatConditionalHint(ids.name, 'identifies the rows', 'id'))
  return hints
}

/** Returns a hint for a column that may have a meaning, and on how to omit or publish the column otherwise. */
function formatConditionalHint(name: string, condition: string, meaning: string): string {
  const attribute = `attr:${name}`
  const other =
    meaningProblem(attribute) === null ? ` To make the column a public attribute, add ${mapFlag(name, attribute)}.` : ''
  return `If the column ${condition}, rename the column to ${meaning}, or add ${mapFlag(name, meaning)}. ${formatIgnoreHint(name)}${other}`
}

/** Patterns for column names that mean title or description in European languages. */
const TITLE_NAME = /tit(el|re|ol|ul)|^nom\b|^(name|naam|navn|namn)\b/i
const DESCRIPTION_NAME = /descri|beschr|omschr|besk/i

/**
 * Assigns text columns to a missing title and description by their names. If no column name means description, the
 * column with the longest text becomes the description.
 */
function assignTextColumns(
  examinedColumns: readonly ExaminedColumn[],
  freeMeanings: ReadonlySet<string>,
): Map<string, ExaminedColumn> {
  const texts = examinedColumns.filter(({ kind }) => kind === 'text')
  const assigned = new Map<string, ExaminedColumn>()
  const isBoth = freeMeanings.has('title') && freeMeanings.has('description')
  const descriptionColumn = texts.find(({ name }) => DESCRIPTION_NAME.test(name))
  const [longest] = texts.filter(({ name }) => !TITLE_NAME.test(name)).sort((a, b) => b.averageLength - a.averageLength)
  const description = descriptionColumn ?? longest
  if (description !== undefined && freeMeanings.has('description') && (!isBoth || texts.length > 1)) {
    assigned.set('description', description)
  }
  const otherTexts = texts.filter((column) => column !== assigned.get('description'))
  const first =
    otherTexts.find(({ name }) => TITLE_NAME.test(name)) ?? otherTexts.find((column) => column !== descriptionColumn)
  if (first !== undefined && freeMeanings.has('title')) assigned.set('title', first)
  return assigned
}

/** Returns the kind of value that most cells of a column have, or null for an empty column. */
async function examineColumn(name: string, cells: readonly unknown[], folder: string): Promise<ExaminedColumn | null> {
  const texts = cells
    .filter((cell) => typeof cell === 'string')
    .map((cell) => cell.trim())
    .filter((cell) => cell !== '')
    .slice(0, CELLS_SAMPLED)
  if (texts.length === 0) return null
  const kinds = new Map<Kind, number>()
  for (const text of texts) {
    const kind = await cellKind(text, folder)
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  }
  const [most] = [...kinds].sort(([, a], [, b]) => b - a)
  const averageLength = texts.reduce((sum, text) => sum + text.length, 0) / texts.length
  const mayBeIds =
    texts.length >= MIN_IDS && new Set(texts).size === texts.length && texts.every((text) => ID.test(text))
  return { name, kind: most?.[0] ?? 'text', averageLength, mayBeIds }
}

async function cellKind(cell: string, folder: string): Promise<Kind> {
  if (cell.length > MAX_CELL) return 'text'
  if (STORED_FILE.test(cell) || looksLikeImage(cell)) return 'image'
  if (ADDRESS.test(cell)) return 'address'
  if (NUMBER.test(cell)) return 'number'
  return (await isFile(cell, folder)) ? 'file' : 'text'
}

/** Returns whether a cell is the relative path of an existing file. Looks up only names with a dot or a slash. */
async function isFile(cell: string, folder: string): Promise<boolean> {
  if (!/^[^\s\0\\][^\0\\]*[./][^\0\\]*$/.test(cell) || isAbsolute(cell)) return false
  const stats = await stat(resolve(folder, cell)).catch(() => null)
  return stats?.isFile() === true
}
