import { createHash } from 'node:crypto'
import type { Blockchain } from '../../api/blockchains.ts'
import { creatednft } from '../../api/endpoints/creatednft.ts'
import { createnft } from '../../api/endpoints/createnft.ts'
import { createnfttrans } from '../../api/endpoints/createnfttrans.ts'
import type { MintEndpoint } from '../../api/mint-endpoints.ts'
import type { ReferenceKind } from '../../api/reference-id.ts'
import { addressKey } from '../../api/same-address.ts'
import { findTypedTrait } from '../../api/typed-trait.ts'
import { formatIssue, validate } from '../../api/validate.ts'
import { noTypedTraitsError } from '../../client/learn-support.ts'
import { GdnError } from '../../core/errors.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import { type RowLocation, readRowsAt } from '../../state/rows.ts'
import type { RequestPlan } from '../request-plan.ts'
import { parseStoredRow, type StoredRow } from '../rows/manifest-row.ts'
import { createMarkerFactory, type MarkerFactory } from '../rows/marker.ts'
import { isContentKey, toReferenceId } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions, PlannedMint, PlannedMints } from '../types.ts'
import { resentRows } from './list-resendable.ts'
import type { RequestPart } from './request-queue.ts'

/** Returns the URL of an uploaded file for the file's local path. */
export type FileUrlOf = (path: string) => string

/** Returns the metadata to send, with URLs instead of local files. The order of file fields stays the same. */
export function requestMetadata(row: ManifestRow, urlOf: FileUrlOf): ManifestRow['metadata'] {
  if (row.localFiles.length === 0) return row.metadata
  const paths = new Map(row.localFiles.map(({ key, path }) => [key, path]))
  const file_fields = row.metadata.file_fields.map((field) => {
    const path = paths.get(field.key)
    return path === undefined ? field : { key: field.key, url: urlOf(path) }
  })
  return { ...row.metadata, file_fields }
}

/** Returns metadata with the row's marker, if the run has markers. */
export const withMarker = (metadata: ManifestRow['metadata'], marker: ReturnType<MarkerFactory> | undefined) =>
  marker ? { ...metadata, [marker.key]: marker.value } : metadata

/**
 * Builds the request for rows with the same receiver and sender, and validates it against the contract.
 *
 * @throws GdnError `invalid_manifest`, only if an upload returned an invalid URL
 */
export function buildRequest(
  collection: { contractAddress: string; blockchain: Blockchain; dynamic?: boolean },
  rows: readonly ManifestRow[],
  urlOf: FileUrlOf,
  {
    markers = [],
    names = false,
  }: { markers?: readonly (ReturnType<MarkerFactory> | undefined)[]; names?: boolean } = {},
): { endpoint: MintEndpoint; body: Record<string, unknown> } {
  const [first] = rows
  if (first === undefined) throw new Error('a request without rows')
  const endpoint = first.sender !== null ? createnfttrans : collection.dynamic ? creatednft : createnft
  const body = {
    contract_address: collection.contractAddress,
    blockchain: collection.blockchain,
    ...(first.sender === null ? {} : { sender_wallet_address: first.sender }),
    receiver_wallet_address: first.receiver,
    ...(names && first.receiverName !== undefined ? { receiver_name: first.receiverName } : {}),
    metadata: rows.map((row, index) => withMarker(requestMetadata(row, urlOf), markers[index])),
  }
  const checked = validate(endpoint.request, body)
  if (!checked.ok) {
    const [issue] = checked.issues
    const index = issue?.path[0] === 'metadata' ? Number(issue.path[1] ?? 0) : 0
    throw new GdnError('invalid_manifest', issue === undefined ? 'invalid request' : formatIssue(issue), {
      place: { file: 'manifest', line: rows[index]?.line ?? first.line },
      hint: 'The request was not sent.',
      details: checked.issues,
    })
  }
  return { endpoint: endpoint.name, body }
}

/** A request to send, with its rows. */
export interface OutgoingRequest {
  endpoint: MintEndpoint
  body: Record<string, unknown>
  rows: readonly StoredRow[]
}

/** The identifiers and features that requests use, as far as the server supports them. */
export interface RequestFeatures {
  references: boolean
  /**
   * The run's label, which is sent with the kind of each reference ID. Null if the server stores no labels and kinds.
   */
  labels: { label: string | null } | null
  /** Whether the server stores the ENS names of receivers. */
  names: boolean
  /** Whether typed traits are allowed. */
  traits: boolean
}

export const NO_FEATURES: RequestFeatures = { references: false, labels: null, names: false, traits: true }

/** Returns which optional features requests to this server use, such as reference IDs, labels and ENS names. */
export const selectRequestFeatures = (client: BatchClient, { label = null }: BatchOptions): RequestFeatures => ({
  references: client.supports('references') === true,
  labels: client.supports('labels') === true ? { label } : null,
  names: client.supports('names') === true,
  traits: client.supports('traits') === true,
})

