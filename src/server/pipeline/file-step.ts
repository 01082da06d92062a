import { MAX_FILE_BYTES } from '../../api/endpoints/files.ts'
import type { NftMetadata } from '../../api/metadata.ts'
import { backoffMs } from '../../core/backoff.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import { isContentUrl, isIpfsUrl, partsOf, placeOf } from '../../core/ipfs-url.ts'
import { SNIFF_BYTES } from '../../files/content-type.ts'
import { FetchFailure } from '../../files/failure.ts'
import { contentProblem } from '../../files/file-content.ts'
import type { LazyFetcher } from '../../files/lazy-fetcher.ts'
import type { Log } from '../log.ts'
import { failClaimedNft, passOnToMint } from '../state/nfts.ts'
import { failClaimedUpdate, passOnToSign } from '../state/updates.ts'
import { ContentTooLargeError, type FileStorage } from '../storage/adapter.ts'
import type { CheckedFiles } from '../storage/checked-files.ts'
import { isCid } from '../storage/cid.ts'
import { findStored } from '../storage/find-stored.ts'
import { firstBytes } from '../storage/first-bytes.ts'
import type { Gateway } from '../storage/gateway.ts'
import { claimForFiles, type FileWork, nextFilesDue, postponeFiles } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import { claimMoment, leaseMs, withLeases } from './leases.ts'
import type { Turn } from './loop.ts'

const MAX_ATTEMPTS = 8
const CONCURRENT = 16
// Longer than the eight files of an NFT can take, each at its time limit.
const LEASE_MS = 5 * 60_000
/** NFTs of one drop often share an image: a URL is fetched once within this time. */
const SHARE_MS = 60_000

/** The operator's policy for files of NFTs. */
export interface FilePolicy {
  allowHtml: boolean
  /** Mint no NFT with a file that isn't stored here; otherwise `ipfs:` and `ar:` URLs are copied to the metadata. */
  requireStored: boolean
  /** The gateway for IPFS files; null if none is configured. */
  ipfs: Pick<Gateway, 'fetchFile'> | null
}

export interface FileStepOptions {
  store: Store
  storage: FileStorage
  checkedFiles: CheckedFiles
  fetcher: LazyFetcher
  files: FilePolicy
  now: () => number
  log: Log
  /**
   * Attempts after temporary errors before an NFT fails; 8 by default, about two minutes in addition to the fetch time.
   */
  maxAttempts?: number | undefined
  /** Number of NFTs that are processed at once; 16 by default. */
  concurrency?: number | undefined
  /** An NFT of this collection, or its update, is ready to be signed for. */
  onMintable: (collectionId: string) => void
  /** There is capacity for another NFT. */
  onFree: () => void
}

export interface FileStep {
  turn: Turn
  /** Aborts running transfers; resolves when no NFT is being processed. */
  stop(): Promise<void>
}

