import type { NftRecord } from '../../api/nft-record.ts'
import { GdnError } from '../../core/errors.ts'
import { readSalt } from '../../manifest/reveal-keys.ts'
import { readPages } from '../../operations/reconcile/listing.ts'
import { addChanges, addContent, findRowsOfOtherNfts } from '../../state/plan-tables.ts'
import type { RowLocation } from '../../state/rows.ts'
import { createTables } from '../../state/temporary-tables.ts'
import { refuseExchanged } from '../identity/exchanged.ts'
import { rowMetadataChanges } from '../rows/field-changes.ts'
import type { AdoptedRow } from '../rows/manifest-row.ts'
import { MAX_LISTED_ROWS } from '../rows/max-listed-rows.ts'
import { formatKey } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions, FieldChange } from '../types.ts'
import { hashContents, isOwnedBy } from './lookup.ts'

/**
 * Refuses rows whose IDs belong to NFTs with different metadata or owners. Ignores the URLs of local files, and the
 * metadata of NFTs that were revealed after the mint. `adopt` permits edited rows, but not rows that exchange their
 * contents or the values of a column.
 *
 * @param named number of rows whose IDs belong to NFTs
 * @returns the permitted rows with different content, and notes about rows that may have exchanged values
 * @throws GdnError `seems_minted`, `edited_rows`
 */
export async function refuseOtherContents(
  run: StoredRun,
  client: BatchClient,
  options: BatchOptions,
  { rows, doubtful, rowsWithNfts }: { rows: RowLocation; doubtful: readonly AdoptedRow[]; rowsWithNfts: number },
): Promise<{ differing: AdoptedRow[]; notes: string[] }> {
  const { adopt = false, allowExchanged = false } = options
  const differing = await findDifferingRows(run, client, options, doubtful)
  if (differing.length === 0) return { differing, notes: [] }
  const exchanged = await run.state.scratch((sql) => findRowsOfOtherNfts(sql, rows))
  if (exchanged.length > 0 && !allowExchanged) throw exchangedContentsError(exchanged)
  if (adopt) {
    const judged = { rows, rowsWithNfts, isAllowed: allowExchanged }
    const { notes } = await run.state.scratch((sql) => refuseExchanged(sql, run.drop, judged))
    return { differing, notes }
  }
  const permitted = new Set(exchanged.map(({ position }) => position))
  const refused = differing.filter(({ row }) => !permitted.has(row.position))
  if (refused.length > 0) throw otherNftsError(refused)
  return { differing, notes: [] }
}

/** Returns the rows whose content differs from their NFTs, and fills temporary tables with the differences. */
async function findDifferingRows(
  { state, drop }: StoredRun,
  client: BatchClient,
  { signal, committedRow }: BatchOptions,
  doubtful: readonly AdoptedRow[],
): Promise<AdoptedRow[]> {
  await state.scratch((sql) => createTables(sql, 'changes', 'drifted', 'contents'))
  const byNft = new Map(doubtful.map((adopted) => [adopted.nftGdnId, adopted]))
  const matching = new Set<AdoptedRow>()
  for await (const { nfts } of readPages({ client, signal }, [...byNft.keys()])) {
    await state.scratch((sql) => {
      for (const nft of nfts) {
        const adopted = byNft.get(nft.nft_gdn_id)
        if (adopted === undefined) continue
        const { position } = adopted.row
        const { request_metadata: metadata } = nft
        const isRevealed = readSalt(metadata) !== undefined && committedRow?.(metadata) === position + 1
        if (isRevealed && isOwnedBy(adopted.row, nft)) {
          matching.add(adopted)
          continue
        }
        const contents = hashContents(adopted.row.row, nft, drop.marker ?? undefined)
        if (contents === null) continue
        const isSame = contents.row === contents.nft
        if (isSame && isOwnedBy(adopted.row, nft)) matching.add(adopted)
        else addChanges(sql, position, [{ action: 'update', fields: compareWithNft(adopted, nft, drop.marker) }])
        if (!isSame) addContent(sql, position, { was: contents.nft, now: contents.row })
      }
    })
  }
  return doubtful.filter((adopted) => !matching.has(adopted))
}

function compareWithNft({ row: storedRow }: AdoptedRow, nft: NftRecord, marker: string | null): FieldChange[] {
  const { row } = storedRow
  const localFiles = row.localFiles.map(({ key }) => ({ key, url: null }))
  const fields = rowMetadataChanges({ ...row, localFiles }, nft, marker)
  if (isOwnedBy(storedRow, nft)) return fields
  return [
    ...fields,
    { field: 'receiver', from: nft.minted_to ?? nft.receiver_wallet_address ?? null, to: row.receiver },
  ]
}

function otherNftsError(adopted: readonly AdoptedRow[]): GdnError {
  const many = adopted.length === 1 ? '1 row has the ID of an NFT' : `${adopted.length} rows have the IDs of NFTs`
  return new GdnError('seems_minted', `${many} in this collection, but different content`, {
    hint: [
      'Nothing was sent. NFTs may have been minted from another manifest with this file name, or the rows were edited after their mint.',
      'To mint the rows as a separate run, add --run <name>.',
      'To use these NFTs for the rows, add --adopt.',
    ].join('\n'),
    details: {
      rows: adopted.slice(0, MAX_LISTED_ROWS).map(({ row: { key, row }, nftGdnId }) => {
        return { key: formatKey(key), line: row.line, nft_gdn_id: nftGdnId }
      }),
      count: adopted.length,
    },
  })
}

type ExchangedContent = ReturnType<typeof findRowsOfOtherNfts>[number]

/**
 * Returns the error for rows whose IDs seem to have been exchanged, because each row has the content of another ID's
 * NFT.
 */
export function exchangedContentsError(rows: readonly ExchangedContent[]): GdnError {
  const [{ key = '', was = '' } = {}] = rows
  const many =
    rows.length === 1 ? '1 row has the content of the NFT' : `${rows.length} rows have the content of the NFTs`
  return new GdnError('seems_minted', `${many} of ${rows.length === 1 ? 'another row' : 'other rows'}`, {
    hint: [
      `Nothing was sent. Row ${formatKey(key)} has the content of the NFT of row ${formatKey(was)}.`,
      'If IDs were changed, or columns were sorted without the id column, restore the IDs or the columns.',
      'To exchange the contents of rows intentionally, or to undo an exchange, add --allow-exchanged.',
    ].join('\n'),
    details: {
      rows: rows.slice(0, MAX_LISTED_ROWS).map(({ key, line }) => ({ key: formatKey(key), line })),
      count: rows.length,
    },
  })
}
