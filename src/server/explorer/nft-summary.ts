import { setImmediate as nextTurn } from 'node:timers/promises'
import { ZERO_ADDRESS } from '../../api/address.ts'
import type { SummaryRow } from '../store/explorer-nfts.ts'
import { metadataAt } from '../store/explorer-nfts.ts'
import { type ExplorerDeps, type ListedMetadata, parseMetadata, shortenForList, toFileFields } from './explorer.ts'
import { findCover } from './media.ts'
import type { NftSummary } from './types.ts'

/** Returns summaries of NFTs, in the given order. */
export async function summariesOf(explorer: ExplorerDeps, rows: readonly SummaryRow[]): Promise<NftSummary[]> {
  const summaries: Promise<NftSummary>[] = []
  // Process rows one after the other, because the metadata of each may be a megabyte long.
  for (const row of rows) {
    const { title, fields } = row.metadata === null ? await readLong(explorer, row) : parseMetadata(row.metadata)
    const files = toFileFields({ fields }, row.files)
    summaries.push(summaryOf(explorer, row, title, files))
  }
  return await Promise.all(summaries)
}

/** Returns the summary of long metadata. Yields first and caches the result, because parsing takes time. */
async function readLong(
  { db, longSummaries }: ExplorerDeps,
  { id, update_id, seq }: SummaryRow,
): Promise<ListedMetadata> {
  const key = `${id} ${update_id}`
  const cached = longSummaries.get(key)
  if (cached !== undefined) return cached
  await nextTurn()
  const { title, fields } = parseMetadata(await metadataAt(db, seq))
  const summary = {
    title: shortenForList(title),
    fields: fields.map(({ key, url }) => ({ key, url: shortenForList(url) })),
  }
  longSummaries.set(key, summary)
  return summary
}

async function summaryOf(
  { media }: ExplorerDeps,
  row: SummaryRow,
  title: string,
  files: ReturnType<typeof toFileFields>,
): Promise<NftSummary> {
  const image = await findCover(media, files)
  return {
    nft_gdn_id: row.id,
    token_id: row.token_id,
    title: shortenForList(title),
    status: row.status,
    error: row.error === null ? null : shortenForList(row.error),
    owner: row.owner ?? row.receiver,
    burned: row.owner === ZERO_ADDRESS,
    image:
      image === null ? null : { ...image, field: shortenForList(image.field), source: shortenForList(image.source) },
  }
}
