import { createHash } from 'node:crypto'
import { GdnError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import type { ManifestItem } from '../../manifest/read.ts'
import { permuteRows, shuffleSeed } from './permutation.ts'

/** A draw, which determines the row of each slot. */
export interface Draw {
  /** The provenance hash of the drop. */
  provenance: string
  /** The number of slots, which equals the number of rows. */
  slots: number
  /** The verified signature of the round in hex. */
  signature: string
}

/** The rows that a round has drawn for the slots of a drop. */
export interface DrawnRows extends Draw {
  /** The row of each slot: the row of slot `s` is at index `s - 1`. Slots and rows are numbered from 1. */
  rows: Uint32Array
}

/** Returns the rows of a draw. */
export function drawnRows({ provenance, slots, signature }: Draw): DrawnRows {
  const randomness = createHash('sha256').update(Buffer.from(signature, 'hex')).digest()
  const rows = permuteRows(shuffleSeed(`0x${provenance.slice(2)}`, randomness), slots)
  return { provenance, slots, signature, rows }
}

/** Returns the rows that were drawn for a run, if the run has stored a draw; null otherwise. */
export const readStoredDraw = ({ draw }: Readonly<Record<string, unknown>>): DrawnRows | null =>
  isObject(draw) ? drawnRows(draw as unknown as Draw) : null

/** Returns the part of the drawn rows that a run stores. */
export const toDraw = ({ provenance, slots, signature }: DrawnRows): Draw => ({ provenance, slots, signature })

/**
 * Yields the rows of a manifest with the metadata and the files that were drawn for them. Each row keeps its receiver,
 * ID and key. Rows after those of the drop are unchanged. Reads all rows into memory.
 *
 * @throws GdnError `edited_rows` if the manifest has fewer rows than the drop
 */
export async function* withDrawnRows(
  items: AsyncIterable<ManifestItem>,
  { rows: drawn }: Pick<DrawnRows, 'rows'>,
): AsyncGenerator<ManifestItem> {
  const all: ManifestItem[] = []
  for await (const item of items) all.push(item)
  const rows = all.flatMap((item) => ('row' in item ? [item.row] : []))
  if (rows.length < all.length) {
    // The consumer of the rows reports the problems.
    yield* all
    return
  }
  if (rows.length < drawn.length) {
    throw new GdnError(
      'edited_rows',
      `the manifest has ${rows.length} rows, but its shuffled drop has ${drawn.length}`,
      {
        hint: 'Nothing was sent. Restore the removed rows, because the draw depends on the positions of all rows.',
      },
    )
  }
  for (const [at, row] of rows.entries()) {
    const { metadata, localFiles } = rows[(drawn[at] ?? at + 1) - 1] ?? row
    yield { row: { ...row, metadata, localFiles, identity: { metadata: row.metadata, localFiles: row.localFiles } } }
  }
}
