import { createHash } from 'node:crypto'
import { backoffMs } from '../core/backoff.ts'
import { BoundedMap } from '../core/bounded-map.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { formatBytes } from '../core/format-bytes.ts'
import { tooLarge } from '../files/body.ts'
import { FetchFailure } from '../files/failure.ts'
import { createFetcher } from '../files/fetcher.ts'
import { createPace } from '../files/pace.ts'
import { parseCid, RAW } from '../ipfs/cid.ts'
import type { StoredNode } from '../ipfs/unixfs.ts'
import type { ArchiveStore, Source } from './archive-store.ts'
import { Breaker, type GatewayOptions, openGateways } from './gateways.ts'
import { archivedDirectory, archivedFile, StoredDag } from './ipfs-dag.ts'
import { MAX_REDIRECTS } from './limits.ts'
import { bytesOfDataUrl, type ReadableUrl } from './token-uri.ts'

export interface SourceReaderOptions extends GatewayOptions {
  store: ArchiveStore
  /** Origin of the Arweave gateway that the user set, which may be private. Null for the default gateway. */
  trustedArweave: string | null
  signal: AbortSignal
}

export interface SourceRules {
  maxBytes: number
  /** Whether an HTML page counts as a file, instead of as a server's error page. */
  allowHtml: boolean
  /** Whether the content stays in the store. Otherwise, only the facts about the content stay. */
  keeps: boolean
}

/** The reason why a URL can't be read. */
export interface Unreadable {
  problem: string
}

/** Reads the content of URLs into the store. */
export interface SourceReader {
  /** Reads a URL unless it was read before. Returns the content, or the reason why the URL can't be read. */
  read(url: ReadableUrl, rules: SourceRules): Promise<Source | Unreadable>
  /** Reads the whole directory of an ipfs URL. */
  readDirectory(url: ReadableUrl & { kind: 'ipfs' }): Promise<Source | Unreadable>
  /** Returns the last failure if no gateway has responded to any request, or else null. */
  unreachable(): GdnError | null
  /** Returns a failure if the last request to each gateway failed to connect, or else null. */
  disconnected(): GdnError | null
  close(): Promise<void>
}

const ATTEMPTS = 3
const BACKOFF = { firstMs: 500, maxMs: 10_000 }
const LONGEST_WAIT_MS = 30_000
const MANY_ORIGINS = 1000
/** Number of cached directory nodes. A decoded node of 2 MiB takes about 20 MB. */
const RECENT_DIRECTORIES = 4

