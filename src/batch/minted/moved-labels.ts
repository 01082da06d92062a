import { pageOf, pagesOf } from '../../state/rows.ts'
import type { Gathered } from '../gather.ts'
import { labeledRow, type OtherLabel } from '../identity/other-labels.ts'
import { OPERATIONS, ServerNames } from '../identity/server-names.ts'
import { referenceOf } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'

const PAGE = 1_000

/**
 * Returns the reference IDs of a run whose label on the server differs from the current one, because its manifest was
 * moved.
 */
export async function labelsOfMoved(
  store: StoredRun,
  options: BatchOptions,
  client: BatchClient,
  { rows }: Gathered,
): Promise<OtherLabel[]> {
  const { label = null, signal } = options
  if (client.supports('labels') === null) await client.learnIdempotency({ signal })
  if (label === null || client.supports('labels') !== true) return []
  const names = new ServerNames(client, options)
  const labels: OtherLabel[] = []
  for await (const page of pagesOf(store.state, (sql, after, limit) => pageOf(sql, rows, after, limit), PAGE)) {
    const asked = OPERATIONS.flatMap((operation) =>
      page.map((row) => ({ row, operation, reference: referenceOf(store.drop, row) })),
    )
    for (const [{ row, ...mint }, { nft_gdn_id, reference_label }] of await names.lookUp(asked)) {
      labels.push(...labeledRow(row, { ...mint, nftGdnId: nft_gdn_id ?? '', label: reference_label }, label))
    }
  }
  return labels
}
