import { basename } from 'node:path'
import { MAX_IDS_PER_REQUEST } from '../api/endpoints/getnfts.ts'
import type { NftRecord } from '../api/nft-record.ts'
import { isFinal } from '../api/nft-status.ts'
import type { ApiClient } from '../client/api-client.ts'
import { type RecordReader, readNfts, readTransactions } from '../client/read-records.ts'
import { findStatus } from '../client/responses.ts'
import type { RunLimit } from '../client/run-limit.ts'
import { BoundedMap } from '../core/bounded-map.ts'
import { GdnError } from '../core/errors.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { sendByReference } from '../operations/send-by-reference.ts'
import { describeFailure } from '../operations/waiting.ts'
import {
  type AcceptedChange,
  type ChangeLocation,
  type ChangeSenderDeps,
  makeChanges,
  type Outcomes,
} from './make-changes.ts'

/** New metadata for an NFT. */
export interface Update extends ChangeLocation {
  nftGdnId: string
  /** The complete metadata. The URL of a local file is replaced after its upload. */
  metadata: ManifestRow['metadata']
  /** Local files to upload, by file field key. */
  localFiles: readonly LocalFile[]
  /** The revision that the update replaces. The server rejects the update if the NFT has another revision. */
  replacesRevision: number
  /**
   * Identifies the update permanently and on every machine, see {@link formatUpdateReference}. The update therefore
   * takes effect once, even if it is sent several times.
   */
  reference: string
}

interface LocalFile {
  key: string
  path: string
  /** SHA-256 of the file's content, in hex. If the content has changed since, the file isn't uploaded. */
  sha256: string
}

export interface ChangeDeps extends ChangeSenderDeps {
  /** The limit of the run that pays for the changes. */
  limit?: RunLimit | null
  client: Pick<ApiClient, 'call' | 'send' | 'decode' | 'upload' | 'learnCapabilities' | 'supports'>
}

/** Returns the prefix of all reference IDs of a row's updates. */
export const updatesPrefix = (row: string): string => `${row}:update:`

/**
 * Returns the reference ID of an update.
 *
 * @param row the reference ID of the row's mint
 */
export const formatUpdateReference = (row: string, replacesRevision: number): string =>
  `${updatesPrefix(row)}${replacesRevision}`

const MAX_UPLOADS = 10_000

/**
 * Sends updates, several at a time and each at most once, and waits until all have ended. Records nothing on this
 * machine. To resume after an interruption, send the same updates again. Requires a server that supports updates.
 *
 * @throws GdnError, see `makeChanges`
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
      async send(change: Update): Promise<AcceptedChange<Update>> {
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
          throw findStatus(error) === 409 ? otherVersionError(error) : error
        })
        return { change, transactionId: accepted.transaction_gdn_id }
      },
      findEnded: (page) => endedTransactions(deps, page, 'the update'),
    },
    deps,
  )
}

/** Returns the error for a reference ID that was already used for other metadata. */
const otherVersionError = (cause: unknown) =>
  new GdnError('refused', 'the server already accepted another version of this row: create a new plan', {
    cause,
  })

/** Returns a function that uploads each content only once, even for concurrent changes. */
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
 * Returns the accepted changes whose transactions have ended, each with the reason for its failure, or null if it
 * succeeded. Updates the `pendingReason` of every change.
 */
export async function endedTransactions<Sent extends AcceptedChange<unknown>>(
  reading: RecordReader<'gettransactions'>,
  page: readonly Sent[],
  subject: string,
): Promise<Map<Sent, string | null>> {
  const transactions = await readTransactions(
    reading,
    page.flatMap(({ transactionId }) => transactionId ?? []),
  )
  const ends = new Map<Sent, string | null>()
  for (const sent of page) {
    const transaction = transactions.get(sent.transactionId ?? '')
    sent.pendingReason = transaction?.pending_reason
    if (transaction !== undefined && isFinal(transaction.status)) ends.set(sent, describeFailure(subject, transaction))
  }
  return ends
}

/**
 * Compares ended transactions with the records of the NFTs, which may lag. Removes successful changes that the NFT's
 * record doesn't show yet, and adds changes that the record already shows.
 *
 * @param ends the changes whose transactions have ended, each with the reason for its failure or null; changed in place
 *   and returned
 */
export async function findEndedInNfts<Sent extends AcceptedChange<{ nftGdnId: string | null }>>(
  reading: RecordReader<'getnfts'>,
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
