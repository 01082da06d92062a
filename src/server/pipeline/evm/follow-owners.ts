import { checksumAddress } from '../../../api/address.ts'
import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { hexQuantity } from '../../../core/hex-quantity.ts'
import {
  type CollectionChange,
  type CollectionEvent,
  collectionEvents,
  decodeMints,
  type Mint,
  readCollectionLogs,
} from '../../chain/evm/collection-events.ts'
import type { EvmNetwork, Hex } from '../../chain/evm/network.ts'
import { findCollectionIds } from '../../store/collections.ts'
import type { Store } from '../../store/open-store.ts'
import {
  applyEvents,
  findCursor,
  listCursors,
  lockTokenOwners,
  moveCursor,
  type OwnerCursor,
  type OwnerEventRow,
  undoEvents,
} from '../../store/owner-events.ts'
import type { Db } from '../../store/schema.ts'
import { addUnknownMints, deleteUnknownMints, type FoundMint } from '../../store/unknown-mints.ts'
import { deleteUnknownUpdates } from '../../store/updates.ts'

/** Number of blocks whose events are read at once. The events of 100 full blocks are about 12 MB of JSON. */
const BLOCKS_PER_BATCH = 100

export interface FollowedBlock {
  number: Hex
  hash: Hex
  parentHash: Hex
  /** Timestamp of the block in seconds. */
  timestamp: Hex
}

export interface FollowOptions {
  store: Store
  network: Pick<EvmNetwork, 'blockchain' | 'request'>
  blocksPerBatch?: number
}

/**
 * Reads the next blocks of a chain and updates owners and flags of NFTs and collections, in one database transaction
 * with the cursor. After a reorg, first rolls back the changes from removed blocks.
 *
 * @returns whether blocks remain to be read
 */
export async function followOwners({
  store,
  network,
  blocksPerBatch = BLOCKS_PER_BATCH,
}: FollowOptions): Promise<boolean> {
  const { blockchain } = network
  const head = await readBlock(network, 'latest')
  if (head === null) throw new Error(`${blockchain} has no blocks`)
  const cursor = await findCursor(store.db, blockchain)
  if (cursor !== null && !(await isAncestor(network, cursor, head))) {
    await revertEvents(store, cursor, await findLastBlockOnChain({ store, network }))
    return true
  }
  const from = (cursor?.block_number ?? -1) + 1
  if (from > Number(head.number)) return false
  const to = Math.min(Number(head.number), from + blocksPerBatch - 1)
  const last = to === Number(head.number) ? head : await readBlock(network, to)
  const logs = await readCollectionLogs(network, { from, to })
  // If a reorg happened in the meantime, the events may be from other blocks.
  if (last === null || (await readBlock(network, to))?.hash !== last.hash) return true
  const reached = { blockchain, block_number: to, block_hash: last.hash }
  await writeEvents(store, {
    events: collectionEvents(logs),
    mints: decodeMints(logs),
    cursor,
    reached,
    move: moveCursor,
  })
  return to < Number(head.number)
}

/**
 * Rolls back the changes from blocks above `lastKept`. Does nothing if another follower has already rolled them back,
 * because that follower may have continued since then.
 */
export async function revertEvents(
  store: Store,
  { blockchain, block_hash }: OwnerCursor,
  lastKept: number,
): Promise<void> {
  await store.transaction(async (db) => {
    await lockTokenOwners(db, blockchain, 'alone')
    if ((await findCursor(db, blockchain))?.block_hash !== block_hash) return
    await undoEvents(db, blockchain, lastKept)
    await deleteUnknownMints(db, blockchain, lastKept)
    await deleteUnknownUpdates(db, blockchain, lastKept)
  })
}

/**
 * Writes the changes from the blocks after `cursor`, and the new cursor. Does nothing if another follower has already
 * written them.
 */
