import type { NftRecord } from '../api/nft-record.ts'
import { ReferenceLookup } from '../batch/identity/server-names.ts'
import type { StoredPair } from '../batch/identity/store-pairs.ts'
import { setCopyNumber } from '../batch/rows/duplicate-rows.ts'
import { isContentKey, parseContentHash, parseCopyNumber, type RowKey } from '../batch/rows/row-key.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import type { BatchClient } from '../batch/types.ts'
import { listReferencesOfContents, readMintReferences } from '../state/draft-rows.ts'
import { addAssignedNfts } from '../state/plan-tables.ts'
import { type RowRecord, readRowsAt } from '../state/rows.ts'
import { type Candidate, findCandidates, type NftSource, readCandidates } from './find-nfts.ts'
import type { PlanState } from './plan-state.ts'

/** A page of rows with their NFTs. */
export interface MatchedRows {
  page: readonly RowRecord[]
  candidates: Candidate[]
  records: Map<string, NftRecord>
}

/** Returns a page of rows with their NFTs. Also records labels, IDs to store, and which NFTs have a row. */
export async function matchRows(
  { run, source, deps, labels, pairedNfts, paired, vanished }: PlanState,
  rows: readonly RowRecord[],
): Promise<MatchedRows> {
  const matched = await readPage(run, source, rows)
  const { candidates, records } = matched
  await labels.add(candidates)
  const underOtherKey = candidates.filter((candidate) => {
    candidate.nftGdnId ??= pairedNfts.get(candidate.row.position) ?? null
    return candidate.nftGdnId !== null && !records.has(candidate.nftGdnId)
  })
  for (const [id, record] of await readCandidates(source, underOtherKey)) records.set(id, record)
  paired.push(...(await unstoredPairs(run, source, deps.client, candidates)))
  const matchedIds = candidates.flatMap(({ nftGdnId }) => nftGdnId ?? [])
  await run.state.scratch((sql) => addAssignedNfts(sql, matchedIds))
  vanished.removeNamed(matchedIds)
  return matched
}

/**
 * Finds the NFTs of a page of rows. If the NFT of a row without an ID was burned, the row gets the unburned NFT of an
 * identical removed row, if there is one.
 */
async function readPage(run: StoredRun, source: NftSource, page: readonly RowRecord[]): Promise<MatchedRows> {
  const candidates = await findCandidates(run, source, page)
  const records = await readCandidates(source, candidates)
  const burned = candidates.flatMap(({ row, nftGdnId }, at) => {
    const record = page[at]
    const isBurned = records.get(nftGdnId ?? '')?.burned === true
    return record !== undefined && isBurned && isContentKey(row.key) ? [record] : []
  })
  if (burned.length === 0 || !source.hasReferences || !(await replaceBurned(run, source, burned))) {
    return { page, candidates, records }
  }
  const positions = page.map(({ position }) => position)
  const moved = await run.state.read((sql) => readRowsAt(sql, 'draft', positions))
  const movedCandidates = await findCandidates(run, source, moved)
  return { page: moved, candidates: movedCandidates, records: await readCandidates(source, movedCandidates) }
}

/** Assigns NFTs of other copies to rows whose NFTs were burned. Returns whether any row got another NFT. */
async function replaceBurned(
  { state, drop }: StoredRun,
  source: NftSource,
  burned: readonly RowRecord[],
): Promise<boolean> {
  const contents = [...new Set(burned.map((row) => parseContentHash(rowKey(row))))]
  const names = await state.read((sql) => listReferencesOfContents(sql, contents))
  const knownNames = new Set(names.map((name) => `${parseContentHash(name)} ${parseCopyNumber(name)}`))
  const server = new ReferenceLookup(source.client, source)
  const copies = await server.findOtherCopies(drop.referenceScope, contents, (content, copy) =>
    knownNames.has(`${content} ${copy}`),
  )
  const ended = await server.findEndedNfts(copies.map(({ nftGdnId }) => nftGdnId))
  const available = copies.filter(({ nftGdnId }) => !ended.has(nftGdnId))
  return await state.scratch((sql) => {
    let isMoved = false
    for (const row of burned) {
      const at = available.findIndex(({ content }) => content === parseContentHash(rowKey(row)))
      const [match] = at === -1 ? [] : available.splice(at, 1)
      if (match === undefined) continue
      isMoved = true
      setCopyNumber(sql, 'draft', row, match.copy)
    }
    return isMoved
  })
}

const rowKey = ({ key, reference }: RowRecord): RowKey => reference ?? key

/**
 * Returns the pairs that are in the state but not on the server, because storing them there was interrupted or isn't
 * supported.
 */
async function unstoredPairs(
  { state }: StoredRun,
  source: NftSource,
  client: Pick<BatchClient, 'supports'>,
  candidates: readonly Candidate[],
): Promise<StoredPair[]> {
  if (!source.hasReferences) return []
  const unknown = new Map(
    candidates.flatMap((candidate) =>
      candidate.record === null && candidate.sent?.nft != null && candidate.row.row.id !== null
        ? [[candidate.sent.id, candidate] as const]
        : [],
    ),
  )
  if (unknown.size === 0) return []
  const minted = await state.read((sql) => readMintReferences(sql, unknown.keys()))
  const renamed = minted.flatMap(({ id, operation, reference }) => {
    const candidate = unknown.get(id)
    const isRenamed = candidate !== undefined && reference !== null && reference !== candidate.reference
    return isRenamed ? [{ operation, reference, candidate }] : []
  })
  const pairOf = ({ operation, candidate }: (typeof renamed)[number], alias: StoredPair['alias']): StoredPair => ({
    nftGdnId: candidate.sent?.nft ?? '',
    operation,
    reference: candidate.reference,
    sent: null,
    alias,
    key: candidate.row.key,
  })
  if (client.supports('aliases') !== true) return renamed.map((renaming) => pairOf(renaming, 'impossible'))
  const records = await new ReferenceLookup(source.client, source).lookUp(renamed)
  return renamed.flatMap((renaming) => {
    const record = records.get(renaming)
    const isOpen =
      record?.nft_gdn_id === renaming.candidate.sent?.nft &&
      record?.reference_kind === 'content' &&
      typeof record.reference_alias !== 'string'
    return isOpen ? [pairOf(renaming, 'wanted')] : []
  })
}
