import type { Blockchain } from '../api/blockchains.ts'
import { createnft } from '../api/endpoints/createnft.ts'
import { createnfttrans } from '../api/endpoints/createnfttrans.ts'
import { formatIssue, validate } from '../api/validate.ts'
import { GdnError } from '../core/errors.ts'
import type { ManifestRow } from '../manifest/row.ts'
import type { RunRecord } from './journal/records.ts'
import type { Ledger } from './ledger.ts'
import { type MarkerOf, markerOf } from './marker.ts'
import type { Piece } from './pieces.ts'
import type { Plan } from './plan.ts'
import type { SpooledRow, SpoolReader } from './spool.ts'
import type { MintEndpoint } from './types.ts'

/** The URL that each local file got, by its path. */
export type FileUrls = (path: string) => string

/** A row's metadata as it is sent: local files have become URLs, the order of file fields stays. */
export function requestMetadata(row: ManifestRow, urlOf: FileUrls): ManifestRow['metadata'] {
  if (row.localFiles.length === 0) return row.metadata
  const paths = new Map(row.localFiles.map(({ key, path }) => [key, path]))
  const file_fields = row.metadata.file_fields.map((field) => {
    const path = paths.get(field.key)
    return path === undefined ? field : { key: field.key, url: urlOf(path) }
  })
  return { ...row.metadata, file_fields }
}

/** A row's metadata with the text that tells it from all others, where the run has them. */
export const withMarker = (metadata: ManifestRow['metadata'], marker: ReturnType<MarkerOf> | undefined) =>
  marker ? { ...metadata, [marker.key]: marker.value } : metadata

/**
 * The request for rows of one receiver and sender, checked by the contract.
 *
 * @throws GdnError `invalid_manifest`: only where a URL that an upload gave isn't one
 */
export function buildRequest(
  collection: { contractAddress: string; blockchain: Blockchain },
  rows: readonly ManifestRow[],
  urlOf: FileUrls,
  markers: readonly (ReturnType<MarkerOf> | undefined)[] = [],
): { endpoint: MintEndpoint; body: Record<string, unknown> } {
  const [first] = rows
  if (first === undefined) throw new Error('a request without rows')
  const endpoint = first.sender === null ? createnft : createnfttrans
  const body = {
    contract_address: collection.contractAddress,
    blockchain: collection.blockchain,
    ...(first.sender === null ? {} : { sender_wallet_address: first.sender }),
    receiver_wallet_address: first.receiver,
    metadata: rows.map((row, index) => withMarker(requestMetadata(row, urlOf), markers[index])),
  }
  const checked = validate(endpoint.request, body)
  if (!checked.ok) {
    const [issue] = checked.issues
    const index = issue?.path[0] === 'metadata' ? Number(issue.path[1] ?? 0) : 0
    throw new GdnError('invalid_manifest', issue === undefined ? 'invalid request' : formatIssue(issue), {
      place: { file: 'manifest', line: rows[index]?.line ?? first.line },
      hint: 'nothing of this request was sent',
      details: checked.issues,
    })
  }
  return { endpoint: endpoint.name, body }
}

interface Source {
  run: RunRecord
  ledger: Ledger
  plan: Plan
  spool: SpoolReader
  urlOf: FileUrls
}

/** Builds the requests of a plan, a piece at a time, from the rows that were kept. */
export function requestsOf({ run, ledger, plan, spool, urlOf }: Source) {
  const markers = markerOf(run)
  const collection = { contractAddress: run.contract, blockchain: run.blockchain }
  return async ({
    request,
    from,
    size,
  }: Piece): Promise<ReturnType<typeof buildRequest> & { rows: readonly SpooledRow[] }> => {
    const planned = plan.rowsOf(request).slice(from, from + size)
    const rows = await spool.readAll(planned, (key) => ledger.rows.find(key))
    const manifestRows = rows.map(({ row }) => row)
    const built = buildRequest(
      collection,
      manifestRows,
      urlOf,
      rows.map(({ key }) => markers(key)),
    )
    return { ...built, rows }
  }
}
