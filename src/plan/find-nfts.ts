import { MAX_IDS_PER_REQUEST } from '../api/endpoints/getnfts.ts'
import type { NftRecord } from '../api/nft-record.ts'
import { isSameAddress } from '../api/same-address.ts'
import { type MintRecord, ReferenceLookup } from '../batch/identity/server-names.ts'
import { parseStoredRow, type StoredRow } from '../batch/rows/manifest-row.ts'
import { rowReferenceId, toReferenceId } from '../batch/rows/row-key.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../batch/types.ts'
import { readNfts } from '../client/read-records.ts'
import { type RowOperation, readSentOperations } from '../state/draft-rows.ts'
import { findReceiver, operationsWithPrefix } from '../state/operations.ts'
import type { RowRecord } from '../state/rows.ts'
import { ownership } from './compare.ts'

/** A row, and what is known about its mint. */
export interface Candidate {
  row: StoredRow
  /** The reference ID of the row's mint. */
  reference: string
  /**
   * The server's record of the NFT that has the reference ID. Null if the ID is free or unknown, or if the server has
   * no reference IDs.
   */
  record: MintRecord | null
  /** The row's operation in the state; null if the run has not sent it. */
  sent: RowOperation | null
  /** The row's NFT; null if it isn't minted. */
  nftGdnId: string | null
}

/** The collection and server that are searched. */
export interface NftSource extends Pick<BatchOptions, 'contractAddress' | 'blockchain'> {
  signal: AbortSignal | undefined
  client: Pick<BatchClient, 'call'>
  /** Whether the server supports reference IDs. */
  hasReferences: boolean
  /** Whether the server can update and burn NFTs. */
  hasUpdates: boolean
}

/**
 * Returns the rows of a page with their NFTs. Finds an NFT by its reference ID, or else by the row's operation in the
 * state.
 */
export async function findCandidates(
  run: StoredRun,
  source: NftSource,
  page: readonly RowRecord[],
): Promise<Candidate[]> {
  const { drop } = run
  const operations = await sentRows(run, page)
  const rows = page.map((record) => ({ row: parseStoredRow(record), reference: toReferenceId(drop, record) }))
  const names = rows.map(({ reference }) => reference)
  const mints = source.hasReferences ? await new ReferenceLookup(source.client, source).findMints(names) : null
  return rows.map(({ row, reference }) => {
    const sent = operations.get(row.position) ?? null
    const record = mints?.get(reference) ?? null
    return { row, reference, record, sent, nftGdnId: record?.nft_gdn_id ?? sent?.nft ?? null }
  })
}

/** Returns the operations of a page of rows, by position. */
async function sentRows({ state, drop }: StoredRun, page: readonly RowRecord[]): Promise<Map<number, RowOperation>> {
  const [first, last] = [page[0]?.position ?? 0, page.at(-1)?.position ?? -1]
  const rows = await state.read((sql) => readSentOperations(sql, drop, first, last))
  return new Map(rows.map(({ position, ...operation }) => [position, operation]))
}

/** Returns the records of NFTs by ID. The server omits unknown NFTs. */
export async function readCandidates(
  { client, signal }: NftSource,
  candidates: readonly Pick<Candidate, 'nftGdnId'>[],
): Promise<Map<string, NftRecord>> {
  const ids = [...new Set(candidates.flatMap(({ nftGdnId }) => nftGdnId ?? []))]
  return await readNfts({ client, signal }, ids, MAX_IDS_PER_REQUEST)
}

/** The known history of an owner that isn't the row's receiver. */
export interface OwnerHistory {
  /** Whether this manifest was the last to set the owner. */
  isOurs: boolean
  isMoving: boolean
  /** The reference ID of the pending transfer to the receiver or, if there is none, of the next transfer. */
  reference: string
}

/**
 * Returns the history of each row's owner, including whether this manifest set the owner. The reference ID of a
 * transfer contains the receiver and the number of earlier transfers. Every machine can therefore look up the latest
 * transfer to the current owner.
 *
 * @param scope identifies the collection in the reference IDs of transfers
 */
