import { basename } from 'node:path'
import { MAX_IDS_PER_REQUEST } from '../api/endpoints/getnfts.ts'
import type { NftRecord } from '../api/nft-record.ts'
import { isFinal } from '../api/nft-status.ts'
import { statusOf } from '../client/answers.ts'
import type { ApiClient } from '../client/api-client.ts'
import { type Reading, readNfts, readTransactions } from '../client/read-records.ts'
import type { RunLimit } from '../client/run-limit.ts'
import { BoundedMap } from '../core/bounded-map.ts'
import { GdnError } from '../core/errors.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { sendByReference } from '../operations/send-by-reference.ts'
import { failureOf } from '../operations/waiting.ts'
import { type Accepted, type ChangeSenderDeps, makeChanges, type Named, type Outcomes } from './make-changes.ts'

/** New metadata for an NFT. */
export interface Update extends Named {
  nftGdnId: string
  /** All of it. The URL of a local file is replaced. */
  metadata: ManifestRow['metadata']
  /** Local files to upload, by file field key. */
  localFiles: readonly LocalFile[]
  /** The revision that it replaces: the server rejects the update of any other. */
  replacesRevision: number
  /**
   * Names the update permanently, on every machine: {@link updateReference}. So it has one effect, however often it is
   * sent.
   */
  reference: string
}

interface LocalFile {
  key: string
  path: string
  /** SHA-256 of the content in hexadecimal: another content is not uploaded. */
  sha256: string
}

export interface ChangeDeps extends ChangeSenderDeps {
  /** The run that pays for the changes. */
  limit?: RunLimit | null
  client: Pick<ApiClient, 'call' | 'send' | 'decode' | 'upload' | 'learnIdempotency' | 'supports'>
}

/** The beginning of the reference IDs of all updates of a row. */
export const updatesPrefix = (row: string): string => `${row}:update:`

/**
 * Returns the reference ID of an update.
 *
 * @param row names the row in its collection, as the reference ID of its mint does
 */
export const updateReference = (row: string, replacesRevision: number): string =>
  `${updatesPrefix(row)}${replacesRevision}`

const MAX_UPLOADS = 10_000

/**
 * Updates NFTs, several at once and each once, and waits until all updates have ended. Nothing is recorded on this
 * machine: after an interruption, send the same updates again. Needs a server that supports updates.
 *
 * @throws GdnError as `makeChanges`
 */
export async function applyUpdates(
  contract: string,
  deps: ChangeDeps,
  updates: AsyncIterable<Update>,
): Promise<Outcomes> {
  const upload = uploader(deps)
  return await makeChanges(
    updates,
    {
      async send(change: Update): Promise<Accepted<Update>> {
        const urls = new Map<string, string>()
        for (const file of change.localFiles) urls.set(file.key, await upload(file))
        const { file_fields, ...metadata } = change.metadata
        const accepted = await sendByReference(deps, 'updatednft', {
          nft_gdn_id: change.nftGdnId,
          contract_address: contract,
          metadata: [
            { ...metadata, file_fields: file_fields.map(({ key, url }) => ({ key, url: urls.get(key) ?? url })) },
          ],
          replaces_revision: change.replacesRevision,
          reference_id: change.reference,
        }).catch((error: unknown) => {
          throw statusOf(error) === 409 ? otherVersion(error) : error
        })
        return { change, transactionId: accepted.transaction_gdn_id }
      },
      endsOf: (page) => endedTransactions(deps, page, 'the update'),
    },
    deps,
  )
}

/** The error of a reference ID that names other metadata. */
const otherVersion = (cause: unknown) =>
  new GdnError('refused', 'another version of this row was already applied to this revision: make a new plan', {
    cause,
  })

/** Returns a function that uploads each content once, even for several changes in flight. */
function uploader({ client, signal }: ChangeDeps): (file: LocalFile) => Promise<string> {
  const uploads = new BoundedMap<Promise<string>>(MAX_UPLOADS)
  return async ({ path, sha256 }) => {
    let pending = uploads.get(sha256)
    if (pending === undefined) {
      pending = client.upload(path, basename(path), { signal, sha256 }).then(({ url }) => url)
      uploads.set(sha256, pending)
    }
    try {
      return await pending
    } catch (error) {
      uploads.delete(sha256)
      throw error
    }
  }
}

/**
 * Returns accepted changes whose transactions have ended, with the reason of a failure. The others get their reason to
 * wait.
 */
export async function endedTransactions<Sent extends Accepted<unknown>>(
  reading: Reading<'gettransactions'>,
  page: readonly Sent[],
  what: string,
): Promise<Map<Sent, string | null>> {
  const transactions = await readTransactions(
    reading,
    page.flatMap(({ transactionId }) => transactionId ?? []),
  )
  const ends = new Map<Sent, string | null>()
  for (const sent of page) {
    const transaction = transactions.get(sent.transactionId ?? '')
    sent.pendingReason = transaction?.pending_reason
    if (transaction !== undefined && isFinal(transaction.status)) ends.set(sent, failureOf(what, transaction))
  }
  return ends
}

/**
 * Completes the ends of changes with their NFTs, which must show the effect. They follow later than the transactions.
 *
 * @param ends of the transactions, with the reason of a failure
 */
export async function seenInNfts<Sent extends Accepted<{ nftGdnId: string | null }>>(
  reading: Reading<'getnfts'>,
  page: readonly Sent[],
  ends: Map<Sent, string | null>,
  isSeen: (nft: NftRecord, sent: Sent, failure: string | null) => boolean,
): Promise<Map<Sent, string | null>> {
  const ids = page.flatMap(({ change }) => change.nftGdnId ?? [])
  const nfts = await readNfts(reading, ids, MAX_IDS_PER_REQUEST)
  for (const sent of page) {
    const nft = nfts.get(sent.change.nftGdnId ?? '')
    const failure = ends.get(sent) ?? null
    if (nft !== undefined && isSeen(nft, sent, failure)) ends.set(sent, null)
    else if (failure === null) ends.delete(sent)
  }
  return ends
}
