import type { NftRecord } from '../api/nft-record.ts'
import { hasFailed } from '../api/nft-status.ts'
import { isSameAddress } from '../api/same-address.ts'
import { ReferenceLookup } from '../batch/identity/server-names.ts'
import { formatKey, isContentKey, rowReferenceId } from '../batch/rows/row-key.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import { GdnError } from '../core/errors.ts'
import { listSome } from '../core/list-some.ts'
import { shortenTo } from '../core/shorten.ts'
import { listIds } from '../operations/reconcile/listing.ts'
import { listNftsWithoutRow, type RemovedRow, removedRows } from '../state/draft-rows.ts'
import { operationsWithPrefix } from '../state/operations.ts'
import { IN_PROGRESS_REASON, pendingChange } from './compare.ts'
import { type NftSource, readCandidates, transfersPrefix } from './find-nfts.ts'
import type { PlannedChange } from './planned.ts'

/** A removed row whose NFT was burned. */
export type BurnedRow = Pick<RemovedRow, 'id' | 'nftGdnId'>

const PAGE_SIZE = 1_000

/**
 * Yields the burns of NFTs whose rows were removed. Burns only NFTs that this run minted, and whose owner is still the
 * receiver of the mint or of this machine's last transfer. All rows must have been compared before, because the
 * temporary tables `draft` and `named` determine which NFTs have a row.
 *
 * @param scope see `ownerHistories`
 * @param noBurns why the collection doesn't permit burns; null if it does
 * @param onBurned called for each NFT that is already burned
 */
export async function* findBurns(
  run: StoredRun,
  source: NftSource,
  { scope, noBurns, onBurned }: { scope: string; noBurns: string | null; onBurned(row: BurnedRow): void },
): AsyncGenerator<PlannedChange> {
  for (let after: Pick<RemovedRow, 'line' | 'id'> = { line: -1, id: '' }; ; ) {
    const page = await removedRowsPage(run, after)
    const last = page.at(-1)
    if (last === undefined) return
    after = last
    const records = await readCandidates(source, page)
    for (const row of page) {
      const nft = records.get(row.nftGdnId)
      if (nft?.burned === true) onBurned(row)
      if (nft === undefined || hasFailed(nft.status) || nft.burned === true) continue
      const isOurs = await isOwnerNamed(run, scope, row, nft)
      yield toBurnChange(row, nft, isOurs, source.hasUpdates ? noBurns : NO_BURNS_REASON)
    }
  }
}

/** NFTs whose rows were removed. */
export interface RemovedRows {
  /** NFTs that are already burned. */
  burned: BurnedRow[]
  /** The names of the first NFTs that aren't burned. */
  firstNames: string[]
}

const MAX_LISTED_ROWS = 5

/** Returns the burned NFTs of removed rows, and the names of the first NFTs that aren't burned. */
export async function findRemovedRows(run: StoredRun, source: NftSource): Promise<RemovedRows> {
  const gone: RemovedRows = { burned: [], firstNames: [] }
  for (let after: Pick<RemovedRow, 'line' | 'id'> | undefined = { line: -1, id: '' }; after !== undefined; ) {
    const page: RemovedRow[] = await removedRowsPage(run, after)
    const records = await readCandidates(source, page)
    for (const { id, key, nftGdnId } of page) {
      const nft = records.get(nftGdnId)
      if (nft?.burned === true) gone.burned.push({ id, nftGdnId })
      else if (gone.firstNames.length < MAX_LISTED_ROWS) gone.firstNames.push(nftName(key, nft))
    }
    after = page.at(-1)
  }
  return gone
}

function nftName(key: string, nft: NftRecord | undefined): string {
  const { title } = Object(nft?.request_metadata) as { title?: unknown }
  if (typeof title !== 'string') return formatKey(key)
  return isContentKey(key) ? title : `${title} (${formatKey(key)})`
}

/**
 * Returns the NFTs of the collection to which no row refers and that no run on this machine has minted. Includes NFTs
 * that this run found on the server. Excludes failed and burned NFTs.
 *
 * @returns null if the server doesn't list the collection
 */
export async function findNftsWithoutRow({ state, drop }: StoredRun, source: NftSource): Promise<string[] | null> {
  const listed = await listIds(source, source).catch((error: unknown) => {
    if (error instanceof GdnError && (error.code === 'refused' || error.code === 'forbidden')) return null
    throw error
  })
  if (listed === null) return null
  const ids = await state.scratch((sql) => listNftsWithoutRow(sql, drop, listed))
  const ended = await new ReferenceLookup(source.client, source).findEndedNfts(ids)
  return ids.filter((id) => !ended.has(id))
}

