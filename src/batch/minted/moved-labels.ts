import { pageOf, pagesOf } from '../../state/rows.ts'
import type { Gathered } from '../gather.ts'
import { type OtherLabel, otherLabelOf } from '../identity/other-labels.ts'
import { ServerNames } from '../identity/server-names.ts'
import { referenceId, shownKey } from '../rows/row-key.ts'
import type { RunStore } from '../runs/run-store.ts'
import type { BatchClient, BatchOptions } from '../types.ts'

const PAGE = 1_000

/** Returns the reference IDs of a run whose label is that of the earlier path of its manifest. */
export async function labelsOfMoved(
  store: RunStore,
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
    const asked = page.flatMap(({ key, line, reference }) =>
      (['createnft', 'createnfttrans'] as const).map((operation) => ({
        key: shownKey(key),
        line,
        operation,
        reference: referenceId(store.drop.referenceScope, reference ?? key),
      })),
    )
    for (const [one, record] of await names.lookUp(asked)) {
      const other = otherLabelOf(record, label)
      if (other !== null) labels.push({ ...one, nftGdnId: record.nft_gdn_id ?? '', label: other })
    }
  }
  return labels
}
