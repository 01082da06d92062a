import type { NftRecord } from '../../api/nft-record.ts'
import { hasFailed } from '../../api/nft-status.ts'
import { readSalt } from '../../manifest/reveal-keys.ts'
import { readPages } from '../../operations/reconcile/listing.ts'
import { assignedNfts } from '../../state/known-nfts.ts'
import { plannedPages, readRowsAt } from '../../state/rows.ts'
import type { RowSet } from '../gather.ts'
import { ReferenceLookup } from '../identity/server-names.ts'
import { type AdoptedRow, parseStoredRow } from '../rows/manifest-row.ts'
import { toReferenceId } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { mintedByOtherRunError, seemsMintedAsError } from './seems-minted.ts'

/**
 * Refuses rows of an unrevealed drop that another run minted, if their NFTs are revealed or if this run may have sent
 * the rows. The server wouldn't recognize rows that this run may have sent, because their requests have the reference
 * IDs of this run.
 *
 * @param unrecorded the NFTs of the collection without a record in the state
 * @param pending the positions of the rows to be minted
 * @returns the positions of the other rows that another run minted
 * @throws GdnError `seems_minted`
 */
export async function refuseCommittedRows(
  run: StoredRun,
  options: BatchOptions,
  client: BatchClient,
  { gathered, unrecorded, pending }: { gathered: RowSet; unrecorded: readonly string[]; pending: ReadonlySet<number> },
): Promise<Set<number>> {
  const { committedRow, signal } = options
  if (committedRow === undefined || run.drop.again) return new Set()
  const remaining = await readOpenPositions(run, gathered, pending)
  const nftsAt = new Map<number, NftRecord[]>()
  for await (const { nfts } of readPages({ client, signal }, unrecorded)) {
    for (const nft of nfts) {
      const position = hasFailed(nft.status) ? -1 : (committedRow(nft.request_metadata) ?? 0) - 1
      if (remaining.has(position)) nftsAt.set(position, [...(nftsAt.get(position) ?? []), nft])
    }
  }
  if (nftsAt.size === 0) return new Set()
  // A request of this run with an unknown outcome may have minted the NFT.
  const records = await run.read((sql) => readRowsAt(sql, gathered.rows, [...nftsAt.keys()]))
  const ownNfts = await new ReferenceLookup(client, options).findNfts(
    records.map((record) => toReferenceId(run.drop, record)),
  )
  const hidden = new Set<number>()
  const sentLines: number[] = []
  let revealed = 0
  for (const record of records) {
    if (ownNfts.has(toReferenceId(run.drop, record))) continue
    const { position, line } = record
    if (nftsAt.get(position)?.some(({ request_metadata }) => readSalt(request_metadata) !== undefined)) revealed++
    else if (remaining.get(position) === true) sentLines.push(line)
    else hidden.add(position)
  }
  if (revealed > 0)
    throw seemsMintedAsError(`with ${revealed === 1 ? 'its' : 'their'} own metadata`, revealed, '--no-lookup')
  if (sentLines.length > 0) throw mintedByOtherRunError(sentLines, run.drop.name)
  return hidden
}

/**
 * Returns a map from the positions of rows that have no NFT in the state to whether the run may have minted the row. A
 * failed row has no NFT.
 */
export async function readOpenPositions(
  run: StoredRun,
  { rows, foundBy }: RowSet,
  pending: ReadonlySet<number>,
): Promise<Map<number, boolean>> {
  const open = new Map<number, boolean>()
  for await (const page of plannedPages(run.state, rows, run.drop, foundBy)) {
    for (const { position, state } of page.rows) {
      if (pending.has(position)) open.set(position, state !== null && state !== 'failed')
      else if (state === 'unknown' || state === 'absent' || state === 'sent') open.set(position, true)
    }
  }
  return open
}

/**
 * Returns the planned and failed rows of an unrevealed drop that another machine has minted, by their reference IDs.
 * Omits NFTs of other drops, which may have the same reference IDs, and NFTs that this machine has recorded.
 */
export async function findMintedElsewhere(
  run: StoredRun,
  options: BatchOptions,
  client: BatchClient,
  { rows, foundBy }: Pick<RowSet, 'rows' | 'foundBy'>,
): Promise<AdoptedRow[]> {
  const { committedRow, signal } = options
  if (committedRow === undefined) return []
  if (client.supports('references') === null) await client.learnCapabilities({ signal })
  if (client.supports('references') !== true) return []
  const names = new ReferenceLookup(client, options)
  const adopted: AdoptedRow[] = []
  for await (const page of plannedPages(run.state, rows, run.drop, foundBy)) {
    const open = page.rows.filter(({ state }) => state === null || state === 'planned' || state === 'failed')
    const positions = open.map(({ position }) => position)
    const records = await run.read((sql) => readRowsAt(sql, rows, positions))
    const byReference = new Map(records.map((record) => [toReferenceId(run.drop, record), record]))
    const nftsByReference = await names.findNfts([...byReference.keys()])
    const knownNfts = await run.read((sql) => assignedNfts(sql, [...nftsByReference.values()]))
    const referenceOfNft = new Map(
      [...nftsByReference].flatMap(([reference, id]) => (knownNfts.has(id) ? [] : [[id, reference]])),
    )
    for await (const { nfts } of readPages({ client, signal }, [...referenceOfNft.keys()])) {
      for (const { nft_gdn_id: nftGdnId, status, request_metadata } of nfts) {
        const record = byReference.get(referenceOfNft.get(nftGdnId) ?? '')
        if (record === undefined || hasFailed(status) || committedRow(request_metadata) === null) continue
        adopted.push({ row: parseStoredRow(record), nftGdnId })
      }
    }
  }
  return adopted
}
