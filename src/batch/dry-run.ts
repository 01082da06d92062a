import { ENDPOINTS } from '../api/endpoints.ts'
import { GdnError } from '../core/errors.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { Ledger } from './ledger.ts'
import { markerOf, withRoomForMarker } from './marker.ts'
import { loadLedger } from './open-ledger.ts'
import { DEFAULT_CHUNK_SIZE, type Plan } from './plan.ts'
import { buildRequest, requestMetadata, withMarker } from './request.ts'
import { addressKey, rowKey } from './row-key.ts'
import { journalPath, latestGeneration, runRef, spoolPath } from './run-files.ts'
import { readSpool } from './spool.ts'
import { survey } from './survey.ts'
import type { BatchDeps, BatchOptions, DryRun } from './types.ts'

const DEFAULT_RATE = 2

// As long as the URL that an uploaded file gets.
const UPLOADED = `ipfs://b${'a'.repeat(58)}`

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/**
 * What `runBatch` with the same options would do: reads the manifest and the journal, sends nothing, writes nothing.
 *
 * @throws GdnError `invalid_manifest`, `data_dir`
 */
export async function dryRunBatch(options: BatchOptions, deps: Pick<BatchDeps, 'readManifest'>): Promise<DryRun> {
  const generation = options.generation ?? (await latestGeneration(options.stateDir, options))
  const goesOn = generation > 0 && options.again !== true
  const run = runRef(options, goesOn ? generation : generation + 1)
  const loaded = goesOn ? await loadLedger(journalPath(options.stateDir, run.id)) : null
  const ledger = loaded?.ledger ?? new Ledger()
  ledger.settleOpen()
  if (deps.readManifest === null) throw new GdnError('usage', 'a dry run needs the manifest')

  let metadataBytes = 0
  let addressBytes = 0
  const first: ManifestRow[] = []
  const marker = options.markerKey ?? loaded?.run.marker
  const markers = markerOf({
    ...(marker === undefined ? {} : { marker }),
    manifest: options.manifestPath,
    run_name: options.runName ?? null,
    generation: goesOn ? generation : generation + 1,
    origin: options.origin,
    blockchain: options.blockchain,
    contract: options.contractAddress,
  })
  const firstMarkers: ReturnType<typeof markers>[] = []
  const settings = {
    chunkSize: ledger.chunkSize(options.chunkSize ?? loaded?.run.chunk_size ?? DEFAULT_CHUNK_SIZE),
    inOrder: options.inOrder ?? loaded?.run.in_order ?? false,
    retryFailed: options.retryFailed ?? false,
  }
  let firstClosed = false
  const { plan, changes } = await survey(
    withRoomForMarker(deps.readManifest(), marker),
    () => readSpool(spoolPath(options.stateDir, run.id)),
    ledger,
    settings,
    {
      add: ({ row, content, copy }, pending) => {
        if (!pending) return 0
        const own = markers(rowKey(row.id, content, copy))
        metadataBytes +=
          jsonBytes(
            withMarker(
              requestMetadata(row, () => UPLOADED),
              own,
            ),
          ) + 1
        addressBytes += row.receiver.length + (row.sender?.length ?? 0)
        if (!firstClosed && (first.length === 0 || together(first[0], row))) {
          first.push(row)
          firstMarkers.push(own)
        } else if (settings.inOrder) firstClosed = true
        if (first.length === settings.chunkSize) firstClosed = true
        return 0
      },
      flushIfFull: async () => {},
    },
  )
  const example = first.length === 0 ? null : buildRequest(options, first, () => UPLOADED, firstMarkers)
  const envelope = example === null ? 0 : jsonBytes({ ...example.body, metadata: [] })
  // The envelopes differ in their addresses only, and those are of one length on a blockchain.
  const averageAddresses = plan.rows === 0 ? 0 : addressBytes / plan.rows
  const [one] = first
  const ofExample = one === undefined ? 0 : one.receiver.length + (one.sender?.length ?? 0)
  const rate = options.requestsPerSecond ?? ENDPOINTS.createnft.ratePerSecond ?? DEFAULT_RATE
  return {
    run,
    rows: ledger.counts(),
    requests: plan.requests,
    bytes: Math.round(metadataBytes + plan.requests * (envelope - 1 + averageAddresses - ofExample)),
    receivers: plan.receivers,
    files: plan.withFiles.length,
    reordered: plan.reordered,
    order: orderOf(plan, settings.inOrder),
    seconds: Math.max(0, plan.requests - 1) / rate,
    changes,
    firstRequest: example,
  }
}

/** What a person must know of the order: what is under way at the same time may be taken in either. */
function orderOf({ requests, reordered }: Plan, inOrder: boolean): string {
  if (inOrder || requests <= 1) return "Token ids follow the manifest's order"
  return reordered
    ? "Rows go receiver by receiver, in the order of each one's first row, and requests under way together may be taken in either order: --in-order keeps the manifest's"
    : 'Rows go as the manifest has them, but requests under way together may be taken in either order: --in-order keeps them apart'
}

function together(a: ManifestRow | undefined, b: ManifestRow): boolean {
  return (
    a !== undefined &&
    addressKey(a.receiver) === addressKey(b.receiver) &&
    (a.sender === null ? b.sender === null : b.sender !== null && addressKey(a.sender) === addressKey(b.sender))
  )
}
