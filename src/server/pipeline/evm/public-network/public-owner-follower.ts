import { chunksOf } from '../../../../core/chunks-of.ts'
import { collectionEvents, decodeMints, EVENT_TOPICS } from '../../../chain/evm/collection-events.ts'
import type { EvmNetwork, LogFilter, PublicNetwork, RawLog } from '../../../chain/evm/network.ts'
import { isUnreachable, RpcError } from '../../../chain/rpc/rpc-response.ts'
import type { Log } from '../../../log.ts'
import { collectionAddresses, findFirstDeployment, hasCollections } from '../../../store/collections.ts'
import { findStartBlock, recordStartBlock } from '../../../store/followers.ts'
import type { Store } from '../../../store/open-store.ts'
import { findCursor, listCursors, movePublicCursor, type OwnerCursor } from '../../../store/owner-events.ts'
import { readBlock, revertEvents, writeEvents } from '../follow-owners.ts'
import { createEventQueryRange, type EventQueryRange } from './event-query-range.ts'

/** Maximum difference in milliseconds between the clocks of a network and of a machine. */
const MAX_CLOCK_SKEW_MS = 3_600_000

export interface FollowPublicOwnersOptions {
  store: Store
  network: EvmNetwork & { readonly publicNetwork: PublicNetwork }
  log: Log
}

/**
 * Tracks owners and flags on a public network. Unlike `followOwners`, reads only the collections of this backend, from
 * their first block on, and within the query limit of the provider. A turn resolves with whether blocks remain to be
 * read.
 *
 * The nodes behind a URL may be at different blocks and on different branches. A read therefore counts only if the node
 * has the last block of the range and the block before the range.
 */
export function createPublicOwnerFollower({ store, network, log }: FollowPublicOwnersOptions): () => Promise<boolean> {
  const { blockchain, publicNetwork } = network
  const range = createEventQueryRange()

  /** Returns the first block to read. Returns null if no collection is deployed yet. */
  const findStart = async (): Promise<number | null> => {
    const first = await findFirstDeployment(store.db, blockchain)
    if (first === null) return null
    // Start earlier, because a reorg may have moved the deployment back by up to `finality` blocks.
    const { acceptedAt, block } = first
    const start = block === null ? await blockBefore(acceptedAt) : Math.max(0, block - publicNetwork.finality)
    await recordStartBlock(store.db, blockchain, start)
    return start
  }

  /**
   * Returns the number of a block that was mined before the given time. It is needed if a restored database doesn't
   * have the transaction of the deployment.
   */
  const blockBefore = async (ms: number): Promise<number> => {
    const since = Math.floor((ms - MAX_CLOCK_SKEW_MS) / 1000)
    let [before, after] = [0, await publicNetwork.head()]
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2)
      const block = await readBlock(network, middle)
      if (block === null) throw new Error(`a node of ${blockchain} lacks block ${middle}`)
      if (Number(block.timestamp) < since) before = middle
      else after = middle
    }
    return before
  }

  const readNextBlocks = async (cursor: OwnerCursor | null): Promise<boolean> => {
    const start = (await findStartBlock(store.db, blockchain)) ?? (await findStart())
    if (start === null) return false
    const head = await readBlock(network, 'latest')
    if (head === null) throw new Error(`${blockchain} has no blocks`)
    const top = Number(head.number)
    if (cursor !== null && top === cursor.block_number && head.hash !== cursor.block_hash) {
      return await rollBack(cursor, start)
    }
    const from = (cursor?.block_number ?? start - 1) + 1
    // Wait, because this node may lag. A reorg is detected when the new chain is as long as the old one.
    if (top < from) return false
    const to = Math.min(top, from + range.blocks - 1)
    // Read the addresses after the head, so that they include every collection that is in a block up to the head.
    const addresses = await collectionAddresses(store.db, blockchain)
    const blockNumbers = [to, ...(cursor === null ? [] : [cursor.block_number])]
    const response = await publicNetwork
      .logs(buildFilters({ from, to, addresses }, range), blockNumbers)
      .catch((error: unknown) => {
        if (error instanceof RpcError && range.recordRejection(to - from + 1, error.message)) return null
        throw error
      })
    if (response === null) return true
    const { logs, hashes } = response
    const [last, before] = hashes
    // This node lags behind the one that returned the head.
    if (last === null || last === undefined || before === null) return false
    if (cursor !== null && before !== cursor.block_hash) return await rollBack(cursor, start)
    if (to === top && last !== head.hash) return false
    const logsInRange = filterLogs(logs, from, to)
    await writeEvents(store, {
      events: collectionEvents(logsInRange),
      mints: decodeMints(logsInRange),
      cursor,
      reached: { blockchain, block_number: to, block_hash: last },
      move: (db, reached) => movePublicCursor(db, reached, publicNetwork.finality),
    })
    range.recordSuccess(to - from + 1)
    return to < top
  }

  /** Rolls back to the newest block that was read and is still on the chain. */
  const rollBack = async (cursor: OwnerCursor, start: number): Promise<boolean> => {
    const cursors = await listCursors(store.db, blockchain)
    const hashes = await publicNetwork.blockHashes(cursors.map(({ block_number }) => block_number))
    // The node lags, or the new chain isn't as long as the old one yet. Check again in a later turn.
    if (hashes.includes(null)) return false
    const lastKept = cursors.find(({ block_hash }, index) => hashes[index] === block_hash)?.block_number ?? start - 1
    const logFields = { blockchain, block: cursor.block_number, kept: lastKept }
    log.warn(logFields, 'a reorg removed blocks; the owners of their NFTs will be read again')
    await revertEvents(store, cursor, lastKept)
    return true
  }

  return async () => {
    if (!(await hasCollections(store.db, blockchain))) return false
    const cursor = await findCursor(store.db, blockchain)
    try {
      return await readNextBlocks(cursor)
    } catch (error) {
      if (isUnreachable(error)) range.recordNoResponse()
      throw error
    }
  }
}

function buildFilters(
  { from, to, addresses }: { from: number; to: number; addresses: readonly string[] },
  { addresses: addressesPerBatch }: Pick<EventQueryRange, 'addresses'>,
): LogFilter[] {
  const filters: LogFilter[] = []
  for (const chunk of chunksOf(addresses, addressesPerBatch)) {
    filters.push({ from, to, addresses: chunk, topics: EVENT_TOPICS })
  }
  return filters
}

/** Returns the logs without duplicates and without logs that weren't requested. */
function filterLogs(logs: readonly RawLog[], from: number, to: number): RawLog[] {
  const seenPlaces = new Set<string>()
  return logs.filter((log) => {
    const [blockNumber, logIndex] = [Number(log.blockNumber), Number(log.logIndex)]
    const place = `${blockNumber} ${logIndex}`
    if (!(blockNumber >= from && blockNumber <= to) || seenPlaces.has(place)) return false
    seenPlaces.add(place)
    return true
  })
}