export type BuildRequest = (piece: RequestPart, naming: RequestFeatures) => Promise<OutgoingRequest>

/** Returns a function that builds requests of a plan from the stored rows. */
export function createRequestBuilder(
  run: StoredRun,
  rows: RowLocation,
  plan: RequestPlan,
  urlOf: FileUrlOf,
): BuildRequest {
  const { drop } = run
  const markers = createMarkerFactory(drop)
  const collection = { contractAddress: drop.contract, blockchain: drop.blockchain, dynamic: drop.dynamic }
  return async ({ request, from, size }, { references, labels, names, traits }) => {
    const positions = plan.rowsOf(request).slice(from, from + size)
    const records = await run.read((sql) => readRowsAt(sql, rows, positions))
    const keptRows = records.map(parseStoredRow)
    const manifestRows = keptRows.map(({ row }) => row)
    refuseMixedAddresses(manifestRows)
    if (!traits) refuseTypedTraits(manifestRows)
    const built = buildRequest(collection, manifestRows, urlOf, {
      markers: keptRows.map(({ key }) => markers(key)),
      names,
    })
    const reference_ids = records.map((record) => toReferenceId(drop, record))
    const reference_kinds = records.map(({ key }): ReferenceKind => (isContentKey(key) ? 'content' : 'id'))
    const label = labels?.label ?? null
    const body = {
      ...built.body,
      ...(references ? { reference_ids } : {}),
      ...(references && label !== null ? { reference_label: label } : {}),
      ...(references && labels !== null ? { reference_kinds } : {}),
    }
    return { endpoint: built.endpoint, body, rows: keptRows }
  }
}

const REQUESTS_PER_BATCH = 500

/** Returns the requests of a plan without building them. `each` reads only the first row of each request. */
export const plannedMints = (
  run: StoredRun,
  rows: RowLocation,
  plan: RequestPlan,
  { client, signal }: { client: BatchClient | null; signal: AbortSignal | undefined },
): PlannedMints => ({
  dynamic: run.drop.dynamic,
  again: run.drop.again,
  sizes: plan.sizes,
  each: () => eachMint(run, rows, plan),
  rows: () => eachRow(run, rows, plan),
  resent: () => resentRows(run, client, signal),
  digest: () => computeRowsDigest(run, rows, plan),
})

async function computeRowsDigest(run: StoredRun, rows: RowLocation, plan: RequestPlan): Promise<string> {
  const hash = createHash('sha256')
  for await (const { key, content, row } of eachRow(run, rows, plan)) {
    hash.update(JSON.stringify([key, content, row.receiver, row.sender]))
  }
  return hash.digest('hex')
}

async function* eachRow(run: StoredRun, rows: RowLocation, plan: RequestPlan): AsyncGenerator<StoredRow> {
  for (let request = 0; request < plan.requests; request++) {
    yield* await run.rowsAt(rows, [...plan.rowsOf(request)])
  }
}

async function* eachMint(run: StoredRun, rows: RowLocation, plan: RequestPlan): AsyncGenerator<PlannedMint> {
  for (let from = 0; from < plan.requests; from += REQUESTS_PER_BATCH) {
    const length = Math.min(REQUESTS_PER_BATCH, plan.requests - from)
    const requests = Array.from({ length }, (_, index) => plan.rowsOf(from + index))
    const firsts = requests.flatMap(([first]) => first ?? [])
    const byPosition = new Map((await run.rowsAt(rows, firsts)).map(({ position, row }) => [position, row]))
    for (const positions of requests) {
      const first = byPosition.get(positions[0] ?? -1)
      if (first === undefined) throw new Error('a request without rows')
      yield { receiver: first.receiver, sender: first.sender, count: positions.length }
    }
  }
}

/**
 * Refuses stored rows with typed traits, because the server no longer supports typed traits.
 *
 * @throws GdnError `refused`
 */
function refuseTypedTraits(rows: readonly ManifestRow[]): void {
  for (const { line, metadata } of rows) {
    const trait = findTypedTrait(metadata)
    if (trait !== undefined) throw noTypedTraitsError(trait, { line })
  }
}

/**
 * Throws if the rows of a request have different addresses. Rows are grouped by hashes of their addresses, so this
 * check compares the addresses themselves.
 */
function refuseMixedAddresses(rows: readonly ManifestRow[]): void {
  const pairs = new Set(
    rows.map(({ receiver, receiverName = '', sender }) =>
      [addressKey(receiver), receiverName, addressKey(sender ?? '')].join(' '),
    ),
  )
  if (pairs.size > 1) throw new Error('rows of several receivers were planned for one request')
}
