import { idOfNft } from '../../state/draft-rows.ts'
import type { Drop } from '../../state/drops.ts'
import type { StateReader } from '../../state/open-state.ts'
import type { KeptRow } from './manifest-row.ts'
import { referenceId, rowKey } from './row-key.ts'

/** IDs are padded to at most this many digits. */
const MAX_DIGITS = 6

/** The ID that the NFT of a row without an ID got. */
export interface GivenId {
  /** Null if gdn doesn't know it. */
  id: string | null
  /** Whether another machine has added it. */
  isElsewhere: boolean
}

/**
 * Returns the ID that the NFT of a row without an ID got: in the state, or as `givenId`.
 *
 * @param alias as `givenId`
 */
export async function findGivenId(
  { state, drop }: { state: StateReader; drop: Drop },
  alias: string,
  row: KeptRow,
  { nftGdnId, tokenId = null }: { nftGdnId: string; tokenId?: string | null | undefined },
): Promise<GivenId> {
  const known = await state.read((sql) => idOfNft(sql, drop, nftGdnId))
  return { id: known ?? givenId(drop.referenceScope, alias, row, tokenId), isElsewhere: known === null }
}

/**
 * Returns the ID that a row without an ID got on another machine. The server stores only the hash of the ID, so the IDs
 * are compared that people usually give: the number of the row or of its token, and its texts. Null for any other ID.
 *
 * @param alias the reference ID that the server has for the row with its ID
 */
function givenId(
  scope: string,
  alias: string,
  { row: { metadata, line }, position }: Pick<KeptRow, 'row' | 'position'>,
  tokenId: string | null,
): string | null {
  const numbers = [position + 1, position, line, ...(tokenId === null ? [] : [tokenId])].map(String)
  const padded = Array.from({ length: MAX_DIGITS }, (_, n) => numbers.map((text) => text.padStart(n + 1, '0')))
  const texts = [metadata.title, metadata.description, ...(metadata.attribute ?? []).map(({ value }) => value)]
  return [...padded.flat(), ...texts].find((id) => referenceId(scope, rowKey(id, '')) === alias) ?? null
}

/** Says where the rows are with the IDs that they got. @param run null where another machine has added them */
export const rowsWithIds = (run: string | null): string =>
  run === null
    ? 'To get the rows with their IDs, run `gdn batch results <run> -o csv --for-spreadsheet` on the machine that added the IDs'
    : `To get the rows with their IDs, run \`gdn batch results ${run} -o csv --for-spreadsheet\``
