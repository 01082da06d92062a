import { PROVENANCE_SALT, PROVENANCE_SIGNATURE, readProof } from '../manifest/reveal-keys.ts'
import { computeLeaf, deriveSalt } from './leaves.ts'
import { type DrawnRows, drawnRows } from './shuffle/drawn-rows.ts'

/** A manifest row whose NFT is revealed, with the salt in the NFT's metadata. */
export interface RevealedRow {
  /** The position of the row in the manifest, from 0. */
  position: number
  line: number
  /** The salt in hex. */
  salt: string
}

/** Returns the signature and the salt in the metadata of a shuffled drop's NFT; null if there is no signature. */
export function readShuffleProof(metadata: unknown): { signature: string; salt: string | null } | null {
  const { [PROVENANCE_SALT]: salt, [PROVENANCE_SIGNATURE]: signature } = readProof(metadata) ?? {}
  if (typeof signature !== 'string' || !/^[0-9a-f]{96}$/.test(signature)) return null
  return { signature, salt: typeof salt === 'string' && /^[0-9a-f]{64}$/.test(salt) ? salt : null }
}

/** A row whose NFT was minted for a slot other than the row's position. */
export interface MisplacedRow {
  line: number
  /** The slot that the NFT was minted for, from 1. */
  slot: number
}

/**
 * The data for finding the row of a salt: the seed, or else the leaves and the content hashes of the manifest's rows.
 */
export type Salts = { seed: Buffer } | { leaves: readonly string[]; contents: readonly Buffer[] }

/** Maximum number of salts that are compared with the contents of all rows. */
const MAX_SEARCHED = 1_000

/**
 * Returns the rows of a shuffled drop that are no longer at their original positions. The positions determine the
 * content of each NFT. The salt of a revealed NFT belongs to the row that was drawn for its slot, so the salt
 * identifies the slot.
 */
export function findMisplacedRows(
  drawn: Pick<DrawnRows, 'rows'>,
  salts: Salts,
  shownRows: readonly RevealedRow[],
): MisplacedRow[] {
  const slotOf = new Map(Array.from(drawn.rows, (row, at) => [row, at + 1]))
  const rowOf = 'seed' in salts ? createRowLookupBySeed(salts.seed, drawn.rows.length) : createRowLookupByLeaves(salts)
  return shownRows.flatMap(({ position, line, salt }) => {
    const expected = drawn.rows[position]
    if (expected === undefined) return []
    const row = rowOf(salt, expected)
    return row === null || row === expected ? [] : [{ line, slot: slotOf.get(row) ?? 0 }]
  })
}

/** Returns a function that returns the slot of a revealed NFT, or null for other NFTs. */
export function createSlotLookup(
  { rows }: Pick<DrawnRows, 'rows'>,
  salts: Salts,
): (metadata: unknown) => number | null {
  const slotOf = new Map(Array.from(rows, (row, at) => [row, at + 1]))
  const rowOf = 'seed' in salts ? createRowLookupBySeed(salts.seed, rows.length) : createRowLookupByLeaves(salts)
  return (metadata) => {
    const salt = readShuffleProof(metadata)?.salt
    return salt == null ? null : (slotOf.get(rowOf(salt) ?? 0) ?? null)
  }
}

function createRowLookupBySeed(seed: Buffer, rows: number) {
  const slotOfSalt = new Map(
    Array.from({ length: rows }, (_, at) => [deriveSalt(seed, at + 1).toString('hex'), at + 1]),
  )
  return (salt: string): number | null => slotOfSalt.get(salt) ?? null
}

function createRowLookupByLeaves({ leaves, contents }: Exclude<Salts, { seed: Buffer }>) {
  const rowAt = new Map(leaves.map((leaf, at) => [leaf, at + 1]))
  let searched = 0
  return (salt: string, expected = 0): number | null => {
    const bytes = Buffer.from(salt, 'hex')
    const rowWithContent = (content: Buffer | undefined) =>
      content === undefined ? null : (rowAt.get(computeLeaf(bytes, content)) ?? null)
    // Try the expected row first, because even in an edited manifest, most rows are still at their positions.
    const usual = rowWithContent(contents[expected - 1])
    if (usual !== null || searched++ >= MAX_SEARCHED) return usual
    for (const content of contents) {
      const row = rowWithContent(content)
      if (row !== null) return row
    }
    return null
  }
}

/** Returns whether a salt in an NFT's metadata belongs to the drop with these leaves and content hashes. */
export function isSaltOfAnyLeaf(leaves: readonly string[], contents: readonly Buffer[], salt: string): boolean {
  const all = new Set(leaves)
  const bytes = Buffer.from(salt, 'hex')
  return contents.some((content) => all.has(computeLeaf(bytes, content)))
}

/** The slot of a revealed NFT, and the proof in the NFT's metadata. */
interface RevealedSlot {
  /** The position of the slot, from 0. */
  position: number
  signature: string
  salt: string | null
}

/** A shuffled drop whose salts are known. */
interface DropWithSalts {
  provenance: string
  slots: number
  /** Returns the salt of a row. Rows are numbered from 1. */
  saltOf(row: number): Buffer
}

/**
 * Returns the rows that are drawn by a signature in the metadata of a revealed NFT; null if no signature is valid. The
 * owner could write any signature. Therefore, a signature counts only if the NFT also has the salt of the row that the
 * signature draws for the NFT.
 */
export function findDrawnRows(
  shownSlots: readonly RevealedSlot[],
  { provenance, slots, saltOf }: DropWithSalts,
): DrawnRows | null {
  const draws = new Map<string, DrawnRows>()
  for (const { position, salt, signature } of shownSlots) {
    const drawn = draws.get(signature) ?? drawnRows({ provenance, slots, signature })
    draws.set(signature, drawn)
    const row = drawn.rows[position]
    if (row !== undefined && saltOf(row).toString('hex') === salt) return drawn
  }
  return null
}
