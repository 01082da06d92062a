import type { CID } from 'multiformats/cid'

/** Local content that can be sent. */
export interface SpooledContent {
  size: number
  /** The SHA-256 hash of the content in hex. */
  sha256: string
  /** Returns the bytes from `start` to `end` (exclusive). Can be called any number of times. */
  read(start: number, end: number): AsyncIterable<Uint8Array>
}

/** File storage on other machines. Its responses are trusted only if their hashes match. */
export interface RemoteFiles {
  /** Name of the storage in the database, such as `s3://bucket/prefix`. */
  readonly place: string
  /** Name of the storage in messages, such as `the bucket art`. */
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
   * Returns the bytes from `start` to `end` as they arrive. The bytes are unchecked, so some may be missing or wrong.
   */
  read(cid: CID, start: number, end: number): AsyncIterable<Uint8Array>
  /** Returns why the storage can't be used, as of the last request; null if it can. */
  problem(): string | null
  /** Aborts uploads that killed processes left unfinished. Absent if the storage has no such uploads. */
  readonly uploadCleanup?: { end(before: Date): Promise<number | null> }
  /** The blocks of the storage, if it also has content that this backend didn't store. */
  readonly nodeBlocks?: NodeBlocks
  close(): Promise<void>
}

/** The blocks of a content-addressed storage. */
export interface NodeBlocks {
  /** Returns an existing block, unchecked. Returns null if it doesn't exist. */
  block(cid: CID): Promise<Uint8Array | null>
  /** Pins everything that is reachable from a CID. */
  pin(cid: CID): Promise<void>
  /** Stores blocks, and pins everything that is reachable from the roots. */
  publish(roots: readonly CID[], blocks: readonly { cid: CID; bytes: Uint8Array }[]): Promise<void>
  /** Returns the multiaddresses at which other nodes reach the storage. */
  addresses(): Promise<string[]>
}
