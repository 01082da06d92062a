import { relative } from 'node:path'
import { METADATA_KEYS } from '../../api/metadata-keys.ts'
import { formatColumnName } from '../../manifest/columns.ts'
import { PROVENANCE, PROVENANCE_ROW } from '../../manifest/reveal-keys.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import { fileFieldName } from './field-changes.ts'

type Cell = readonly [column: string, text: string]

/**
 * Returns a row as cells with the column names of a manifest. The path of a local file inside the manifest's folder is
 * relative to that folder. Fields that gdn adds to the placeholder of an unrevealed row are omitted, because no
 * manifest has them.
 */
function cellsOf(row: ManifestRow, folder: string | null): Cell[] {
  const { metadata, localFiles } = row
  const unrevealedKeys = isUnrevealed(row) ? UNREVEALED_KEYS : []
  const paths = new Map(localFiles.map(({ key, path }) => [key, pathFrom(folder, path)]))
  const cells: Cell[] = [
    ['title', metadata.title],
    ['description', metadata.description],
  ]
  for (const { key, url } of metadata.file_fields) {
    if (unrevealedKeys.includes(key)) continue
    cells.push([fileFieldName(key), paths.get(key) ?? url])
  }
  cells.push(['receiver', row.receiverName ?? row.receiver])
  if (row.sender !== null) cells.push(['sender', row.senderName ?? row.sender])
  if (row.id !== null) cells.push(['id', row.id])
  for (const { tag: key, value, display_type: type, max_value: max } of metadata.attribute ?? []) {
    cells.push([formatColumnName({ kind: 'attr', key, trait: type && { type, max } }), value])
  }
  for (const [key, value] of Object.entries(metadata)) {
    if (!METADATA_KEYS.has(key) && !unrevealedKeys.includes(key)) cells.push([`extra:${key}`, String(value)])
  }
  return cells
}

const UNREVEALED_KEYS: readonly string[] = [PROVENANCE, PROVENANCE_ROW]

const isUnrevealed = ({ metadata }: ManifestRow): boolean =>
  metadata[PROVENANCE_ROW] !== undefined && metadata.file_fields.some(({ key }) => key === PROVENANCE)

function pathFrom(folder: string | null, path: string): string {
  const below = folder === null ? '..' : relative(folder, path)
  return below.startsWith('..') ? path : below
}

const COLUMN_GROUPS = ['title', 'description', 'image', 'file:', 'receiver', 'sender', 'id', 'attr:', 'extra:']

/**
 * The columns that at least one row of a manifest uses, in the order of the documentation. Columns of the same kind are
 * in the order of the rows that use them first. An attribute that an NFT has twice, as JSON manifests allow, has a
 * second column.
 */
export class ManifestColumns {
  /** The column names of each group, with the maximum number of times that one row uses the name. */
  readonly #groups = COLUMN_GROUPS.map(() => new Map<string, number>())
  readonly #folder: string | null

  /**
   * Creates an empty list of columns.
   *
   * @param folder the folder of the manifest; null for standard input
   */
  constructor(folder: string | null) {
    this.#folder = folder
  }

  learn(row: ManifestRow): void {
    for (const [name, cells] of groupCells(cellsOf(row, this.#folder))) {
      const group = this.#groups[groupOf(name)]
      if (group !== undefined && (group.get(name) ?? 0) < cells.length) group.set(name, cells.length)
    }
  }

  get names(): string[] {
    return this.#groups.flatMap((group) => [...group].flatMap(([name, times]) => Array<string>(times).fill(name)))
  }

  /** Returns the row's cells in the order of `names`, or null if the row needs a column that is missing. */
  cells(row: ManifestRow): string[] | null {
    const rowCells = groupCells(cellsOf(row, this.#folder))
    const cells: string[] = []
    let used = 0
    for (const group of this.#groups) {
      for (const [name, times] of group) {
        const texts = rowCells.get(name)
        if (texts !== undefined && texts.length <= times) used++
        for (let i = 0; i < times; i++) cells.push(texts?.[i] ?? '')
      }
    }
    return used === rowCells.size ? cells : null
  }
}

const groupOf = (name: string): number =>
  COLUMN_GROUPS.indexOf(name.startsWith('attr(') ? 'attr:' : (/^[^:]*:?/.exec(name)?.[0] ?? name))

function groupCells(cells: readonly Cell[]): Map<string, string[]> {
  const byName = new Map<string, string[]>()
  for (const [name, text] of cells) {
    const texts = byName.get(name)
    if (texts === undefined) byName.set(name, [text])
    else texts.push(text)
  }
  return byName
}
