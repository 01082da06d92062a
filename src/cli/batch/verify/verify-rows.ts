import type { NftRecord } from '../../../api/nft-record.ts'
import { isSameAddress } from '../../../api/same-address.ts'
import type { RunRow } from '../../../batch/runs/run-rows.ts'
import { readNfts } from '../../../client/read-records.ts'
import { GdnError } from '../../../core/errors.ts'
import { LocalContents } from '../../../files/local-content.ts'
import { PROVENANCE_ROW, PROVENANCE_SALT, readProof } from '../../../manifest/reveal-keys.ts'
import type { ManifestRow } from '../../../manifest/row.ts'
import { parseRequested, type RequestedMetadata } from '../../../verify/compare-metadata.ts'
import { type ExpectedNft, type Verification, verifyNfts } from '../../../verify/verify.ts'
import type { NftVerifier } from '../../connect/open-verifier.ts'
import type { Connection, Deps } from '../../deps.ts'
import { verifyText } from '../../render/verify-text.ts'

/**
 * The result of verifying a row. `changed` means that the row differs only because of later changes that its server
 * reports.
 */
export type RowVerification = Verification | { verified: null; changed: string }

export interface VerifiedRow extends RunRow {
  /** The result; null for a row that isn't deployed. */
  verification: RowVerification | null
}

/** Returns the current records of NFTs from their server. Omits NFTs that the server doesn't have. */
export type ReadRecords = (ids: readonly string[]) => Promise<NftRecord[]>

/** Number of rows to verify in one batch. Each row takes two calls, and nodes limit the calls in a batch. */
const ROWS_PER_BATCH = 50

/**
 * Compares each deployed row with chain and storage. Returns other rows unverified. A row that differs from its request
 * is compared with the current state that its server reports. The row is verified if this machine last recorded the
 * same state. Otherwise it is `changed`, because only the server reports that state.
 *
 * @param records null if the run's server can't be queried
 * @param signal stops reading local files
 */
export async function* verifyRows(
  rows: AsyncIterable<RunRow>,
  verifier: NftVerifier,
  records: ReadRecords | null,
  signal: AbortSignal,
): AsyncGenerator<VerifiedRow> {
  let waiting: QueuedRow[] = []
  const contents = new LocalContents(signal)
  async function* settle(): AsyncGenerator<VerifiedRow> {
    const verifications = await verifyQueuedRows(verifier, waiting, { records, contents })
    for (const [i, { row }] of waiting.entries()) yield { ...row, verification: verifications[i] ?? null }
    waiting = []
  }
  for await (const row of rows) {
    waiting.push({ row, claim: await toClaim(row) })
    if (waiting.length === ROWS_PER_BATCH) yield* settle()
  }
  yield* settle()
}

interface QueuedRow {
  row: RunRow
  /** The expected state of the NFT; null for a row that isn't deployed. */
  claim: ExpectedNft | null
}

async function verifyQueuedRows(
  verifier: NftVerifier,
  waiting: readonly QueuedRow[],
  { records, contents }: { records: ReadRecords | null; contents: LocalContents },
): Promise<(RowVerification | null)[]> {
  const verifyEach = async (claims: readonly (ExpectedNft | null)[]): Promise<(Verification | null)[]> => {
    const knownClaims = claims.filter((claim) => claim !== null)
    const results = (
      'reason' in verifier
        ? knownClaims.map(() => ({ verified: null, reason: verifier.reason }))
        : await verifyNfts(verifier.chain, verifier.storage, knownClaims)
    )[Symbol.iterator]()
    return claims.map((claim) => (claim === null ? null : (results.next().value ?? null)))
  }
  const asRequested = await verifyEach(waiting.map(({ claim }) => claim))
  const differing = waiting.flatMap(({ row }, i) =>
    asRequested[i]?.verified === false ? (row.result.nft_gdn_id ?? []) : [],
  )
  if (differing.length === 0 || records === null) return asRequested
  const byId = new Map((await records(differing)).map((nft) => [nft.nft_gdn_id, nft]))
  const changes = waiting.map(({ row, claim }, i) => {
    const record = byId.get(row.result.nft_gdn_id ?? '')
    return claim === null || record === undefined || asRequested[i]?.verified !== false ? null : { row, claim, record }
  })
  const presentClaims = changes.map((change) => change && toPresentClaim(change))
  const asPresent = await verifyEach(presentClaims)
  const isPresent = (i: number) => asPresent[i]?.verified === true
  const recorded = waiting.map(({ row }, i) => (isPresent(i) ? (row.row ?? null) : null))
  const recordedClaims = presentClaims.map(async (claim, i) => {
    const row = recorded[i] ?? null
    const urls = row && (await computeUrlsByKey(row.localFiles, contents))
    return claim && row && urls && toRecordedClaim(row, claim, urls)
  })
  const asRecorded = await verifyEach(await Promise.all(recordedClaims))
  const apartFromFiles = await verifyEach(
    presentClaims.map((claim, i) => {
      const row = recorded[i] ?? null
      const isTried = asRecorded[i]?.verified !== true && (row?.localFiles.length ?? 0) > 0
      return claim && row && isTried ? toRecordedClaim(row, claim, toUrlsByKey(claim.requested)) : null
    }),
  )
  return asRequested.map((first, i) => {
    const change = changes[i]
    if (asRecorded[i]?.verified === true) return { verified: true }
    if (change && isPresent(i)) {
      const ofFiles =
        apartFromFiles[i]?.verified === true ? ', but the local files of the row differ or are missing' : ''
      return { verified: null, changed: `${changeText(change)}${ofFiles}` }
    }
    return change?.record.burned === true && isTokenMissing(first) ? { verified: null, changed: 'burned' } : first
  })
}

