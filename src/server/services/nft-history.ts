import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Blockchain } from '../../api/blockchains.ts'
import { MAX_CHANGE_LENGTH, MAX_CHANGES_PER_EVENT } from '../../api/endpoints/getnfthistory.ts'
import type { NftMetadata } from '../../api/metadata.ts'
import { metadataChanges } from '../../api/metadata-changes.ts'
import { shortenTo } from '../../core/shorten.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import { embeddedBlocks, type HistoryRow, metadataAround } from '../store/nft-history.ts'
import type { Db } from '../store/schema.ts'
import type { ServiceDeps } from './services.ts'

/** Timeout in milliseconds for reading block times. The timeout is short, because the response can omit the times. */
const CHAIN_PATIENCE_MS = 5000

/** Returns the times of blocks in milliseconds since the epoch. Omits blocks whose time can't be read. */
export async function readBlockTimes(
  { db, chains }: Pick<ServiceDeps, 'chains'> & { db: Db },
  blockchain: Blockchain,
  rows: readonly Pick<HistoryRow, 'block_number'>[],
): Promise<ReadonlyMap<number, number>> {
  const times = new Map<number, number>()
  const numbers = [...new Set(rows.flatMap(({ block_number: block }) => block ?? []))]
  // Read the blocks of embedded chains from the database, because the chains may not be running.
  for (const { number, timestamp } of await embeddedBlocks(db, blockchain, numbers)) times.set(number, timestamp * 1000)
  const facts = chainFacts(chains, blockchain)
  const read = async (number: number) => {
    const time = await facts.readBlockTime(number)
    if (time !== null) times.set(number, time)
  }
  await withTimeout(
    Promise.all(numbers.map(read)).catch(() => null),
    CHAIN_PATIENCE_MS,
  )
  return new Map(times)
}

export type ShownChange = { field: string; before: string | null; after: string | null }

/**
 * Returns the changes that an update made, truncated for a list. Returns null for other events, or if the metadata
 * isn't known.
 */
export async function readShownChanges(
  db: Db,
  nftId: string,
  { kind, update_seq: seq }: HistoryRow,
): Promise<{ changes: ShownChange[] | null; changes_left_out: number }> {
  if (kind !== 'update' || seq === null) return { changes: null, changes_left_out: 0 }
  const { before, after } = await metadataAround(db, nftId, seq)
  // Yield, because the metadata of each event may be a megabyte long.
  await nextTurn()
  const all = metadataChanges(JSON.parse(before) as NftMetadata, JSON.parse(after) as NftMetadata)
  const shownChanges = all.slice(0, MAX_CHANGES_PER_EVENT)
  return {
    changes: shownChanges.map((change) => ({
      field: shortenTo(change.field, MAX_CHANGE_LENGTH),
      before: shortenValue(change.before),
      after: shortenValue(change.after),
    })),
    changes_left_out: all.length - shownChanges.length,
  }
}

const shortenValue = (value: unknown): string | null =>
  value === null ? null : shortenTo(typeof value === 'string' ? value : JSON.stringify(value), MAX_CHANGE_LENGTH)
