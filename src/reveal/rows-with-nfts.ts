import type { NftRecord } from '../api/nft-record.ts'
import { hasFailed } from '../api/nft-status.ts'
import { withReadOnlyRun } from '../batch/dry-run.ts'
import { readManifestRows, refuseTypedRow } from '../batch/gather.ts'
import { findPairs, type Pair } from '../batch/identity/pairing.ts'
import { pinStoredNames } from '../batch/identity/pinned-names.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../batch/types.ts'
import { learnSupport } from '../client/learn-support.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { isPlaceholder, readSalt } from '../manifest/reveal-keys.ts'
import type { LabelConflicts } from '../plan/find-labels.ts'
import { type Candidate, findCandidates, type NftSource, readCandidates } from '../plan/find-nfts.ts'
import { readRowPage, readRowPages } from '../state/rows.ts'

/** A row with its NFT; undefined if the server has none. */
export interface RowMatch {
  candidate: Candidate
  nft: NftRecord | undefined
}

/** The rows of a manifest and the collection that contains their NFTs. */
export interface OpenRows {
  run: StoredRun
  source: NftSource
  /** Rows that got an ID after they were minted. */
  pairs: Pair[]
  /** Yields each row with its NFT. */
  readMatches(labels?: LabelConflicts): AsyncGenerator<RowMatch>
}

const PAGE_SIZE = 1_000

/**
 * Reads the rows of a manifest, and calls `use` with them. Looks up an NFT by its reference ID, or else by the run in
 * the state. Sends only read requests.
 */
export async function withOpenRows<Result>(
  options: BatchOptions,
  client: BatchClient,
  items: AsyncIterable<ManifestItem>,
  use: (rows: OpenRows) => Promise<Result>,
): Promise<Result> {
  return await withReadOnlyRun(options, async (run) => {
    await pinStoredNames(run, options)
    const { typed } = await readManifestRows(run, items, 'draft')
    await learnSupport(client, options.signal)
    await refuseTypedRow(client, typed, { file: run.drop.manifest, signal: options.signal })
    const { contractAddress, blockchain, signal } = options
    const hasReferences = client.supports('references') === true
    const hasUpdates = client.supports('updates') === true
    const source: NftSource = { client, contractAddress, blockchain, signal, hasReferences, hasUpdates }
    // A row without a pair counts as not minted.
    const pairs = await findPairs(run, { ...options, newRows: true }, client, 'draft')
    const byPosition = new Map(pairs.map((pair) => [pair.row.position, pair]))
    return await use({ run, source, pairs, readMatches: (labels) => rowsWithNfts(run, source, byPosition, labels) })
  })
}

async function* rowsWithNfts(
  run: StoredRun,
  source: NftSource,
  pairs: ReadonlyMap<number, Pair>,
  labels?: LabelConflicts,
): AsyncGenerator<RowMatch> {
  for await (const page of readRowPages(
    run.state,
    (sql, after, limit) => readRowPage(sql, 'draft', after, limit),
    PAGE_SIZE,
  )) {
    const candidates = await findCandidates(run, source, page)
    await labels?.add(candidates)
    for (const candidate of candidates) candidate.nftGdnId ??= pairs.get(candidate.row.position)?.nftGdnId ?? null
    const records = await readCandidates(source, candidates)
    for (const candidate of candidates) {
      yield { candidate, nft: candidate.nftGdnId === null ? undefined : records.get(candidate.nftGdnId) }
    }
  }
}

/** Counts the rows of a manifest that were minted unrevealed. */
export interface UnrevealedMints {
  /** Rows whose NFTs have the placeholder. */
  hidden: number
  /** Rows whose NFTs are revealed. */
  revealed: number
  /** Rows that were minted revealed, or whose NFTs failed or don't exist. */
  others: number
}

/**
 * Counts the rows of a manifest whose NFTs were minted unrevealed, by any machine.
 *
 * @param ids receives the IDs of the NFTs of all rows
 */
export async function countUnrevealed(
  options: BatchOptions,
  client: BatchClient,
  items: AsyncIterable<ManifestItem>,
  ids = new Set<string>(),
): Promise<UnrevealedMints> {
  return await withOpenRows(options, client, items, async ({ readMatches }) => {
    const mints: UnrevealedMints = { hidden: 0, revealed: 0, others: 0 }
    for await (const { candidate, nft } of readMatches()) {
      if (nft !== undefined) ids.add(nft.nft_gdn_id)
      const metadata = nft === undefined || hasFailed(nft.status) ? undefined : nft.request_metadata
      if (isPlaceholder(metadata)) mints.hidden++
      // A row with a salt is a copy of a revealed NFT, and was minted with that salt.
      else if (readSalt(metadata) !== undefined && readSalt(candidate.row.row.metadata) === undefined) mints.revealed++
      else mints.others++
    }
    return mints
  })
}