/** Returns the notes for `--prune` about NFTs that this machine can't burn. */
export async function readNftsWithoutRowNotes(source: NftSource, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const isOne = ids.length === 1
  const nfts = isOne
    ? '1 NFT of the collection has no row, and was'
    : `${ids.length} NFTs of the collection have no row, and were`
  return [
    `${nfts} not minted on this machine. gdn can't determine whether ${isOne ? 'it belongs' : 'they belong'} to this drop`,
    await readNftsWithoutRowNames(source, ids),
    BURN_HINT,
  ]
}

/** Returns a note with the first NFTs that have no row. */
export async function readNftsWithoutRowNames(source: NftSource, ids: readonly string[]): Promise<string> {
  const first = ids.slice(0, MAX_LISTED_ROWS)
  const records = await readCandidates(
    source,
    first.map((nftGdnId) => ({ nftGdnId })),
  )
  const names = first.map((id) => formatNft(id, records.get(id)))
  return `Without a row: ${listSome(names, ids.length)}`
}

/** Formats an NFT with its title and token ID: `8d3… ("Dusk", token 7)`. */
function formatNft(id: string, nft: NftRecord | undefined): string {
  const { title } = Object(nft?.request_metadata) as { title?: unknown }
  const names = [
    ...(typeof title === 'string' ? [JSON.stringify(shortenTitle(title))] : []),
    ...(nft?.token_id == null ? [] : [`token ${nft.token_id}`]),
  ]
  return names.length === 0 ? id : `${id} (${names.join(', ')})`
}

const MAX_TITLE_LENGTH = 40

const shortenTitle = (title: string): string => shortenTo(title, MAX_TITLE_LENGTH)

/** Note on where to burn NFTs that this machine didn't mint. */
export const BURN_HINT =
  'Run gdn plan with --prune on the machine that minted the drop, or burn NFTs with gdn nft burn <nft_gdn_id>'

const NO_BURNS_REASON = "the server can't burn NFTs"

async function removedRowsPage(
  { state, drop }: StoredRun,
  after: Pick<RemovedRow, 'line' | 'id'>,
): Promise<RemovedRow[]> {
  const rows = await state.read((sql) => removedRows(sql, drop, after, PAGE_SIZE))
  // If a row got an ID after it was minted, its transfers use that ID.
  return rows.map((row) =>
    isContentKey(row.key) ? row : { ...row, reference: rowReferenceId(drop.referenceScope, row.key) },
  )
}

/** Returns whether the owner of an NFT is the last one that the manifest specified, and no later transfer was made. */
async function isOwnerNamed(
  { state }: StoredRun,
  scope: string,
  { reference, receiver }: RemovedRow,
  nft: NftRecord,
): Promise<boolean> {
  const prefix = transfersPrefix(scope, reference)
  const operations = await state.read((sql) => operationsWithPrefix(sql, prefix))
  const last = operations.findLast(({ state }) => state === 'accepted' || state === 'deployed')
  const [lastReceiver = receiver, before = '-1'] = last?.id.slice(prefix.length).split(':') ?? []
  // The number may be lower than recorded, because a backend that was restored from a backup may have lost transfers.
  return isSameAddress(nft.receiver_wallet_address ?? '', lastReceiver) && (nft.transfers ?? 0) <= Number(before) + 1
}

function toBurnChange(row: RemovedRow, nft: NftRecord, isOurs: boolean, noBurns: string | null): PlannedChange {
  const owner = nft.receiver_wallet_address ?? ''
  // The ID is the same on every machine, so the server burns the NFT once. Unlike an update, a burn needs no number in
  // its ID, because a burn is the last change of an NFT.
  const reference = `${row.reference}:burn`
  const isGoingOn = nft.pending_change?.kind === 'burn'
  const obstacle =
    noBurns ?? (nft.status === 'deployed' ? (isGoingOn ? null : pendingChange(nft)) : 'the NFT is not deployed yet')
  const { title } = (nft.request_metadata ?? {}) as { title?: unknown }
  return {
    key: formatKey(row.key),
    line: null,
    title: typeof title === 'string' ? title : '',
    action: isOurs ? (obstacle === null ? 'burn' : 'impossible') : 'drift',
    want: 'burn',
    fields: [{ field: 'owner', from: owner, to: null }],
    reason: isOurs
      ? (obstacle ?? (isGoingOn ? IN_PROGRESS_REASON : null))
      : 'the owner of the NFT was changed outside the manifest',
    nftGdnId: row.nftGdnId,
    tokenId: nft.token_id ?? null,
    revision: nft.revision ?? null,
    transfers: nft.transfers ?? null,
    reference,
  }
}