/** Fetches and stores the files of several NFTs and updates at once, so that a slow server delays only its own. */
export function createFileStep(options: FileStepOptions): FileStep {
  const {
    store,
    storage,
    checkedFiles,
    fetcher,
    now,
    log,
    maxAttempts = MAX_ATTEMPTS,
    concurrency = CONCURRENT,
  } = options
  const { allowHtml, requireStored, ipfs } = options.files
  const fileRules = { allowHtml, maxBytes: MAX_FILE_BYTES }
  const active = new Set<Promise<void>>()
  const shared = new Map<string, Promise<string>>()
  const stopping = new AbortController()

  /** Returns the place of an IPFS file; null if it isn't stored here and can't be fetched. */
  const findIpfsFile = async (url: string): Promise<string | null> => {
    const stored = await findStored(storage, url)
    if (stored === null) {
      const problem = await pathProblem(storage, url)
      if (problem !== null) throw new FetchFailure(`${url} ${problem}`, { lasting: true, hint: IPFS_HINT })
      return (await ipfs?.fetchFile(url, storage, fileRules, stopping.signal)) ?? null
    }
    // Checked here because parts of files have their own CIDs, HTML may have been allowed earlier, and an IPFS node may
    // have any content.
    const { cid } = stored.content
    if (!checkedFiles.get(cid)) {
      const problem = contentProblem(await firstBytes(stored.content, SNIFF_BYTES), fileRules)
      if (problem !== null) throw new FetchFailure(`${url} is ${problem}`, { lasting: true, hint: 'Use another file.' })
    }
    await storage.keep(partsOf(stored.place).cid)
    checkedFiles.set(cid, true)
    return stored.place
  }

  /** Returns the place of a URL's file; the URL itself if it isn't stored here. */
  const fetchAndStore = async (url: string): Promise<string> => {
    if (isContentUrl(url)) {
      const place = isIpfsUrl(url) ? await findIpfsFile(url) : null
      if (place !== null || !requireStored) return place ?? url
      throw new FetchFailure(`${url} is not stored here`, {
        lasting: true,
        hint: 'Upload the file to /api/v1/files first, or use an http(s) URL.',
      })
    }
    const { content } = await fetcher.fetchFile(url, stopping.signal)
    return (await storage.add(content, { maxBytes: MAX_FILE_BYTES })).cid
  }

  const share = (url: string): Promise<string> => {
    let stored = shared.get(url)
    if (stored === undefined) {
      stored = fetchAndStore(url)
      shared.set(url, stored)
      const forget = () => shared.delete(url)
      stored.then(() => setTimeout(forget, SHARE_MS).unref(), forget)
    }
    return stored
  }

  const waitFor = (url: string) => (shared.has(url) || isContentUrl(url) ? 0 : Math.ceil(fetcher.wait(url)))

  const work = async (nft: FileWork): Promise<void> => {
    const fields = (JSON.parse(nft.metadata) as NftMetadata).file_fields
    if (fields.some(({ url }) => !isContentUrl(url))) await fetcher.load()
    // One slow origin must not occupy all places: its NFTs are retried in their turn. Nothing is awaited before the
    // requests are in the queue of their origin, so that the next NFT sees them there.
    const wait = Math.max(0, ...fields.map(({ url }) => waitFor(url)))
    if (wait > 0) {
      return void (await postponeFiles(store.db, nft, { attempts: nft.attempts, nextAttemptAt: now() + wait }))
    }
    try {
      const cids = await Promise.all(fields.map((field) => share(field.url)))
      const files = Object.fromEntries(fields.map((field, index) => [field.key, cids[index] ?? '']))
      const passOn = nft.table === 'nfts' ? passOnToMint : passOnToSign
      if (await store.transaction((db) => passOn(db, nft, files))) options.onMintable(nft.collection_id)
    } catch (error) {
      if (!stopping.signal.aborted) return await settleFailure(nft, error)
      // Released unchanged, so that another process need not wait for the lease to expire.
      await postponeFiles(store.db, nft, { attempts: nft.attempts, nextAttemptAt: nft.next_attempt_at })
    }
  }

  const settleFailure = async (nft: FileWork, failure: unknown): Promise<void> => {
    const lasting = failure instanceof ContentTooLargeError || (failure instanceof FetchFailure && failure.lasting)
    const attempts = nft.attempts + 1
    const reason = failure instanceof GdnError ? sentenceOf(failure, lasting) : 'the file could not be stored'
    if (!(failure instanceof GdnError)) log.error({ nft: nft.id, error: messageOf(failure) }, 'storing a file failed')
    if (lasting || attempts >= maxAttempts) {
      const told = lasting ? reason : `${reason} (tried ${attempts} times)`
      const fail = nft.table === 'nfts' ? failClaimedNft : failClaimedUpdate
      if (await store.transaction((db) => fail(db, nft, told))) {
        const what = nft.table === 'nfts' ? 'an NFT failed' : 'an update failed'
        log.info({ [nft.table === 'nfts' ? 'nft' : 'update']: nft.id, requests: [nft.request_id], reason: told }, what)
      }
    } else {
      const error = `${reason} (attempt ${attempts} of ${maxAttempts})`
      await postponeFiles(store.db, nft, { attempts, nextAttemptAt: now() + backoffMs(attempts), error })
    }
  }

  const take = (nft: FileWork) => {
    const task = withLeases(store, nft.table, [nft], () => work(nft))
      .catch((error) => log.error({ nft: nft.id, error: messageOf(error) }, 'an NFT could not be processed'))
      .finally(() => {
        active.delete(task)
        options.onFree()
      })
    active.add(task)
  }

  return {
    async turn() {
      if (stopping.signal.aborted) return null
      const free = concurrency - active.size
      if (free <= 0) return null
      let left = free
      let due: number | null = null
      for (const table of ['nfts', 'updates'] as const) {
        const options = { now: claimMoment(store, now), leaseMs: leaseMs(store, LEASE_MS), limit: left }
        const claimed = await claimForFiles(store.db, table, options)
        for (const row of claimed) take(row)
        left -= claimed.length
        if (left === 0) return null
        const next = await nextFilesDue(store.db, table)
        if (next !== null) due = Math.min(due ?? next, next)
      }
      return due === null ? null : Math.max(50, due - now())
    },

    async stop() {
      stopping.abort()
      await Promise.allSettled(active)
    },
  }
}

const IPFS_HINT = 'Use the URL of a file: ipfs://<cid>/<path>.'

/** Returns why an ipfs URL without a stored file can never have one; null if it may. */
async function pathProblem(storage: FileStorage, url: string): Promise<string | null> {
  const { cid, path } = partsOf(placeOf(url))
  if (!isCid(cid)) return 'has no valid CID'
  const name = path.pop()
  const folder = await storage.open(cid, path, { ours: true })
  if (folder?.type !== 'directory') return null
  if (name === undefined) return 'is a directory'
  return folder.entries.some((entry) => entry.name === name) ? null : 'does not exist in its directory'
}

/** Returns the error and, if a retry can't help, its hint. */
const sentenceOf = ({ message, hint }: GdnError, lasting: boolean): string =>
  lasting && hint !== undefined ? `${message}. ${hint}` : message
