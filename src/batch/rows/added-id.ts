import { findRowId } from '../../state/draft-rows.ts'
import type { Drop } from '../../state/drops.ts'
import type { StateReader } from '../../state/open-state.ts'
import type { StoredRow } from './manifest-row.ts'
import { rowKey, rowReferenceId } from './row-key.ts'

/** Maximum number of digits to which a number is padded. */
const MAX_DIGITS = 6

/** The ID that a row got after its NFT was minted without one. */
export interface AddedId {
  /** The ID, or null if it isn't known. */
  id: string | null
  /** Whether another machine added the ID. */
  isFromOtherMachine: boolean
}

/**
 * Returns the ID that was added to a row after the mint. If another machine added the ID, calls `guessAddedId` to guess
 * it.
 *
 * @param alias see `guessAddedId`
 */
export async function findAddedId(
  { state, drop }: { state: StateReader; drop: Drop },
  alias: string,
  row: StoredRow,
  { nftGdnId, tokenId = null }: { nftGdnId: string; tokenId?: string | null | undefined },
): Promise<AddedId> {
  const knownId = await state.read((sql) => findRowId(sql, drop, nftGdnId))
  return { id: knownId ?? guessAddedId(drop.referenceScope, alias, row, tokenId), isFromOtherMachine: knownId === null }
}

/**
 * Returns the ID that another machine added to a row, or null if it can't be guessed. The server stores only the hash
 * of the ID. Therefore, this function tries common choices: the number of the row or of its token, and the row's texts.
 *
 * @param alias the reference ID that the server stores for the row with its ID
 */
function guessAddedId(
  scope: string,
  alias: string,
  { row: { metadata, line }, position }: Pick<StoredRow, 'row' | 'position'>,
  tokenId: string | null,
): string | null {
  const numbers = [position + 1, position, line, ...(tokenId === null ? [] : [tokenId])].map(String)
  const padded = Array.from({ length: MAX_DIGITS }, (_, n) => numbers.map((text) => text.padStart(n + 1, '0')))
  const texts = [metadata.title, metadata.description, ...(metadata.attribute ?? []).map(({ value }) => value)]
  return [...padded.flat(), ...texts].find((id) => rowReferenceId(scope, rowKey(id, '')) === alias) ?? null
}

/**
 * Returns the hint on where to get the rows with their IDs.
 *
 * @param run null if another machine added the IDs
 */
export const formatIdsHint = (run: string | null): string =>
  run === null
    ? 'To get the rows with their IDs, run `gdn batch results <run> -o csv --for-spreadsheet` on the machine that added the IDs'
    : `To get the rows with their IDs, run \`gdn batch results ${run} -o csv --for-spreadsheet\``
