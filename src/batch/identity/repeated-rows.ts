import { GdnError } from '../../core/errors.ts'
import { fillCheckedRows, type RepeatedRow, repeatedRows } from '../../state/claims.ts'
import { addedRows, type RowLocation } from '../../state/rows.ts'
import { MAX_LISTED_ROWS } from '../rows/max-listed-rows.ts'
import { formatKey, isContentKey } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { createUploadCheck, filesOf, rowsAsSent } from './claim.ts'
import { ReferenceLookup } from './server-names.ts'

const MAX_LINES = 10

interface CheckedRows {
  rows: RowLocation
  /** Positions of the rows that would be sent. */
  pending: Iterable<number>
  /** The operations of rows that were minted under another key, with their current keys. */
  paired: ReadonlyMap<string, string>
  /** Operations whose NFTs no row of the manifest can repeat, for example because they were burned. */
  ended?: ReadonlySet<string>
  /** Whether the NFTs of edited rows will get the new content. */
  updatesEdited: boolean
}

/**
 * Throws if a new row has the content of an NFT of this run whose own row was removed or edited. Its ID was probably
 * lost or changed, for example because a row was inserted and the IDs were renumbered. With `newRows`, only rows
 * without an ID are refused, because a new ID shows that the user wants another NFT. Rows that were stored with the run
 * have passed this check.
 *
 * @param client null to query no server
 * @throws GdnError `edited_rows`
 */
export async function refuseRepeated(
  run: StoredRun,
  options: BatchOptions,
  client: BatchClient | null,
  { rows, pending, paired, ended: endedOperations = new Set(), updatesEdited }: CheckedRows,
): Promise<void> {
  const { drop } = run
  if (drop.setId === null || options.reconcileOnly === true) return
  const repeated = await run.read((sql) => {
    const sent = new Set(pending)
    const added = addedRows(sql, rows, drop).flatMap(({ position }) => (sent.has(position) ? position : []))
    if (added.length === 0) return []
    const hasNames = fillCheckedRows(sql, rows, added)
    const which = { kept: rowsAsSent(sql, drop), paired, ended: endedOperations, updatesEdited, hasNames }
    const isMinted = createUploadCheck(sql, drop)
    return repeatedRows(sql, drop, rows, which).filter(
      ({ key, body }) =>
        (options.newRows !== true || isContentKey(key)) && filesOf(body).every(({ path }) => isMinted(path)),
    )
  })
  if (repeated.length === 0) return
  const nfts = repeated.flatMap(({ nft }) => nft ?? [])
  const ended = client === null ? new Set() : await new ReferenceLookup(client, options).findEndedNfts(nfts)
  const existing = new Map(repeated.flatMap((row) => (ended.has(row.nft) ? [] : [[row.key, row] as const])))
  if (existing.size > 0) throw repeatedRowsError(drop.name, [...existing.values()])
}

export function repeatedRowsError(run: string, repeated: readonly RepeatedRow[]): GdnError {
  const rows = repeated.toSorted((a, b) => a.line - b.line)
  const listed = rows.slice(0, MAX_LINES).map(({ line, mintedKey }) => {
    const owner = isContentKey(mintedKey) ? 'a row without an ID' : `row ${formatKey(mintedKey)}`
    return `\n  line ${line}: the NFT of ${owner}`
  })
  const unlisted = rows.length - listed.length
  const [subject, belongs] =
    rows.length === 1
      ? [
          '1 new row has the content of an NFT whose row was edited or removed',
          'the row belongs to this NFT, restore its ID',
        ]
      : [
          `${rows.length} new rows have the content of NFTs whose rows were edited or removed`,
          'the rows belong to these NFTs, restore their IDs',
        ]
  const takesNewRows = rows.every(({ key }) => !isContentKey(key))
  return new GdnError(
    'edited_rows',
    [`${subject}: ${run}`, ...listed, ...(unlisted > 0 ? [`\n  and ${unlisted} more`] : [])].join(''),
    {
      hint: [
        `Nothing was sent. If ${belongs}.`,
        takesNewRows
          ? 'To mint another NFT with the same content, add --new-rows.'
          : 'To mint another NFT with the same content, give the row a new ID, and add --new-rows.',
      ].join('\n'),
      details: {
        run,
        count: rows.length,
        repeated_rows: rows.slice(0, MAX_LISTED_ROWS).map(({ key, line, mintedKey, nft }) => {
          return { key: formatKey(key), line, minted_as: formatKey(mintedKey), nft_gdn_id: nft }
        }),
      },
    },
  )
}
