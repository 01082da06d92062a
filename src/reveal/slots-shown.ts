import { leafOf, saltOf } from './leaves.ts'
import type { DrawnRows } from './shuffle/drawn-rows.ts'

/** The NFT of a row of a manifest, and the salt in its metadata. */
export interface ShownRow {
  /** The position of the row in the manifest, from 0. */
  position: number
  line: number
  /** In hex. */
  salt: string
}

/** A row whose NFT has another slot than the row's position. */
export interface MovedRow {
  line: number
  /** The number of the row that the NFT was minted as. */
  slot: number
}

/** Determines which row has a salt: the seed, or else the leaves with the content hashes of the manifest's rows. */
type Salts = { seed: Buffer } | { leaves: readonly string[]; contents: readonly Buffer[] }

/** Number of rows without a known salt that are compared with all contents. */
const MAX_SEARCHED = 1_000

/**
 * Returns the rows of a shuffled drop that are no longer at their positions, which determine what each NFT shows. The
 * salt of a revealed NFT belongs to the row that was drawn for its slot, so it determines the slot.
 */
export function movedRows(drawn: Pick<DrawnRows, 'rows'>, salts: Salts, shown: readonly ShownRow[]): MovedRow[] {
  const slotOf = new Map(Array.from(drawn.rows, (row, at) => [row, at + 1]))
  const rowOf = 'seed' in salts ? bySeed(salts.seed, drawn.rows.length) : byLeaves(salts)
  return shown.flatMap(({ position, line, salt }) => {
    const expected = drawn.rows[position]
    if (expected === undefined) return []
    const row = rowOf(salt, expected)
    return row === null || row === expected ? [] : [{ line, slot: slotOf.get(row) ?? 0 }]
  })
}

function bySeed(seed: Buffer, rows: number) {
  const known = new Map(Array.from({ length: rows }, (_, at) => [saltOf(seed, at + 1).toString('hex'), at + 1]))
  return (salt: string): number | null => known.get(salt) ?? null
}

function byLeaves({ leaves, contents }: Exclude<Salts, { seed: Buffer }>) {
  const rowAt = new Map(leaves.map((leaf, at) => [leaf, at + 1]))
  let searched = 0
  return (salt: string, expected: number): number | null => {
    const bytes = Buffer.from(salt, 'hex')
    const rowOf = (content: Buffer | undefined) =>
      content === undefined ? null : (rowAt.get(leafOf(bytes, content)) ?? null)
    // In an edited manifest, most rows are still at their positions.
    const usual = rowOf(contents[expected - 1])
    if (usual !== null || searched++ >= MAX_SEARCHED) return usual
    for (const content of contents) {
      const row = rowOf(content)
      if (row !== null) return row
    }
    return null
  }
}

/** Returns whether a salt in the metadata of an NFT belongs to a drop with these leaves and contents. */
export function isSaltOf(leaves: readonly string[], contents: readonly Buffer[], salt: string): boolean {
  const all = new Set(leaves)
  const bytes = Buffer.from(salt, 'hex')
  return contents.some((content) => all.has(leafOf(bytes, content)))
}
