import type { NftRecord } from '../api/nft-record.ts'
import { hashContents, hashRowContent } from '../batch/minted/lookup.ts'
import { exchangedContentsError } from '../batch/minted/other-contents.ts'
import { identifiesNft } from '../batch/rows/field-changes.ts'
import { parseStoredRow } from '../batch/rows/manifest-row.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import { addContent, findRowsOfOtherNfts, markCommonContent } from '../state/plan-tables.ts'
import { readRowPage, readRowPages } from '../state/rows.ts'
import type { NftChange } from './compare.ts'
import type { Candidate } from './find-nfts.ts'

/**
 * Records the content of each row that this machine hasn't minted and whose ID belongs to an NFT with different
 * content.
 */
export async function addOtherContents(
  { state, drop }: StoredRun,
  candidates: readonly Candidate[],
  nftOf: (candidate: Candidate) => NftRecord | undefined,
  changed: ReadonlyMap<number, readonly NftChange[]>,
): Promise<void> {
  const contents = candidates.flatMap((candidate) => {
    const { sent, row } = candidate
    const nft = nftOf(candidate)
    if (sent !== null || row.row.id === null || nft === undefined) return []
    if (changed.get(row.position)?.some(isOfOtherNft) !== true) return []
    const both = hashContents(row.row, nft, drop.marker ?? undefined)
    return both === null || both.row === both.nft ? [] : [{ position: row.position, was: both.nft, now: both.row }]
  })
  await state.scratch((sql) => {
    for (const { position, ...content } of contents) addContent(sql, position, content)
  })
}

const isOfOtherNft = ({ want, fields }: NftChange): boolean =>
  want === 'update' && fields.some(({ field }) => identifiesNft(field))

/**
 * Refuses rows whose IDs seem to have been swapped. Permits content that another row has and keeps, such as a ticket
 * type.
 *
 * @throws GdnError `seems_minted`
 */
export async function refuseExchangedContents({ state }: StoredRun): Promise<void> {
  const find = () => state.scratch((sql) => findRowsOfOtherNfts(sql, 'draft'))
  if ((await find()).length === 0) return
  for await (const page of readRowPages(state, (sql, after, limit) => readRowPage(sql, 'draft', after, limit))) {
    await state.scratch((sql) => {
      for (const record of page) markCommonContent(sql, record.position, hashRowContent(parseStoredRow(record).row))
    })
  }
  const exchanged = await find()
  if (exchanged.length > 0) throw exchangedContentsError(exchanged)
}
