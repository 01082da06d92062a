import type { CID } from 'multiformats/cid'

/** Local content to be sent. */
export interface SpooledContent {
  size: number
  /** In hexadecimal. */
  sha256: string
  /** Returns bytes from `start` to `end` (exclusive), any number of times. */
  read(start: number, end: number): AsyncIterable<Uint8Array>
}

/** File storage on other machines. Its responses are trusted only as far as hashes confirm them. */
export interface RemoteFiles {
  /** The name in the database: `s3://bucket/prefix`. */
  readonly place: string
  /** The name in messages: `the bucket art`. */
  readonly name: string
  /**
   * Checks whether it can be used as configured.
   *
   * @throws GdnError for a wrong configuration; StorageUnavailableError if it is unreachable
   */
  check(): Promise<void>
  /** Stores content under its CID; repeated calls have no effect. */
  put(cid: CID, content: SpooledContent): Promise<void>
  /** Returns bytes from `start` to `end` as they arrive: there may be fewer, or other ones. */
  read(cid: CID, start: number, end: number): AsyncIterable<Uint8Array>
  /** Returns why it can't be used, as of the last request; null if nothing prevents it. */
  problem(): string | null
  /** Present if a killed process can leave something behind. */
  readonly tidy?: { end(before: Date): Promise<number | null> }
  /** Present if the place also has content that this backend didn't store. */
  readonly nodeBlocks?: NodeBlocks
  close(): Promise<void>
}

/** Blocks of a content-addressed place. */
export interface NodeBlocks {
  /** Returns an existing block, unchecked; null if it doesn't exist. */
  block(cid: CID): Promise<Uint8Array | null>
  /** Pins everything that is reachable from a CID. */
  keep(cid: CID): Promise<void>
  /** Stores blocks, and pins everything that is reachable from the roots. */
  publish(roots: readonly CID[], blocks: readonly { cid: CID; bytes: Uint8Array }[]): Promise<void>
  /** Multiaddresses at which others reach it. */
  addresses(): Promise<string[]>
}
