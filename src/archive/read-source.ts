import { createHash } from 'node:crypto'
import { BoundedMap } from '../core/bounded-map.ts'
import { decodeDataUrl } from '../core/data-url.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { formatBytes } from '../core/format-bytes.ts'
import { tooLargeError } from '../files/body.ts'
import { FetchFailure, permanentError } from '../files/failure.ts'
import { createFetcher } from '../files/fetcher.ts'
import { createPace } from '../files/pace.ts'
import { parseCid, RAW_CODEC } from '../ipfs/cid.ts'
import type { StoredNode } from '../ipfs/unixfs.ts'
import type { ArchiveStore, Source } from './archive-store.ts'
import { CircuitBreaker, type GatewayOptions, type Gateways, openGateways, retryWaitMs } from './gateways.ts'
import { fetchArchivedDirectory, fetchArchivedFile, StoredDag } from './ipfs-dag.ts'
import { MAX_REDIRECTS } from './limits.ts'
import type { ReadableUrl } from './token-uri.ts'

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
  /** Whether the content stays in the store. Otherwise, only the content's CID, size and hash stay. */
  keepsContent: boolean
}

/** The reason why a URL can't be read. */
export interface UnreadableSource {
  problem: string
}

/** Reads the content of URLs into the store. */
export interface SourceReader {
  /** Reads a URL unless it was read before. Returns the content, or the reason why the URL can't be read. */
  read(url: ReadableUrl, rules: SourceRules): Promise<Source | UnreadableSource>
  /** Reads the whole directory of an ipfs URL. */
  readDirectory(url: ReadableUrl & { kind: 'ipfs' }): Promise<Source | UnreadableSource>
  /** Returns the last failure if no gateway has responded to any request, or else null. */
  unreachableError(): GdnError | null
  /** Returns a failure if the last request to each gateway failed to connect, or else null. */
  connectionError(): GdnError | null
  close(): Promise<void>
}

const MAX_ATTEMPTS = 3
const MAX_ORIGINS = 1000
/** Number of cached directory nodes. A decoded node of 2 MiB takes about 20 MB. */
const MAX_CACHED_DIRECTORIES = 4

export function openSourceReader(options: SourceReaderOptions): SourceReader {
  const gateways = openGateways(options)
  const fetchers = openFetchers(options)
  const shared: SharedReader = {
    options,
    gateways,
    fetchers,
    breakers: new BoundedMap<CircuitBreaker>(MAX_ORIGINS),
    directories: new BoundedMap<StoredNode>(MAX_CACHED_DIRECTORIES),
    activeReads: new Set(),
  }
  const inFlight = new Map<string, Promise<Source | UnreadableSource>>()

  /** Reads a source once, even if several tokens that are read at the same time have the same file. */
  const once = (wanted: WantedSource) => {
    const reading = inFlight.get(wanted.key) ?? readOnce(shared, wanted).finally(() => inFlight.delete(wanted.key))
    inFlight.set(wanted.key, reading)
    return reading
  }

  return {
    read: (url, rules) =>
      once({ key: url.key, keepsContent: rules.keepsContent, read: (source) => source.readUrl(url, rules) }),
    readDirectory: ({ cid }) =>
      once({ key: directoryKey(cid), keepsContent: true, read: (source) => source.readDirectory(cid) }),
    unreachableError: gateways.unreachableFailure,
    connectionError: gateways.connectionFailure,
    async close() {
      await Promise.all([gateways.close(), fetchers.strict.close(), fetchers.lenient.close()])
    },
  }
}

/** State that the reads of all sources share. */
interface SharedReader {
  options: SourceReaderOptions
  gateways: Gateways
  fetchers: Fetchers
  breakers: BoundedMap<CircuitBreaker>
  directories: BoundedMap<StoredNode>
  /** The sources that are being read. */
  activeReads: Set<SourceRead>
}

type Fetchers = ReturnType<typeof openFetchers>

function openFetchers({ limits, userAgent, allowPrivate, trustedArweave }: SourceReaderOptions) {
  const pace = createPace()
  const fetcherFor = (allowHtml: boolean) =>
    createFetcher({
      allowPrivate,
      allowHtml,
      userAgent,
      timeoutMs: limits.timeoutMs,
      maxBytes: limits.maxFileBytes,
      maxRedirects: MAX_REDIRECTS,
      pace,
      isTrusted: ({ origin }) => origin === trustedArweave,
    })
  return { strict: fetcherFor(false), lenient: fetcherFor(true) }
}

type SourceContent = Omit<Source, 'key'> & { reached: readonly string[] }

interface WantedSource {
  key: string
  keepsContent: boolean
  read(source: SourceRead): Promise<SourceContent>
}

async function readOnce(
  shared: SharedReader,
  { key, keepsContent, read }: WantedSource,
): Promise<Source | UnreadableSource> {
  const { store, signal } = shared.options
  const storedSource = store.source(key)
  if (storedSource !== null) return storedSource
  const reading = new SourceRead(shared)
  shared.activeReads.add(reading)
  try {
    const { reached, cid, ...facts } = await read(reading)
    const shownCid = store.isFirstVersion(cid) ? (parseCid(cid)?.toV0().toString() ?? cid) : cid
    const source = { key, cid: shownCid, ...facts }
    store.finishSource(source, reached)
    shared.activeReads.delete(reading)
    if (keepsContent) store.keepContent(reached)
    else dropContent(shared, reached)
    return source
  } catch (error) {
    if (signal.aborted || !(error instanceof GdnError) || !isContentError(error)) throw error
    const problem = messageOf(error)
    store.failSource(key, problem)
    return { problem }
  } finally {
    shared.activeReads.delete(reading)
  }
}

