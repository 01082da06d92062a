import { GdnError } from '../../core/errors.ts'
import type { rowsOfOtherNfts } from '../../state/plan-tables.ts'
import { shownKey } from '../rows/row-key.ts'
import { MAX_NAMED } from './claim.ts'

type ExchangedContent = ReturnType<typeof rowsOfOtherNfts>[number]

/**
 * Returns the error for rows whose IDs seem to have been exchanged: each row has the content of an NFT that belongs to
 * another ID.
 */
export function exchangedContents(rows: readonly ExchangedContent[]): GdnError {
  const [{ key = '', was = '' } = {}] = rows
  const many =
    rows.length === 1 ? '1 row has the content of the NFT' : `${rows.length} rows have the content of the NFTs`
  return new GdnError('seems_minted', `${many} of ${rows.length === 1 ? 'another row' : 'other rows'}`, {
    hint: [
      `Nothing was sent. Row ${shownKey(key)} has the content of the NFT of row ${shownKey(was)}.`,
      'If IDs were changed, or columns were sorted without the id column, restore them.',
      'To exchange the contents of rows on purpose, or to undo an exchange, add --allow-exchanged.',
    ].join('\n'),
    details: {
      rows: rows.slice(0, MAX_NAMED).map(({ key, line }) => ({ key: shownKey(key), line })),
      count: rows.length,
    },
  })
}
