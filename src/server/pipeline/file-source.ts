import { MAX_FILE_BYTES } from '../../api/endpoints/files.ts'
import { ipfsPathParts, ipfsPlace, isContentUrl, isIpfsUrl } from '../../core/ipfs-url.ts'
import { SNIFF_BYTES } from '../../files/content-type.ts'
import { FetchFailure } from '../../files/failure.ts'
import { contentProblem } from '../../files/file-content.ts'
import type { LazyFetcher } from '../../files/lazy-fetcher.ts'
import { isCid } from '../../ipfs/cid.ts'
import type { FileStorage } from '../storage/adapter.ts'
import type { CheckedFiles } from '../storage/checked-files.ts'
import { findStored } from '../storage/find-stored.ts'
import { firstBytes } from '../storage/first-bytes.ts'
import type { Gateway } from '../storage/gateway.ts'

/** Time in milliseconds for which a stored file is reused for the same URL. NFTs of one drop often share an image. */
const FILE_REUSE_MS = 60_000

/** The operator's policy for NFT files. */
export interface FilePolicy {
  allowHtml: boolean
  /**
   * Whether an NFT fails if one of its files isn't in the backend's storage. Otherwise, `ipfs:` and `ar:` URLs are
   * copied to the metadata.
   */
  requireStored: boolean
  /** The gateway for IPFS files; null if none is configured. */
  ipfs: Pick<Gateway, 'fetchFile'> | null
}

export interface FileSourceOptions {
  storage: FileStorage
  checkedFiles: CheckedFiles
  fetcher: LazyFetcher
  files: FilePolicy
}

/** Creates a source that finds NFT files in the storage, or fetches and stores them. */
export function createFileSource({ storage, checkedFiles, fetcher, files }: FileSourceOptions, signal: AbortSignal) {
  const { allowHtml, requireStored, ipfs } = files
  const fileRules = { allowHtml, maxBytes: MAX_FILE_BYTES }
  const storedByUrl = new Map<string, Promise<string>>()

  /**
   * Returns the path of an IPFS file, `<cid>[/<path>]`. Returns null if the file isn't in the backend's storage and
   * can't be fetched.
   */
  const findIpfsFile = async (url: string): Promise<string | null> => {
    const stored = await findStored(storage, url)
    if (stored === null) {
      const problem = await findPathProblem(storage, url)
      if (problem !== null) throw new FetchFailure(`${url} ${problem}`, { isLasting: true, hint: IPFS_URL_HINT })
      return (await ipfs?.fetchFile(url, storage, fileRules, signal)) ?? null
    }
    // Also check stored content. Parts of files have their own CIDs, HTML may have been allowed earlier, and an IPFS
    // node may have any content.
    const { cid } = stored.content
    if (!checkedFiles.get(cid)) {
      const problem = contentProblem(await firstBytes(stored.content, SNIFF_BYTES), fileRules)
      if (problem !== null)
        throw new FetchFailure(`${url} is ${problem}`, { isLasting: true, hint: 'Use another file.' })
    }
    await storage.pin(ipfsPathParts(stored.place).cid)
    checkedFiles.set(cid, true)
    return stored.place
  }

  /** Returns the IPFS path of the file at a URL. Returns the URL itself if the file isn't in the backend's storage. */
  const fetchAndStore = async (url: string): Promise<string> => {
    if (isContentUrl(url)) {
      const place = isIpfsUrl(url) ? await findIpfsFile(url) : null
      if (place !== null || !requireStored) return place ?? url
      throw new FetchFailure(`${url} is not stored here`, {
        isLasting: true,
        hint: 'Upload the file to /api/v1/files first, or use an http(s) URL.',
      })
    }
    const { content } = await fetcher.fetchFile(url, signal)
    return (await storage.add(content, { maxBytes: MAX_FILE_BYTES })).cid
  }

  return {
    /** Returns how many milliseconds to wait before a URL may be requested from its origin. */
    wait: (url: string) => (storedByUrl.has(url) || isContentUrl(url) ? 0 : Math.ceil(fetcher.queueDelayMs(url))),

    /**
     * Stores the file of a URL and returns its IPFS path. Returns the URL itself if it identifies content that isn't in
     * the backend's storage.
     */
    store(url: string): Promise<string> {
      let stored = storedByUrl.get(url)
      if (stored === undefined) {
        stored = fetchAndStore(url)
        storedByUrl.set(url, stored)
        const forget = () => storedByUrl.delete(url)
        stored.then(() => setTimeout(forget, FILE_REUSE_MS).unref(), forget)
      }
      return stored
    },
  }
}

const IPFS_URL_HINT = 'Use the URL of a file: ipfs://<cid>/<path>.'

/** Returns the reason why no file can ever be stored for an `ipfs:` URL. Returns null if a file can be stored. */
async function findPathProblem(storage: FileStorage, url: string): Promise<string | null> {
  const { cid, path } = ipfsPathParts(ipfsPlace(url))
  if (!isCid(cid)) return 'has no valid CID'
  const name = path.pop()
  const folder = await storage.open(cid, path, { ownOnly: true })
  if (folder?.type !== 'directory') return null
  if (name === undefined) return 'is a directory'
  return folder.entries.some((entry) => entry.name === name) ? null : 'does not exist in its directory'
}
