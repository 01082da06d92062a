import type { CID } from 'multiformats/cid'

/** Local content that can be sent. */
export interface SpooledContent {
  size: number
  /** In hex. */
  sha256: string
  /** Returns the bytes from `start` to `end` (exclusive). It can be called any number of times. */
  read(start: number, end: number): AsyncIterable<Uint8Array>
}

/** File storage on other machines. Its responses are trusted only if their hashes match. */
export interface RemoteFiles {
  /** Name in the database: `s3://bucket/prefix`. */
  readonly place: string
  /** Name in messages: `the bucket art`. */
  readonly name: string
  /**
   * Checks whether the storage can be used as configured.
   *
   * @throws GdnError for a wrong configuration; StorageUnavailableError if the storage is unreachable
   */
  check(): Promise<void>
  /** Stores content under its CID. Repeated calls have no effect. */
  put(cid: CID, content: SpooledContent): Promise<void>
  /**
   * Returns the bytes from `start` to `end` as they arrive. They are unchecked: there may be fewer, or they may be
   * wrong.
   */
  read(cid: CID, start: number, end: number): AsyncIterable<Uint8Array>
  /** Returns why the storage can't be used, as of the last request; null if it can. */
  problem(): string | null
  /** Present if killed processes can leave uploads behind. */
  readonly tidy?: { end(before: Date): Promise<number | null> }
  /** Present if the storage also has content that this backend didn't store. */
  readonly nodeBlocks?: NodeBlocks
  close(): Promise<void>
}

/** The blocks of a content-addressed storage. */
export interface NodeBlocks {
  /** Returns an existing block, unchecked; null if it doesn't exist. */
  block(cid: CID): Promise<Uint8Array | null>
  /** Pins everything that is reachable from a CID. */
  keep(cid: CID): Promise<void>
  /** Stores blocks, and pins everything that is reachable from the roots. */
  publish(roots: readonly CID[], blocks: readonly { cid: CID; bytes: Uint8Array }[]): Promise<void>
  /** Returns the multiaddresses at which others reach the storage. */
  addresses(): Promise<string[]>
}
