import { stat } from 'node:fs/promises'
import { GdnError } from '../core/errors.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { KeyTable } from './key-table.ts'
import type { Ledger } from './ledger.ts'
import { copyHash } from './row-text.ts'
import { readSpool, type SpooledRow } from './spool.ts'

/** The rows of a run by what a copy of its manifest has in common with it. */
export interface Copies {
  table: KeyTable
  /** Whether a copy may have other keys: by its files, the order of its attributes, or because it has no ids. */
  mayDiffer: boolean
  hasUnnamed: boolean
}

type Rows = () => AsyncIterable<SpooledRow>
type LocalFiles = ManifestRow['localFiles']

/** The rows of a run that are to be compared with those of other runs. */
export async function copiesOf(rows: Rows, isChecked: (row: SpooledRow) => boolean): Promise<Copies> {
  const copies: Copies = { table: new KeyTable(), mayDiffer: false, hasUnnamed: false }
  for await (const spooled of rows()) {
    if (!isChecked(spooled)) continue
    const { row } = spooled
    const { attribute = [], file_fields } = row.metadata
    copies.table.add(copyHash(row))
    copies.hasUnnamed ||= row.id === null
    copies.mayDiffer ||= row.localFiles.length > 0 || attribute.length > 1 || file_fields.length > 1
  }
  return copies
}

/**
 * The rows that another run has claimed under another key, because its manifest is a copy in another folder, has its
 * columns in another order, or has ids where this one has none. Two rows with different ids are two rows.
 */
export async function rowsWithCopies(
  { table, mayDiffer, hasUnnamed }: Copies,
  other: { path: string; ledger: Ledger },
  rows: Rows,
): Promise<SpooledRow[]> {
  if (!mayDiffer && !(hasUnnamed && other.ledger.rows.countIds() > 0)) return []
  const claimed = new Map<string, { isNamed: boolean; files: LocalFiles }[]>()
  try {
    for await (const { key, row } of readSpool(other.path)) {
      const hash = copyHash(row)
      if (table.find(hash) < 0 || !other.ledger.isClaimed(other.ledger.rows.find(key))) continue
      claimed.set(hash, [...(claimed.get(hash) ?? []), { isNamed: row.id !== null, files: row.localFiles }])
    }
  } catch (error) {
    // Without its rows only their keys can be compared.
    if (!(error instanceof GdnError) || error.code !== 'data_dir') throw error
  }
  const found: SpooledRow[] = []
  if (claimed.size === 0) return found
  for await (const spooled of rows()) {
    const { row } = spooled
    for (const { isNamed, files } of claimed.get(copyHash(row)) ?? []) {
      if ((isNamed && row.id !== null) || (await areOther(row.localFiles, files))) continue
      found.push(spooled)
      break
    }
  }
  return found
}

/** Whether files of the same names are not the same, as their sizes tell. One that is gone may have been moved. */
async function areOther(files: LocalFiles, others: LocalFiles): Promise<boolean> {
  for (const { key, path } of files) {
    const other = others.find((file) => file.key === key)
    if (other === undefined || other.path === path) continue
    const [size, otherSize] = await Promise.all([sizeOf(path), sizeOf(other.path)])
    if (size !== null && otherSize !== null && size !== otherSize) return true
  }
  return false
}

const sizeOf = async (path: string): Promise<number | null> => (await stat(path).catch(() => null))?.size ?? null
