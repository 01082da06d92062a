import { PROVENANCE_SALT, PROVENANCE_SIGNATURE, proofIn } from '../manifest/reveal-keys.ts'
import { leafOf, saltOf } from './leaves.ts'
import { type DrawnRows, drawnRows } from './shuffle/drawn-rows.ts'

/** The NFT of a row of a manifest, and the salt in its metadata. */
export interface ShownRow {
  /** The position of the row in the manifest, from 0. */
  position: number
  line: number
  /** In hex. */
  salt: string
}

/** Returns the signature and the salt in the metadata of an NFT of a shuffled drop; null if it has no signature. */
export function shownProof(metadata: unknown): { signature: string; salt: string | null } | null {
  const { [PROVENANCE_SALT]: salt, [PROVENANCE_SIGNATURE]: signature } = proofIn(metadata) ?? {}
  if (typeof signature !== 'string' || !/^[0-9a-f]{96}$/.test(signature)) return null
  return { signature, salt: typeof salt === 'string' && /^[0-9a-f]{64}$/.test(salt) ? salt : null }
}

/** A row whose NFT has another slot than the row's position. */
export interface MovedRow {
  line: number
  /** The number of the row that the NFT was minted as. */
  slot: number
}

/** Determines which row has a salt: the seed, or else the leaves with the content hashes of the manifest's rows. */
export type Salts = { seed: Buffer } | { leaves: readonly string[]; contents: readonly Buffer[] }

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

/** Returns a function that returns the slot of a revealed NFT, or null for other NFTs. */
export function slotsBySalt({ rows }: Pick<DrawnRows, 'rows'>, salts: Salts): (metadata: unknown) => number | null {
  const slotOf = new Map(Array.from(rows, (row, at) => [row, at + 1]))
  const rowOf = 'seed' in salts ? bySeed(salts.seed, rows.length) : byLeaves(salts)
  return (metadata) => {
    const salt = shownProof(metadata)?.salt
    return salt == null ? null : (slotOf.get(rowOf(salt) ?? 0) ?? null)
  }
}

function bySeed(seed: Buffer, rows: number) {
  const known = new Map(Array.from({ length: rows }, (_, at) => [saltOf(seed, at + 1).toString('hex'), at + 1]))
  return (salt: string): number | null => known.get(salt) ?? null
}

function byLeaves({ leaves, contents }: Exclude<Salts, { seed: Buffer }>) {
  const rowAt = new Map(leaves.map((leaf, at) => [leaf, at + 1]))
  let searched = 0
  return (salt: string, expected = 0): number | null => {
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

/** The revealed NFT of a slot, and the proof in its metadata. */
interface ShownSlot {
  /** The position of the slot, from 0. */
  position: number
  signature: string
  salt: string | null
}

/** A shuffled drop whose salts are known. */
interface KnownDrop {
  provenance: string
  slots: number
  /** Returns the salt of a row, from 1. */
  saltOf(row: number): Buffer
}

/**
 * Returns the rows that the signature of a revealed NFT draws; null if there is none. A signature counts only in the
 * metadata of an NFT that has the salt of the row which it draws, because the owner could write any signature.
 */
export function drawnBy(shown: readonly ShownSlot[], { provenance, slots, saltOf }: KnownDrop): DrawnRows | null {
  const draws = new Map<string, DrawnRows>()
  for (const { position, salt, signature } of shown) {
    const drawn = draws.get(signature) ?? drawnRows({ provenance, slots, signature })
    draws.set(signature, drawn)
    const row = drawn.rows[position]
    if (row !== undefined && saltOf(row).toString('hex') === salt) return drawn
  }
  return null
}
