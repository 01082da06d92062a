import { drawnRows } from '../../reveal/shuffle/drawn-rows.ts'
import type { Connection, Deps } from '../deps.ts'
import { shownRows } from './find-draw.ts'
import type { Revealing } from './seal-drop.ts'

/**
 * Returns the signature with which NFTs of a shuffled drop are revealed; null if none is revealed. It counts only in
 * the metadata of an NFT that has the salt of the row which it draws, because the owner could write any signature.
 */
export async function revealedSignature(
  deps: Deps,
  connection: Connection,
  { opened: { options, read }, rows: { commitment } }: Revealing,
): Promise<string | null> {
  const { provenance, rows: slots } = commitment
  const { rows } = await shownRows(deps, connection, { options, read })
  const draws = new Map<string, Uint32Array>()
  for (const { position, salt, signature } of rows) {
    const drawn = draws.get(signature) ?? drawnRows({ provenance, slots, signature }).rows
    draws.set(signature, drawn)
    const row = drawn[position]
    if (row !== undefined && commitment.saltOf(row).toString('hex') === salt) return signature
  }
  return null
}
