import { MAX_FILE_BYTES } from '../../api/endpoints/files.ts'
import type { NftMetadata } from '../../api/metadata.ts'
import { backoffMs } from '../../core/backoff.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import { isContentUrl, isIpfsUrl, partsOf, placeOf } from '../../core/ipfs-url.ts'
import { SNIFF_BYTES } from '../../files/content-type.ts'
import { FetchFailure } from '../../files/failure.ts'
import type { Fetcher } from '../../files/fetcher.ts'
import { contentProblem } from '../../files/file-content.ts'
import type { Log } from '../log.ts'
import { failClaimedNft, passOnToMint } from '../state/nfts.ts'
import { ContentTooLargeError, type FileStorage } from '../storage/adapter.ts'
import type { CheckedFiles } from '../storage/checked-files.ts'
import { isCid } from '../storage/cid.ts'
import { findStored } from '../storage/find-stored.ts'
import { firstBytes } from '../storage/first-bytes.ts'
import type { Gateway } from '../storage/gateway.ts'
import { claimNftsForFiles, type NftRow, nextFilesDue, postponeNft } from '../store/nfts.ts'
import type { Store } from '../store/open-store.ts'
import { claimMoment, leaseMs, withLeases } from './leases.ts'
import type { Turn } from './loop.ts'

const MAX_ATTEMPTS = 8
const CONCURRENT = 16
// Longer than the eight files of an NFT can take, each at its time limit.
const LEASE_MS = 5 * 60_000
/** NFTs of one drop often share a picture: a URL is fetched once within this time. */
const SHARE_MS = 60_000

/** What an operator decided about the files of NFTs. */
export interface FilePolicy {
  allowHtml: boolean
  /** Mint no NFT with a file that is not stored here; else `ipfs:` and `ar:` URLs go into the metadata as they are. */
  requireStored: boolean
  /** By which files of IPFS are fetched; null where none is configured. */
  ipfs: Pick<Gateway, 'fetchFile'> | null
}

export interface FileStepOptions {
  store: Store
  storage: FileStorage
  checkedFiles: CheckedFiles
  fetcher: Fetcher
  files: FilePolicy
  now: () => number
  log: Log
  /** Attempts for passing reasons before an NFT fails; by default 8, which is about two minutes beside the time of fetching. */
  maxAttempts?: number | undefined
  /** NFTs that are worked on at once; by default 16. */
  concurrency?: number | undefined
  /** An NFT of this collection waits for a batch. */
  onMintable: (collectionId: string) => void
  /** A place for another NFT became free. */
  onFree: () => void
}

export interface FileStep {
  turn: Turn
  /** Cuts running transfers; resolves when no NFT is being worked on. */
  stop(): Promise<void>
}

/** Fetches the files of NFTs and stores them: several NFTs at once, so that a slow server delays only its own. */
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

  /** The place of a file of IPFS; null where it isn't stored here and can't be fetched. */
  const findIpfsFile = async (url: string): Promise<string | null> => {
    const stored = await findStored(storage, url)
    if (stored === null) {
      const problem = await pathProblem(storage, url)
      if (problem !== null) throw new FetchFailure(`${url} ${problem}`, { lasting: true, hint: IPFS_HINT })
      return (await ipfs?.fetchFile(url, storage, fileRules, stopping.signal)) ?? null
    }
    // Parts of files are stored under CIDs of their own, HTML may have been allowed once, an IPFS node has anything.
    const { cid } = stored.content
    if (!checkedFiles.get(cid)) {
      const problem = contentProblem(await firstBytes(stored.content, SNIFF_BYTES), fileRules)
      if (problem !== null) throw new FetchFailure(`${url} is ${problem}`, { lasting: true, hint: 'give another file' })
      checkedFiles.set(cid, true)
    }
    await storage.keep(partsOf(stored.place).cid)
    return stored.place
  }

  /** Where the file of a URL is from now on; the URL itself where it is not stored here. */
  const fetchAndStore = async (url: string): Promise<string> => {
    if (isContentUrl(url)) {
      const place = isIpfsUrl(url) ? await findIpfsFile(url) : null
      if (place !== null || !requireStored) return place ?? url
      throw new FetchFailure(`${url} isn't stored here`, {
        lasting: true,
        hint: 'upload the file to /api/v1/files first, or give an http(s) URL',
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

  const work = async (nft: NftRow): Promise<void> => {
    const fields = (JSON.parse(nft.metadata) as NftMetadata).file_fields
    // One busy origin must not hold the places of all the others: its NFTs come again when it is their turn.
    const wait = Math.max(0, ...fields.map(({ url }) => waitFor(url)))
    if (wait > 0) {
      return void (await postponeNft(store.db, nft, { attempts: nft.attempts, nextAttemptAt: now() + wait }))
    }
    try {
      const cids = await Promise.all(fields.map((field) => share(field.url)))
      const files = Object.fromEntries(fields.map((field, index) => [field.key, cids[index] ?? '']))
      if (await store.transaction((db) => passOnToMint(db, nft, files))) options.onMintable(nft.collection_id)
    } catch (error) {
      if (!stopping.signal.aborted) return await settleFailure(nft, error)
      // Given back as it was: another process need not wait for the lease to end.
      await postponeNft(store.db, nft, { attempts: nft.attempts, nextAttemptAt: nft.next_attempt_at })
    }
  }

  const settleFailure = async (nft: NftRow, failure: unknown): Promise<void> => {
    const lasting = failure instanceof ContentTooLargeError || (failure instanceof FetchFailure && failure.lasting)
    const attempts = nft.attempts + 1
    const reason = failure instanceof GdnError ? sentenceOf(failure, lasting) : 'the file could not be stored'
    if (!(failure instanceof GdnError)) log.error({ nft: nft.id, error: messageOf(failure) }, 'storing a file failed')
    if (lasting || attempts >= maxAttempts) {
      const told = lasting ? reason : `${reason} (tried ${attempts} times)`
      if (await store.transaction((db) => failClaimedNft(db, nft, told))) {
        log.info({ nft: nft.id, requests: [nft.request_id], reason: told }, 'an NFT failed')
      }
    } else {
      const error = `${reason} (attempt ${attempts} of ${maxAttempts})`
      await postponeNft(store.db, nft, { attempts, nextAttemptAt: now() + backoffMs(attempts), error })
    }
  }

  const take = (nft: NftRow) => {
    const task = withLeases(store, 'nfts', [nft], () => work(nft))
      .catch((error) => log.error({ nft: nft.id, error: messageOf(error) }, 'an NFT could not be worked on'))
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
      const claimed = await claimNftsForFiles(store.db, {
        now: claimMoment(store, now),
        leaseMs: leaseMs(store, LEASE_MS),
        limit: free,
      })
      for (const nft of claimed) take(nft)
      if (claimed.length === free) return null
      const due = await nextFilesDue(store.db)
      return due === null ? null : Math.max(50, due - now())
    },

    async stop() {
      stopping.abort()
      await Promise.allSettled(active)
    },
  }
}

const IPFS_HINT = 'Use the URL of a file: ipfs://<cid>/<path>.'

/** Why an ipfs URL that names no stored file names none anywhere; null where it may. */
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
