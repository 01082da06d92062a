import { createHash } from 'node:crypto'
import { base16, base16upper } from 'multiformats/bases/base16'
import { base32, base32upper } from 'multiformats/bases/base32'
import { base36, base36upper } from 'multiformats/bases/base36'
import { base58btc } from 'multiformats/bases/base58'
import { base64, base64url } from 'multiformats/bases/base64'
import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'

/** The codec of raw bytes, which are a file or a part of a file. */
export const RAW_CODEC = 0x55
/** The codec of a UnixFS node, which is a directory or the list of a large file's parts. */
export const DAG_PB_CODEC = 0x70
const SHA2_256 = 0x12

// Maximum length of text to decode, because decoding base36 and base58 takes quadratic time. A CID with a 32-byte
// digest in these bases has at most 73 characters.
const MAX_CID_LENGTH = 128

const BASES = new Map<string | undefined, { decode(text: string): Uint8Array<ArrayBuffer> }>(
  [base16, base16upper, base32, base32upper, base36, base36upper, base58btc, base64, base64url].map((base) => [
    base.prefix,
    base,
  ]),
)

const anyBase = {
  decode(text: string): Uint8Array<ArrayBuffer> {
    const base = BASES.get(text[0])
    if (base === undefined) throw new Error('unknown base')
    return base.decode(text)
  },
}

/**
 * Parses a CID in any form (v0 `Qm…`, v1 in any usual base) and returns it as version 1. Returns null for other text,
 * and for CIDs that gdn's storage never creates. The storage creates only raw and dag-pb blocks with sha2-256.
 */
export function parseCid(text: string): CID | null {
  if (text.length > MAX_CID_LENGTH) return null
  try {
    const { code, multihash } = CID.parse(text, anyBase)
    if ((code !== RAW_CODEC && code !== DAG_PB_CODEC) || multihash.code !== SHA2_256 || multihash.digest.length !== 32)
      return null
    // Create a new CID, because the parsed CID keeps a reference to its text and may have longer varints in its bytes.
    return CID.createV1(code, createDigest(SHA2_256, multihash.digest))
  } catch {
    return null
  }
}

/**
 * Returns the text of a CID in a form that uses little memory. `toString()` joins the text from single characters, and
 * V8 keeps all of these parts, which take 2 KB for each text instead of 80 bytes.
 */
export const cidText = (cid: CID): string => Buffer.from(cid.toString(), 'latin1').toString('latin1')

/** Returns whether a text is a valid CID of any kind, whether its content is stored here or not. */
export function isCid(text: string): boolean {
  if (text.length > MAX_CID_LENGTH) return false
  try {
    CID.parse(text, anyBase)
    return true
  } catch {
    return false
  }
}

/** Returns the CID of bytes that fit in one block. */
export function rawCid(bytes: Uint8Array): CID {
  return CID.createV1(RAW_CODEC, createDigest(SHA2_256, sha256(bytes)))
}

/** Returns the CID of an encoded UnixFS node. */
export function nodeCid(bytes: Uint8Array): CID {
  return CID.createV1(DAG_PB_CODEC, createDigest(SHA2_256, sha256(bytes)))
}

/** Returns the CID of a directory from the hex digest of 32 bytes that a contract stores. */
export function directoryCid(digest: string): CID {
  return CID.createV1(DAG_PB_CODEC, createDigest(SHA2_256, Buffer.from(digest.replace(/^0x/, ''), 'hex')))
}

export function matchesCid(cid: CID, bytes: Uint8Array): boolean {
  return Buffer.compare(sha256(bytes), cid.multihash.digest) === 0
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest()
}

/** Maximum size of a block. IPFS implementations transfer at most 2 MiB per block. */
export const MAX_BLOCK_BYTES = 2 * 1024 * 1024

/** A block of stored content, such as a small file, a directory, or a node that lists the parts of a large file. */
export interface ContentBlock {
  /** CID v1 in base32, as returned by `CID.toString()`. */
  cid: string
  bytes: Uint8Array
}

/** A source from which blocks are read. */
export interface BlockReader {
  get(cid: string): Promise<Uint8Array | null>
  has(cid: string): Promise<boolean>
}

/** Receives a block that has not been checked against its CID. */
export type TakeBlock = (cid: CID, bytes: Uint8Array) => void

/** A range from `start` to `end` (exclusive), clamped to the length of the content. */
export interface ByteRange {
  start?: number
  end?: number
}