export async function writeEvents(
  store: Store,
  batch: {
    events: readonly CollectionEvent[]
    mints: readonly Mint[]
    cursor: OwnerCursor | null
    reached: OwnerCursor
    move: (db: Db, reached: OwnerCursor) => Promise<void>
  },
): Promise<void> {
  const { events, mints, cursor, reached, move } = batch
  await store.transaction(async (db) => {
    const hasCursorMoved = async () => (await findCursor(db, reached.blockchain))?.block_hash !== cursor?.block_hash
    // Every worker tracks the owners. Check before acquiring the lock, because the lock blocks workers that write
    // minted tokens.
    if (await hasCursorMoved()) return
    // Without events, acquire only a shared lock, so that other workers can write minted tokens.
    await lockTokenOwners(db, reached.blockchain, events.length > 0 ? 'alone' : 'shared')
    if (await hasCursorMoved()) return
    await applyEvents(db, await ownerEventRows(db, reached.blockchain, events))
    await addUnknownMints(db, await buildMintRows(db, reached.blockchain, mints))
    await move(db, reached)
  })
}

/** Returns the mints that are in collections of this backend, regardless of their signer. */
async function buildMintRows(db: Db, blockchain: EvmBlockchain, mints: readonly Mint[]): Promise<FoundMint[]> {
  if (mints.length === 0) return []
  const ids = await createCollectionIdLookup(db, blockchain, mints)
  return mints.flatMap(({ address, transactionHash: hash, blockNumber, startId, count }) => {
    const id = ids(address)
    if (id === undefined) return []
    const tokens = { start_id: String(startId), token_count: count }
    return [{ collection_id: id, hash, blockchain, block_number: blockNumber, ...tokens }]
  })
}

/** Returns a function that maps the address in a log to the ID of its collection. */
async function createCollectionIdLookup(db: Db, blockchain: EvmBlockchain, entries: readonly { address: Hex }[]) {
  const checksummed = new Map(
    [...new Set(entries.map(({ address }) => address))].map((at) => [at, checksumAddress(at)]),
  )
  const ids = await findCollectionIds(db, blockchain, [...checksummed.values()])
  return (address: Hex) => ids.get(checksummed.get(address) ?? '')
}

async function ownerEventRows(
  db: Db,
  blockchain: EvmBlockchain,
  events: readonly CollectionEvent[],
): Promise<OwnerEventRow[]> {
  if (events.length === 0) return []
  const ids = await createCollectionIdLookup(db, blockchain, events)
  return events.flatMap(({ blockNumber, logIndex, transactionHash, address, change }) => {
    const id = ids(address)
    if (id === undefined) return []
    const place = { blockchain, block_number: blockNumber, log_index: logIndex, transaction_hash: transactionHash }
    return [{ ...place, collection_id: id, kind: change.kind, ...toEventValues(change) }]
  })
}

/**
 * Returns the token of a change, and the values before and after the change. Every event of gdn's contracts includes
 * the previous value.
 */
function toEventValues(change: CollectionChange): Pick<OwnerEventRow, 'token_id' | 'previous' | 'next'> {
  if (change.kind === 'transfer') return { token_id: String(change.tokenId), previous: change.from, next: change.to }
  if (change.kind === 'owner') return { token_id: null, previous: change.previous, next: change.next }
  if (change.kind === 'max_supply') {
    return { token_id: null, previous: String(change.previous), next: String(change.next) }
  }
  const on = !('enabled' in change) || change.enabled
  return { token_id: null, previous: on ? '0' : '1', next: on ? '1' : '0' }
}

/** Returns the number of the newest block that was read and is still on the chain; -1 if there is none. */
async function findLastBlockOnChain({ store, network }: Pick<FollowOptions, 'store' | 'network'>): Promise<number> {
  for (const { block_number, block_hash } of await listCursors(store.db, network.blockchain)) {
    if ((await readBlock(network, block_number))?.hash === block_hash) return block_number
  }
  return -1
}

async function isAncestor(
  network: Pick<EvmNetwork, 'request'>,
  { block_number, block_hash }: { block_number: number; block_hash: string },
  head: FollowedBlock,
): Promise<boolean> {
  if (Number(head.number) === block_number) return head.hash === block_hash
  if (Number(head.number) === block_number + 1) return head.parentHash === block_hash
  return (await readBlock(network, block_number))?.hash === block_hash
}

export function readBlock(
  network: Pick<EvmNetwork, 'request'>,
  block: number | 'latest',
): Promise<FollowedBlock | null> {
  const name = block === 'latest' ? block : hexQuantity(block)
  return network.request<FollowedBlock | null>('eth_getBlockByNumber', [name, false])
}