/** Describes the result of a row in a sentence; null if the row matches its request. */
export const rowVerifyText = (verification: RowVerification): string | null =>
  'changed' in verification
    ? `changed since the mint, according to the server: ${verification.changed}`
    : verifyText(verification)

interface DifferingRow {
  row: RunRow
  claim: ExpectedNft
  record: NftRecord
}

/** Returns the NFT's state as the server reports it; null if the server reports an update but not its metadata. */
function toPresentClaim({ claim, record }: DifferingRow): ExpectedNft | null {
  const owner = record.receiver_wallet_address ?? claim.owner
  if (!isUpdated(record)) return { ...claim, owner }
  const requested = parseRequested(record.request_metadata)
  const metadataUrl = record.metadata_url ?? null
  return requested === null || metadataUrl === null ? null : { ...claim, owner, metadataUrl, requested }
}

/**
 * Returns a claim with the owner and metadata that this machine last recorded for the row. The reveal proof comes from
 * `present`, because the manifest doesn't contain it.
 *
 * @param urls the URLs of the row's local files, by key
 */
function toRecordedClaim(
  { receiver, metadata, localFiles }: ManifestRow,
  present: ExpectedNft,
  urls: ReadonlyMap<string, string>,
): ExpectedNft {
  const localKeys = new Set(localFiles.map(({ key }) => key))
  const file_fields = metadata.file_fields.map(({ key, url }) => ({
    key,
    url: localKeys.has(key) ? (urls.get(key) ?? url) : url,
  }))
  return { ...present, owner: receiver, requested: { ...readProof(present.requested), ...metadata, file_fields } }
}

const toUrlsByKey = (metadata: ExpectedNft['requested']): Map<string, string> =>
  new Map((metadata?.file_fields ?? []).map(({ key, url }) => [key, url]))

/** Returns the URLs of local files by their keys; null if a file can't be read. */
async function computeUrlsByKey(
  files: ManifestRow['localFiles'],
  contents: LocalContents,
): Promise<Map<string, string> | null> {
  const urls = new Map<string, string>()
  try {
    for (const { key, path } of files) urls.set(key, (await contents.read(path)).url)
  } catch (error) {
    if (error instanceof GdnError) return null
    throw error
  }
  return urls
}

const isUpdated = ({ revision }: NftRecord): boolean => (revision ?? 0) > 0

/** Returns whether the token is missing on the chain. */
const isTokenMissing = (verification: Verification | null): boolean =>
  verification?.verified === false && verification.isMissing === true

function changeText({ claim, record }: DifferingRow): string {
  const salt = parseRequested(record.request_metadata)?.[PROVENANCE_SALT]
  const owner = record.receiver_wallet_address ?? claim.owner
  const moved = isSameAddress(owner, claim.owner) ? [] : [`transferred to ${owner}`]
  const isRevealed = claim.requested?.[PROVENANCE_ROW] !== undefined && salt !== undefined
  return [...(isUpdated(record) ? [isRevealed ? 'revealed' : 'updated'] : []), ...moved].join(' and ')
}

async function toClaim({ result, row, sentMetadata }: RunRow): Promise<ExpectedNft | null> {
  if (result.status !== 'deployed') return null
  return {
    contractAddress: result.contract_address,
    tokenId: result.token_id,
    owner: row?.receiver ?? result.receiver_wallet_address,
    metadataUrl: result.metadata_url,
    requested: (await sentMetadata()) as RequestedMetadata | null,
  }
}

/**
 * Returns a function that reads current records. If the server doesn't respond, the function returns an empty list.
 * Each row that differs from its request is then reported as different, even if it was changed later.
 */
export function createRecordReader(deps: Deps, connect: () => Promise<Pick<Connection, 'client'>>): ReadRecords {
  let client: Promise<Connection['client']> | null = null
  return async (ids) => {
    try {
      client ??= connect().then((connection) => connection.client)
      const nfts = await readNfts({ client: await client, signal: deps.signals.signal }, ids)
      return [...nfts.values()]
    } catch (error) {
      if (!(error instanceof GdnError) || deps.signals.signal.aborted) throw error
      deps.io.debug(`can't read the changes since the mint: ${error.message}`)
      return []
    }
  }
}
