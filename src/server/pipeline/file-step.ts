import type { NftMetadata } from '../../api/metadata.ts'
import { backoffMs } from '../../core/backoff.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import { groupCalls } from '../../core/group-calls.ts'
import { isContentUrl } from '../../core/ipfs-url.ts'
import { FetchFailure } from '../../files/failure.ts'
import type { Log } from '../log.ts'
import { failClaimedNft } from '../state/nfts.ts'
import { passOnFiles, type StoredFiles } from '../state/pass-on-files.ts'
import { failClaimedUpdate } from '../state/updates.ts'
import { ContentTooLargeError } from '../storage/adapter.ts'
import { claimFileWork, type FileWork, postponeFiles, readNextFilesDueAt } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import { createFileSource, type FileSourceOptions } from './file-source.ts'
import { claimOptions, withLeases } from './leases.ts'
import { createTaskPool } from './task-pool.ts'

const MAX_ATTEMPTS = 8
const MAX_CONCURRENT_NFTS = 64
// Even if all eight files of an NFT reach their time limit, they take less time than the lease.
const LEASE_MS = 5 * 60_000

export interface FileStepOptions extends FileSourceOptions {
  store: Store
  now: () => number
  log: Log
  /**
   * Number of attempts after which a temporary error fails an NFT. Default: 8. Eight attempts take about two minutes
   * plus the fetch time.
   */
  maxAttempts?: number | undefined
  /** Maximum number of NFTs that are processed at once. Default: 64. */
  concurrency?: number | undefined
  /** Called when an NFT of this collection, or an update of one, can be signed. */
  onMintable: (collectionId: string) => void
  /** Called when there is capacity for another NFT. */
  onFree: () => void
}

/**
 * Fetches and stores the files of several NFTs and updates concurrently, so that a slow server delays only its own
 * NFTs.
 */
export function createFileStep(options: FileStepOptions) {
  const { store, now, log, maxAttempts = MAX_ATTEMPTS, concurrency = MAX_CONCURRENT_NFTS } = options
  const pool = createTaskPool(concurrency)
  const source = createFileSource(options, pool.signal)
  /**
   * Stores results in groups, because files of NFTs often arrive at the same time, and each transaction waits for the
   * disk.
   */
  const storeResults = groupCalls(async (stored: readonly StoredFiles[]) => {
    const passed = await store.transaction((db) => passOnFiles(db, stored))
    for (const id of new Set(passed.map(({ collection_id }) => collection_id))) options.onMintable(id)
  })

  const work = async (nft: FileWork): Promise<void> => {
    const fields = (JSON.parse(nft.metadata) as NftMetadata).file_fields
    const urls = fields.map(({ url }) => url)
    if (urls.some((url) => !isContentUrl(url))) await options.fetcher.load()
    // Postpone NFTs of a slow origin until the origin is free again, so that they don't occupy the whole pool. Don't
    // await anything before the requests are in the origin's queue, so that the wait of the next NFT includes them.
    const wait = Math.max(0, ...urls.map(source.wait))
    if (wait > 0) {
      return void (await postponeFiles(store.db, nft, { attempts: nft.attempts, nextAttemptAt: now() + wait }))
    }
    try {
      const places = await Promise.all(urls.map(source.store))
      const files = Object.fromEntries(fields.map((field, index) => [field.key, places[index] ?? '']))
      await storeResults({ claimed: nft, files })
    } catch (error) {
      if (!pool.signal.aborted) return await settleFailure(nft, error)
      // Release the claim unchanged, so that another process doesn't have to wait until the lease expires.
      await postponeFiles(store.db, nft, { attempts: nft.attempts, nextAttemptAt: nft.next_attempt_at })
    }
  }

  const settleFailure = async (nft: FileWork, failure: unknown): Promise<void> => {
    const isPermanent =
      failure instanceof ContentTooLargeError || (failure instanceof FetchFailure && failure.isLasting)
    const attempts = nft.attempts + 1
    const reason = failure instanceof GdnError ? formatFailure(failure, isPermanent) : 'the file could not be stored'
    if (!(failure instanceof GdnError)) log.error({ nft: nft.id, error: messageOf(failure) }, 'storing a file failed')
    if (isPermanent || attempts >= maxAttempts) {
      const finalReason = isPermanent ? reason : `${reason} (tried ${attempts} times)`
      const fail = nft.table === 'nfts' ? failClaimedNft : failClaimedUpdate
      if (await store.transaction((db) => fail(db, nft, finalReason))) {
        const message = nft.table === 'nfts' ? 'an NFT failed' : 'an update failed'
        log.info(
          { [nft.table === 'nfts' ? 'nft' : 'update']: nft.id, requests: [nft.request_id], reason: finalReason },
          message,
        )
      }
    } else {
      const error = `${reason} (attempt ${attempts} of ${maxAttempts})`
      await postponeFiles(store.db, nft, { attempts, nextAttemptAt: now() + backoffMs(attempts), error })
    }
  }

  const processNft = async (nft: FileWork): Promise<void> => {
    await withLeases(store, nft.table, [nft], () => work(nft)).catch((error) =>
      log.error({ nft: nft.id, error: messageOf(error) }, 'an NFT could not be processed'),
    )
  }

  return {
    async turn(): Promise<number | null> {
      if (pool.signal.aborted) return null
      let free = pool.free()
      if (free <= 0) return null
      let dueAt: number | null = null
      for (const table of ['nfts', 'updates'] as const) {
        const claimed = await claimFileWork(store.db, table, claimOptions(store, now, LEASE_MS, free))
        for (const nft of claimed) pool.add(processNft(nft), options.onFree)
        free -= claimed.length
        if (free === 0) return null
        const next = await readNextFilesDueAt(store.db, table)
        if (next !== null) dueAt = Math.min(dueAt ?? next, next)
      }
      return dueAt === null ? null : Math.max(50, dueAt - now())
    },

    /** Aborts downloads in progress. Resolves when no NFT is being processed. */
    stop: pool.stop,
  }
}

/** Returns the error's message, followed by the error's hint if a retry can't help. */
const formatFailure = ({ message, hint }: GdnError, lasting: boolean): string =>
  lasting && hint !== undefined ? `${message}. ${hint}` : message
