import { MAX_IDS_PER_REQUEST } from '../api/endpoints/getnfts.ts'
import type { NftRecord } from '../api/nft-record.ts'
import { sameAddress } from '../api/same-address.ts'
import { type MintRecord, ServerNames } from '../batch/identity/server-names.ts'
import { type KeptRow, keptRow } from '../batch/rows/manifest-row.ts'
import { referenceId, referenceOf } from '../batch/rows/row-key.ts'
import type { RunStore } from '../batch/runs/run-store.ts'
import type { BatchClient, BatchOptions } from '../batch/types.ts'
import { readNfts } from '../client/read-records.ts'
import { type SentOperation, sentBetween } from '../state/draft-rows.ts'
import { operationsWithPrefix, receiverOf } from '../state/operations.ts'
import type { RowRecord } from '../state/rows.ts'
import { ownership } from './compare.ts'

/** A row of a page, with the known facts about its mint. */
export interface Candidate {
  row: KeptRow
  /** The reference ID of its mint. */
  reference: string
  /** The NFT that the reference ID names on the server; null where that is free, unknown or not supported. */
  named: MintRecord | null
  /** The row's operation in the state; null where the run has not sent it. */
  sent: SentOperation | null
  /** The row's NFT; null if it isn't minted. */
  nftGdnId: string | null
}

/** The collection and server that `findNfts` and `lastOwners` search. */
export interface Place extends Pick<BatchOptions, 'contractAddress' | 'blockchain'> {
  signal: AbortSignal | undefined
  client: Pick<BatchClient, 'call'>
  /** Whether the server knows reference IDs. */
  hasReferences: boolean
  /** Whether the server updates and burns NFTs. */
  hasUpdates: boolean
}

/** Returns the rows of a page with their NFTs: by their reference IDs, or else by the run in the state. */
export async function findCandidates(store: RunStore, place: Place, page: readonly RowRecord[]): Promise<Candidate[]> {
  const { drop } = store
  const operations = await sentRows(store, page)
  const rows = page.map((record) => ({ row: keptRow(record), reference: referenceOf(drop, record) }))
  const names = rows.map(({ reference }) => reference)
  const mints = place.hasReferences ? await new ServerNames(place.client, place).mintsOf(names) : null
  return rows.map(({ row, reference }) => {
    const sent = operations.get(row.position) ?? null
    const named = mints?.get(reference) ?? null
    return { row, reference, named, sent, nftGdnId: named?.nft_gdn_id ?? sent?.nft ?? null }
  })
}

/** Returns the operations of a page of rows, by position. */
async function sentRows({ state, drop }: RunStore, page: readonly RowRecord[]): Promise<Map<number, SentOperation>> {
  const [first, last] = [page[0]?.position ?? 0, page.at(-1)?.position ?? -1]
  const rows = await state.read((sql) => sentBetween(sql, drop, first, last))
  return new Map(rows.map(({ position, ...one }) => [position, one]))
}

/** Returns the records of NFTs by ID. The server omits NFTs that it doesn't know. */
export async function readRecords(
  { client, signal }: Place,
  candidates: readonly Pick<Candidate, 'nftGdnId'>[],
): Promise<Map<string, NftRecord>> {
  const ids = [...new Set(candidates.flatMap(({ nftGdnId }) => nftGdnId ?? []))]
  return await readNfts({ client, signal }, ids, MAX_IDS_PER_REQUEST)
}

/** The known facts about an owner who is not the receiver of the row. */
export interface OwnerHistory {
  /** Whether this manifest named that owner last. */
  isOurs: boolean
  isMoving: boolean
  /** The reference ID of a transfer to the receiver: the next one, or the one in progress. */
  reference: string
}

/**
 * Returns the history of owners. The reference ID of a transfer has the receiver and the number of earlier transfers of
 * the NFT. So each machine finds whether the last one was made by this manifest, to the present owner.
 *
 * @param scope identifies the collection in reference IDs of transfers
 */
export async function ownerHistories(
  store: RunStore,
  place: Place,
  scope: string,
  moved: readonly Moved[],
): Promise<Map<number, OwnerHistory>> {
  const counted = place.hasReferences ? moved.filter(({ nft }) => typeof nft.transfers === 'number') : []
  const asked = counted
    .flatMap((one) => Object.values(transfersOf(scope, one)))
    .map((reference) => ({ operation: 'transfernft' as const, reference }))
  const records = await new ServerNames(place.client, place).lookUp(asked)
  const statuses = new Map([...records].map(([{ reference }, { status }]) => [reference, status]))
  const histories = new Map<number, OwnerHistory>()
  for (const one of moved) {
    const { candidate, nft } = one
    const { last, next } = transfersOf(scope, one)
    const history = counted.includes(one)
      ? {
          isOurs: nft.transfers === 0 ? await isMintedTo(store, one) : statuses.has(last),
          isMoving: statuses.get(next) === 'initiated',
          reference: next,
        }
      : await sentHistory(store, scope, one)
    // A machine that has seen the manifest name that owner knows it.
    const isOurs = history.isOurs || candidate.sent?.knownOwner === ownership(nft)
    histories.set(candidate.row.position, { ...history, isOurs })
  }
  return histories
}

/** A row with an NFT whose owner is not its receiver. */
export interface Moved {
  candidate: Candidate
  nft: NftRecord
}

/** The beginning of the reference IDs of all transfers of a row. */
export const transfersPrefix = (scope: string, reference: string): string => `${referenceId(scope, reference)}:to:`

const transferName = (scope: string, { reference }: Candidate, receiver: string): string =>
  `${transfersPrefix(scope, reference)}${receiver.toLowerCase()}:`

/** Returns the reference IDs of the transfer that made the present owner, and of one to the receiver of the row. */
function transfersOf(scope: string, { candidate, nft }: Moved): { last: string; next: string } {
  const n = nft.transfers ?? 0
  return {
    last: `${transferName(scope, candidate, nft.receiver_wallet_address ?? '')}${n - 1}`,
    next: `${transferName(scope, candidate, candidate.row.row.receiver)}${n}`,
  }
}

/** The same from the state, for servers without reference IDs. A transfer with an unknown outcome is in progress. */
async function sentHistory(store: RunStore, scope: string, moved: Moved): Promise<OwnerHistory> {
  const { candidate, nft } = moved
  const prefix = transfersPrefix(scope, candidate.reference)
  const sent = await store.state.read((sql) => operationsWithPrefix(sql, prefix))
  const name = transferName(scope, candidate, candidate.row.row.receiver)
  const moving = sent.find(({ id, state }) => id.startsWith(name) && state !== 'deployed')
  const last = sent.findLast((one) => one !== moving)
  return {
    isOurs:
      last === undefined
        ? await isMintedTo(store, moved)
        : last.id.startsWith(transferName(scope, candidate, nft.receiver_wallet_address ?? '')),
    isMoving: moving !== undefined,
    reference: moving?.id ?? `${name}${sent.length}`,
  }
}

/** Whether a row was minted to the present owner: by the record of its NFT, or by its request in the state. */
async function isMintedTo({ state }: RunStore, { candidate: { sent }, nft }: Moved): Promise<boolean> {
  const owner = nft.receiver_wallet_address ?? ''
  if (typeof nft.minted_to === 'string') return sameAddress(nft.minted_to, owner)
  if (sent === null) return false
  return sameAddress((await state.read((sql) => receiverOf(sql, sent.id))) ?? '', owner)
}