export async function ownerHistories(
  run: StoredRun,
  source: NftSource,
  scope: string,
  moved: readonly TransferredNft[],
): Promise<Map<number, OwnerHistory>> {
  const counted = source.hasReferences ? moved.filter(({ nft }) => typeof nft.transfers === 'number') : []
  const items = counted
    .flatMap((movedNft) => Object.values(transfersOf(scope, movedNft)))
    .map((reference) => ({ operation: 'transfernft' as const, reference }))
  const records = await new ReferenceLookup(source.client, source).lookUp(items)
  const statuses = new Map([...records].map(([{ reference }, { status }]) => [reference, status]))
  const histories = new Map<number, OwnerHistory>()
  for (const movedNft of moved) {
    const { candidate, nft } = movedNft
    const { last, next } = transfersOf(scope, movedNft)
    const history = counted.includes(movedNft)
      ? {
          isOurs: nft.transfers === 0 ? await isMintedTo(run, movedNft) : statuses.has(last),
          isMoving: statuses.get(next) === 'initiated',
          reference: next,
        }
      : await sentHistory(run, scope, movedNft)
    // This machine may have recorded this owner when the owner still matched the manifest.
    const isOurs = history.isOurs || candidate.sent?.knownOwner === ownership(nft)
    histories.set(candidate.row.position, { ...history, isOurs })
  }
  return histories
}

/** A row with an NFT whose owner is not its receiver. */
export interface TransferredNft {
  candidate: Candidate
  nft: NftRecord
}

/** Returns the prefix of all reference IDs of a row's transfers. */
export const transfersPrefix = (scope: string, reference: string): string => `${rowReferenceId(scope, reference)}:to:`

const transferName = (scope: string, { reference }: Candidate, receiver: string): string =>
  `${transfersPrefix(scope, reference)}${receiver.toLowerCase()}:`

/** Returns the reference IDs of the transfer to the current owner and of the next transfer to the row's receiver. */
function transfersOf(scope: string, { candidate, nft }: TransferredNft): { last: string; next: string } {
  const transferCount = nft.transfers ?? 0
  return {
    last: `${transferName(scope, candidate, nft.receiver_wallet_address ?? '')}${transferCount - 1}`,
    next: `${transferName(scope, candidate, candidate.row.row.receiver)}${transferCount}`,
  }
}

/**
 * Returns the owner's history from the state, for servers without reference IDs. A transfer with an unknown outcome
 * counts as in progress.
 */
async function sentHistory(run: StoredRun, scope: string, moved: TransferredNft): Promise<OwnerHistory> {
  const { candidate, nft } = moved
  const prefix = transfersPrefix(scope, candidate.reference)
  const operations = await run.state.read((sql) => operationsWithPrefix(sql, prefix))
  const name = transferName(scope, candidate, candidate.row.row.receiver)
  const moving = operations.find(({ id, state }) => id.startsWith(name) && state !== 'deployed')
  const last = operations.findLast((operation) => operation !== moving)
  return {
    isOurs:
      last === undefined
        ? await isMintedTo(run, moved)
        : last.id.startsWith(transferName(scope, candidate, nft.receiver_wallet_address ?? '')),
    isMoving: moving !== undefined,
    reference: moving?.id ?? `${name}${operations.length}`,
  }
}

/**
 * Returns whether a row was minted to the current owner, according to the NFT's record or to the request in the state.
 */
async function isMintedTo({ state }: StoredRun, { candidate: { sent }, nft }: TransferredNft): Promise<boolean> {
  const owner = nft.receiver_wallet_address ?? ''
  if (typeof nft.minted_to === 'string') return isSameAddress(nft.minted_to, owner)
  if (sent === null) return false
  return isSameAddress((await state.read((sql) => findReceiver(sql, sent.id))) ?? '', owner)
}
