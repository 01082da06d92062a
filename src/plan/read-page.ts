import type { NftRecord } from '../api/nft-record.ts'
import { ServerNames } from '../batch/identity/server-names.ts'
import { moveToCopy } from '../batch/rows/duplicate-rows.ts'
import { contentOfKey, copyOfKey, isContentKey, type RowKey } from '../batch/rows/row-key.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import { namesOfContents } from '../state/draft-rows.ts'
import { type RowRecord, rowsAt } from '../state/rows.ts'
import { type Candidate, findCandidates, type NftSource, readCandidates } from './find-nfts.ts'

/** A page of rows with their NFTs. */
export interface SeenPage {
  page: readonly RowRecord[]
  candidates: Candidate[]
  records: Map<string, NftRecord>
}

/**
 * Returns a page of rows with their NFTs. If the NFT of a row without an ID was burned, the row gets an unburned NFT of
 * an identical removed row, if there is one.
 */
export async function readPage(store: StoredRun, source: NftSource, page: readonly RowRecord[]): Promise<SeenPage> {
  const candidates = await findCandidates(store, source, page)
  const records = await readCandidates(source, candidates)
  const burned = candidates.flatMap(({ row, nftGdnId }, at) => {
    const record = page[at]
    const isBurned = records.get(nftGdnId ?? '')?.burned === true
    return record !== undefined && isBurned && isContentKey(row.key) ? [record] : []
  })
  if (burned.length === 0 || !source.hasReferences || !(await leaveBurned(store, source, burned))) {
    return { page, candidates, records }
  }
  const positions = page.map(({ position }) => position)
  const moved = await store.state.read((sql) => rowsAt(sql, 'draft', positions))
  const movedCandidates = await findCandidates(store, source, moved)
  return { page: moved, candidates: movedCandidates, records: await readCandidates(source, movedCandidates) }
}

/** Assigns NFTs of other copies to rows whose NFTs were burned. Returns whether any row got another NFT. */
async function leaveBurned(
  { state, drop }: StoredRun,
  source: NftSource,
  burned: readonly RowRecord[],
): Promise<boolean> {
  const contents = [...new Set(burned.map((row) => contentOfKey(rowKey(row))))]
  const names = await state.read((sql) => namesOfContents(sql, contents))
  const knownNames = new Set(names.map((name) => `${contentOfKey(name)} ${copyOfKey(name)}`))
  const server = new ServerNames(source.client, source)
  const copies = await server.otherCopies(drop.referenceScope, contents, (content, copy) =>
    knownNames.has(`${content} ${copy}`),
  )
  const ended = await server.endedOf(copies.map(({ nftGdnId }) => nftGdnId))
  const available = copies.filter(({ nftGdnId }) => !ended.has(nftGdnId))
  return await state.scratch((sql) => {
    let isMoved = false
    for (const row of burned) {
      const at = available.findIndex(({ content }) => content === contentOfKey(rowKey(row)))
      const [match] = at === -1 ? [] : available.splice(at, 1)
      if (match === undefined) continue
      isMoved = true
      moveToCopy(sql, 'draft', row, match.copy)
    }
    return isMoved
  })
}

const rowKey = ({ key, reference }: RowRecord): RowKey => reference ?? key
