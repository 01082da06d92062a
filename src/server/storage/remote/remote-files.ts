import type { CID } from 'multiformats/cid'

/** Content that waits on the disk of this machine to be sent. */
export interface SpooledContent {
  size: number
  /** In hexadecimal. */
  sha256: string
  /** Bytes `start` up to, not including, `end`; any number of times. */
  read(start: number, end: number): AsyncIterable<Uint8Array>
}

/** A place for files on other machines. What it says is believed only as far as hashes show it. */
export interface RemoteFiles {
  /** By which the database knows what was put there: `s3://bucket/prefix`. */
  readonly place: string
  /** For people: `the bucket art`. */
  readonly name: string
  /**
   * Whether it can be used as it is configured.
   *
   * @throws GdnError of what is configured wrong; StorageUnavailableError where it can't be reached now
   */
  check(): Promise<void>
  /** Puts content there under its CID; again changes nothing. */
  put(cid: CID, content: SpooledContent): Promise<void>
  /** Bytes `start` up to `end`, as they come: perhaps fewer, perhaps others. */
  read(cid: CID, start: number, end: number): AsyncIterable<Uint8Array>
  /** Why it can't be used, as far as was seen; null where nothing is in the way. */
  problem(): string | null
  /** Of a place where a killed process leaves something behind. */
  readonly tidy?: { end(before: Date): Promise<number | null> }
  /** Of a place that holds more than what was put there by us. */
  readonly nodeBlocks?: NodeBlocks
  close(): Promise<void>
}

/** Blocks of a place that knows content by its CID, whoever put it there. */
export interface NodeBlocks {
  /** A block that is there, unchecked; null where it isn't. */
  block(cid: CID): Promise<Uint8Array | null>
  /** Holds on to everything that a CID leads to. */
  keep(cid: CID): Promise<void>
  /** Puts blocks there, and holds on to what the roots lead to. */
  publish(roots: readonly CID[], blocks: readonly { cid: CID; bytes: Uint8Array }[]): Promise<void>
  /** Where others reach it, as multiaddresses. */
  addresses(): Promise<string[]>
}
