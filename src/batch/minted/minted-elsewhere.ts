import { hasFailed } from '../../api/nft-status.ts'
import { readPages } from '../../operations/reconcile/listing.ts'
import { givenNfts } from '../../state/known-nfts.ts'
import { plannedPages, rowsAt } from '../../state/rows.ts'
import type { Gathered } from '../gather.ts'
import { ServerNames } from '../identity/server-names.ts'
import { type Adopted, keptRow } from '../rows/manifest-row.ts'
import { referenceOf } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'

/**
 * Returns the planned and failed rows of an unrevealed drop that another machine has minted, by their reference IDs.
 * Omits NFTs of other drops, which may have the same reference IDs, and NFTs that this machine has recorded.
 */
export async function mintedElsewhere(
  store: StoredRun,
  options: BatchOptions,
  client: BatchClient,
  { rows, foundBy }: Pick<Gathered, 'rows' | 'foundBy'>,
): Promise<Adopted[]> {
  const { committedRow, signal } = options
  if (committedRow === undefined) return []
  if (client.supports('references') === null) await client.learnIdempotency({ signal })
  if (client.supports('references') !== true) return []
  const names = new ServerNames(client, options)
  const adopted: Adopted[] = []
  for await (const page of plannedPages(store.state, rows, store.drop, foundBy)) {
    const open = page.rows.filter(({ state }) => state === null || state === 'planned' || state === 'failed')
    const positions = open.map(({ position }) => position)
    const records = await store.read((sql) => rowsAt(sql, rows, positions))
    const byReference = new Map(records.map((record) => [referenceOf(store.drop, record), record]))
    const found = await names.nftsOf([...byReference.keys()])
    const known = await store.read((sql) => givenNfts(sql, [...found.values()]))
    const wanted = new Map([...found].flatMap(([reference, id]) => (known.has(id) ? [] : [[id, reference]])))
    for await (const { nfts } of readPages({ client, signal }, [...wanted.keys()])) {
      for (const { nft_gdn_id: nftGdnId, status, request_metadata } of nfts) {
        const record = byReference.get(wanted.get(nftGdnId) ?? '')
        if (record === undefined || hasFailed(status) || committedRow(request_metadata) === null) continue
        adopted.push({ row: keptRow(record), nftGdnId })
      }
    }
  }
  return adopted
}