export function openSourceReader(options: SourceReaderOptions): SourceReader {
  const { store, limits, signal, userAgent, allowPrivate, sleep, trustedArweave } = options
  const gateways = openGateways(options)
  const pace = createPace()
  const fetcherFor = (allowHtml: boolean) =>
    createFetcher({
      allowPrivate,
      allowHtml,
      userAgent,
      timeoutMs: limits.timeoutMs,
      maxBytes: limits.fileBytes,
      maxRedirects: MAX_REDIRECTS,
      pace,
      isTrusted: ({ origin }) => origin === trustedArweave,
    })
  const [strict, lenient] = [fetcherFor(false), fetcherFor(true)]
  const breakers = new BoundedMap<Breaker>(MANY_ORIGINS)

  /** The blocks of each source that is being read. Different sources may share blocks. */
  const heldSets = new Set<Set<string>>()

  /** Stores a block. Throws if the archive would become too large. */
  const put = (blocks: Set<string>, cid: string, bytes: Uint8Array, firstVersions: readonly string[] = []) => {
    blocks.add(cid)
    if (store.bytes + bytes.length > limits.totalBytes) {
      throw lasting(`the archive is full: its files are larger than ${formatBytes(limits.totalBytes)} in total`)
    }
    store.putBlock({ cid, bytes }, firstVersions)
  }
  const directories = new BoundedMap<StoredNode>(RECENT_DIRECTORIES)
  const dagFor = (blocks: Set<string>, maxBytes: number) =>
    new StoredDag({
      store,
      gateways,
      directories,
      signal,
      maxBytes,
      put: (...block) => put(blocks, ...block),
      hold: (cid) => blocks.add(cid),
    })

  /** Reads an ipfs URL. The CID proves the content, so an HTML page can't be an error page. */
  async function readIpfs(blocks: Set<string>, url: ReadableUrl & { kind: 'ipfs' }, { maxBytes }: SourceRules) {
    const root = parseCid(url.cid)
    if (root === null)
      throw lasting('the CID is invalid or unsupported: gdn reads only raw and dag-pb CIDs with sha2-256 hashes')
    if (url.cid.startsWith('Qm')) store.noteFirstVersion(root.toString())
    const file = await archivedFile(dagFor(blocks, maxBytes), root, url.path)
    return { ...file, isVerifiable: true }
  }

  async function readWeb(blocks: Set<string>, url: string, rules: SourceRules) {
    const { origin } = new URL(url)
    const breaker = breakers.get(origin) ?? new Breaker(origin)
    breakers.set(origin, breaker)
    const fetcher = rules.allowHtml ? lenient : strict
    for (let attempt = 1; ; attempt++) {
      try {
        return await breaker.watch(async () => {
          return await imported(blocks, (await fetcher.fetchFile(url, signal)).content, rules)
        })
      } catch (error) {
        if (!(error instanceof FetchFailure) || error.lasting || attempt === ATTEMPTS) throw error
        await sleep(Math.min(error.retryAfterMs ?? backoffMs(attempt, BACKOFF), LONGEST_WAIT_MS), signal)
      }
    }
  }

  /** Imports content as `ipfs add --cid-version=1` does. */
  async function imported(
    blocks: Set<string>,
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { maxBytes }: SourceRules,
  ) {
    const hash = createHash('sha256')
    let size = 0
    async function* limited() {
      for await (const bytes of content) {
        size += bytes.length
        if (size > maxBytes) throw tooLarge('it', maxBytes)
        hash.update(bytes)
        yield bytes
      }
    }
    const { importBlocks } = await import('../ipfs/import.ts')
    const { cid } = await importBlocks(limited(), (block) => put(blocks, block.cid, block.bytes))
    const { reached } = await dagFor(blocks, Number.POSITIVE_INFINITY).blocksBelow(cid)
    return { cid: cid.toString(), size, sha256: hash.digest('hex'), reached, isVerifiable: false }
  }

  async function readData(blocks: Set<string>, url: string, rules: SourceRules) {
    const bytes = bytesOfDataUrl(url)
    if (bytes === null) throw lasting('the data URL has no comma, or its base64 is invalid')
    return await imported(blocks, [bytes], rules)
  }

  type Content = Omit<Source, 'key'> & { reached: readonly string[] }

  /** Deletes the content of a source, except blocks that other sources need. */
  function dropContent(reached: readonly string[]): void {
    const isHeld = (cid: string) => [...heldSets].some((blocks) => blocks.has(cid))
    store.dropContent(reached.filter((cid) => parseCid(cid)?.code === RAW && !isHeld(cid)))
  }

  async function readOnce(
    key: string,
    keeps: boolean,
    act: (blocks: Set<string>) => Promise<Content>,
  ): Promise<Source | Unreadable> {
    const storedSource = store.source(key)
    if (storedSource !== null) return storedSource
    const blocks = new Set<string>()
    heldSets.add(blocks)
    try {
      const { reached, cid, ...facts } = await act(blocks)
      const shownCid = store.isFirstVersion(cid) ? (parseCid(cid)?.toV0().toString() ?? cid) : cid
      const source = { key, cid: shownCid, ...facts }
      store.finishSource(source, reached)
      heldSets.delete(blocks)
      if (keeps) store.keepContent(reached)
      else dropContent(reached)
      return source
    } catch (error) {
      if (signal.aborted || !(error instanceof GdnError) || !isOfContent(error)) throw error
      const problem = messageOf(error)
      store.failSource(key, problem)
      return { problem }
    } finally {
      heldSets.delete(blocks)
    }
  }

  const inFlight = new Map<string, Promise<Source | Unreadable>>()

  /** Reads a source once, even if several tokens that are read at the same time have the same file. */
  const once: typeof readOnce = (key, keeps, act) => {
    const reading = inFlight.get(key) ?? readOnce(key, keeps, act).finally(() => inFlight.delete(key))
    inFlight.set(key, reading)
    return reading
  }

  return {
    read: (url, rules) =>
      once(url.key, rules.keeps, async (blocks) => {
        if (url.kind === 'ipfs') return await readIpfs(blocks, url, rules)
        return await (url.kind === 'data' ? readData(blocks, url.url, rules) : readWeb(blocks, url.url, rules))
      }),
    readDirectory: (url) =>
      once(directoryKey(url.cid), true, async (blocks) => {
        const root = parseCid(url.cid)
        if (root === null) throw lasting('its CID is invalid')
        return {
          ...(await archivedDirectory(dagFor(blocks, limits.totalBytes), root)),
          sha256: null,
          isVerifiable: true,
        }
      }),
    unreachable: gateways.unreachable,
    disconnected: gateways.disconnected,
    async close() {
      await Promise.all([gateways.close(), strict.close(), lenient.close()])
    },
  }
}

/** Returns the source key of a whole directory. */
export const directoryKey = (cid: string): string => `directory ${cid}`

const lasting = (message: string) => new FetchFailure(message, { lasting: true })

/** Returns whether an error concerns only a file or its server, so that other files can still be read. */
const isOfContent = ({ code }: GdnError): boolean => ['invalid_input', 'unreachable'].includes(code)
