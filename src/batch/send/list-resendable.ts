import type { NftMetadata } from '../../api/metadata.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import { canDeduplicate, isRepeatable } from '../../operations/repeatable.ts'
import { readUploads } from '../../state/drops.ts'
import {
  listRequestsWithOutcome,
  type RowRequest,
  readRowRequest,
  readRowsOfRequest,
} from '../../state/row-requests.ts'
import type { RowKey } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient } from '../types.ts'

/**
 * Returns the requests that a repetition may resolve. Such a request has reference IDs or a key that the server
 * honored. The outcome of all its rows is unknown, and the backend wasn't restored after the request was sent.
 *
 * @param state the state of the rows. After an interruption, rows are `sent` until a process acquires the run
 */
export async function listResendable(run: StoredRun, state: 'unknown' | 'sent' = 'unknown'): Promise<RowRequest[]> {
  return await run.read((sql) =>
    listRequestsWithOutcome(sql, run.id, state === 'unknown' ? state : null)
      .filter(
        ({ id, n }) =>
          n > run.drop.restoredAfter &&
          readRowsOfRequest(sql, run.drop, id).every((row) => row.isCurrent && row.state === state),
      )
      .map(({ id }) => readRowRequest(sql, id))
      .filter(canDeduplicate),
  )
}

/** A row as it was sent. */
export interface ResentRow {
  key: RowKey
  row: Pick<ManifestRow, 'metadata' | 'localFiles'>
}

/**
 * Yields the rows of the requests that the run repeats because their outcome is unknown. The metadata comes from the
 * stored bytes of the requests, without markers.
 *
 * @param client null if it isn't known whether the server supports repetitions
 */
export async function* resentRows(
  run: StoredRun,
  client: BatchClient | null,
  signal: AbortSignal | undefined,
): AsyncGenerator<ResentRow> {
  const { drop } = run
  const requests = [...(await listResendable(run)), ...(await listResendable(run, 'sent'))]
  if (requests.length === 0) return
  const uploads = await run.read((sql) => readUploads(sql, drop.id))
  const hashOf = new Map([...uploads].map(([sha256, url]) => [url, sha256]))
  for (const request of requests) {
    if (client !== null && (await isRepeatable(client, request, { signal, refresh: false })) === false) continue
    const { metadata } = JSON.parse(request.body) as { metadata: NftMetadata[] }
    for (const { key, position } of await run.read((sql) => readRowsOfRequest(sql, drop, request.id))) {
      const sentMetadata = metadata[position]
      if (sentMetadata === undefined) continue
      const { [drop.marker ?? '']: _, ...unmarked } = sentMetadata
      const localFiles = sentMetadata.file_fields.flatMap(({ key: field, url }) => {
        const sha256 = hashOf.get(url)
        return sha256 === undefined ? [] : [{ key: field, path: url, sha256 }]
      })
      yield { key, row: { metadata: unmarked as NftMetadata, localFiles } }
    }
  }
}
