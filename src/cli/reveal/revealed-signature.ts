import { findDrawnRows } from '../../reveal/slots-shown.ts'
import type { Connection, Deps } from '../deps.ts'
import { readRevealedRows } from './find-draw.ts'
import type { RevealInput } from './seal-drop.ts'

/** Returns the signature with which NFTs of a shuffled drop were revealed; null if none is revealed. */
export async function revealedSignature(
  deps: Deps,
  connection: Connection,
  { opened: { options, read }, rows: { commitment } }: RevealInput,
): Promise<string | null> {
  const { provenance, rowCount: slots } = commitment
  const { rows } = await readRevealedRows(deps, connection, { options, read })
  return findDrawnRows(rows, { provenance, slots, saltOf: (row) => commitment.saltOf(row) })?.signature ?? null
}
