import type { SummaryRow } from '../store/explorer-nfts.ts'
import { metadataAt } from '../store/explorer-nfts.ts'
import type { Explorer } from './explorer.ts'
import { coverOf } from './media.ts'
import { cut, fileFields, readMetadata } from './metadata.ts'
import type { NftSummary } from './types.ts'

/** NFTs as lists show them, in the order given. */
export async function summariesOf(explorer: Explorer, rows: readonly SummaryRow[]): Promise<NftSummary[]> {
  const summaries: Promise<NftSummary>[] = []
  // One after the other: metadata may be a megabyte each.
  for (const row of rows) {
    const { title, fields } = readMetadata(row.metadata ?? (await metadataAt(explorer.db, row.seq)))
    const files = fileFields({ fields }, row.files)
    summaries.push(summaryOf(explorer, row, title, files))
  }
  return await Promise.all(summaries)
}

async function summaryOf(
  { media }: Explorer,
  row: SummaryRow,
  title: string,
  files: ReturnType<typeof fileFields>,
): Promise<NftSummary> {
  const image = await coverOf(media, files)
  return {
    nft_gdn_id: row.id,
    token_id: row.token_id,
    title: cut(title),
    status: row.status,
    error: row.error === null ? null : cut(row.error),
    owner: row.owner ?? row.receiver,
    image: image === null ? null : { ...image, field: cut(image.field), source: cut(image.source) },
  }
}