/** Deletes the content of a source, except blocks that other sources need. */
function dropContent({ options: { store }, activeReads }: SharedReader, reached: readonly string[]): void {
  const isHeld = (cid: string) => [...activeReads].some(({ heldCids }) => heldCids.has(cid))
  store.dropContent(reached.filter((cid) => parseCid(cid)?.code === RAW_CODEC && !isHeld(cid)))
}

/** Reads the content of one source. */
class SourceRead {
  /** The blocks of the source. Different sources may share blocks. */
  readonly heldCids = new Set<string>()
  readonly #shared: SharedReader

  constructor(shared: SharedReader) {
    this.#shared = shared
  }

  async readUrl(url: ReadableUrl, rules: SourceRules): Promise<SourceContent> {
    if (url.kind === 'ipfs') return await this.#readIpfs(url, rules)
    return await (url.kind === 'data' ? this.#readDataUrl(url.url, rules) : this.#readWeb(url.url, rules))
  }

  async readDirectory(cid: string): Promise<SourceContent> {
    const root = parseCid(cid)
    if (root === null) throw permanentError('the CID of the directory is invalid')
    const { limits } = this.#shared.options
    return {
      ...(await fetchArchivedDirectory(this.#createDag(limits.maxTotalBytes), root)),
      sha256: null,
      isVerifiable: true,
    }
  }

  /** Reads an ipfs URL. The CID proves the content, so an HTML page can't be an error page. */
  async #readIpfs(url: ReadableUrl & { kind: 'ipfs' }, { maxBytes }: SourceRules): Promise<SourceContent> {
    const root = parseCid(url.cid)
    if (root === null)
      throw permanentError('the CID is invalid or unsupported: gdn reads only raw and dag-pb CIDs with sha2-256 hashes')
    if (url.cid.startsWith('Qm')) this.#shared.options.store.recordFirstVersion(root.toString())
    const file = await fetchArchivedFile(this.#createDag(maxBytes), root, url.path)
    return { ...file, isVerifiable: true }
  }

  async #readDataUrl(url: string, rules: SourceRules): Promise<SourceContent> {
    const bytes = decodeDataUrl(url)
    if (bytes === null) throw permanentError('the data URL has no comma, or its base64 is invalid')
    return await this.#importContent([bytes], rules)
  }

  async #readWeb(url: string, rules: SourceRules): Promise<SourceContent> {
    const { breakers, fetchers, options } = this.#shared
    const { origin } = new URL(url)
    const breaker = breakers.get(origin) ?? new CircuitBreaker(origin)
    breakers.set(origin, breaker)
    const fetcher = rules.allowHtml ? fetchers.lenient : fetchers.strict
    for (let attempt = 1; ; attempt++) {
      try {
        return await breaker.watch(async () => {
          return await this.#importContent((await fetcher.fetchFile(url, options.signal)).content, rules)
        })
      } catch (error) {
        if (!(error instanceof FetchFailure) || error.isLasting || attempt === MAX_ATTEMPTS) throw error
        const waitMs = retryWaitMs(attempt, error.retryAfterMs)
        await options.sleep(waitMs, options.signal)
      }
    }
  }

  /** Imports content as `ipfs add --cid-version=1` does. */
  async #importContent(
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { maxBytes }: SourceRules,
  ): Promise<SourceContent> {
    const hash = createHash('sha256')
    let size = 0
    async function* readLimited() {
      for await (const bytes of content) {
        size += bytes.length
        if (size > maxBytes) throw tooLargeError('it', maxBytes)
        hash.update(bytes)
        yield bytes
      }
    }
    const { importBlocks } = await import('../ipfs/import.ts')
    const { cid } = await importBlocks(readLimited(), (block) => this.#put(block.cid, block.bytes))
    const { reached } = await this.#createDag(Number.POSITIVE_INFINITY).blocksBelow(cid)
    return { cid: cid.toString(), size, sha256: hash.digest('hex'), reached, isVerifiable: false }
  }

  #createDag(maxBytes: number): StoredDag {
    const { options, gateways, directories } = this.#shared
    return new StoredDag({
      store: options.store,
      gateways,
      directories,
      signal: options.signal,
      maxBytes,
      put: (...block) => this.#put(...block),
      hold: (cid) => this.heldCids.add(cid),
    })
  }

  /** Stores a block. Throws if the archive would become too large. */
  #put(cid: string, bytes: Uint8Array, firstVersions: readonly string[] = []): void {
    const { store, limits } = this.#shared.options
    this.heldCids.add(cid)
    if (store.bytes + bytes.length > limits.maxTotalBytes) {
      throw permanentError(
        `the archive is full: its files are larger than ${formatBytes(limits.maxTotalBytes)} in total`,
      )
    }
    store.putBlock({ cid, bytes }, firstVersions)
  }
}

/** Returns the source key of a whole directory. */
export const directoryKey = (cid: string): string => `directory ${cid}`

/** Returns whether an error concerns only a file or its server, so that other files can still be read. */
const isContentError = ({ code }: GdnError): boolean => ['invalid_input', 'unreachable'].includes(code)
