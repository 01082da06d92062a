import { keccak_256 } from '@noble/hashes/sha3.js'

/** The few parts of the contract ABI that are needed to verify an NFT. Loading an ABI library would take longer. */

const OWNER_OF_SELECTOR = '6352211e'
const TOKEN_URI_SELECTOR = 'c87b56dd'
const URI_SELECTOR = '0e89341c'
const METADATA_STATE_SELECTOR = 'a778c930'
const PROVENANCE_OF_SELECTOR = '627b7043'
/** The storage slot of `_digests` in a collection that supports provenance commitments (version 2). */
const DIGESTS_SLOT = 3
const WORD_DIGITS = 64
const MAX_TOKEN_ID = 2n ** 256n

/** Parses a token ID in the form of the API. Returns null if the text isn't an ERC-721 token ID. */
export function parseTokenId(text: string): bigint | null {
  if (!/^(0|[1-9][0-9]{0,77})$/.test(text)) return null
  const id = BigInt(text)
  return id < MAX_TOKEN_ID ? id : null
}

const createTokenCall = (selector: string) => (tokenId: bigint) =>
  `0x${selector}${tokenId.toString(16).padStart(WORD_DIGITS, '0')}`

/** Returns the call data of `ownerOf(uint256)`. */
export const ownerOfCall = createTokenCall(OWNER_OF_SELECTOR)

/** The call data of `contractURI()`, which ERC-7572 defines. */
export const CONTRACT_URI_CALL = '0xe8a3d485'

/** Returns the call data of `tokenURI(uint256)`. */
export const tokenUriCall = createTokenCall(TOKEN_URI_SELECTOR)

/** Returns the call data of `uri(uint256)` of ERC-1155. */
export const uriCall = createTokenCall(URI_SELECTOR)

/** Returns the call data of `metadataState(uint256)`. */
export const metadataStateCall = createTokenCall(METADATA_STATE_SELECTOR)

/** Returns the call data of `provenanceOf(bytes32)`. */
export const provenanceOfCall = (hash: string) => `0x${PROVENANCE_OF_SELECTOR}${hash.slice(2)}`

/** The topic of the event that a collection emits for a commitment. */
export const PROVENANCE_COMMITTED_TOPIC = `0x${Buffer.from(keccak_256(Buffer.from('ProvenanceCommitted(bytes32,uint256)'))).toString('hex')}`

/** Returns the call data for a function signature, such as `ownerOf(uint256)`. Each argument takes one word. */
export function encodeCall(signature: string, ...args: readonly (bigint | string)[]): string {
  const selector = Buffer.from(keccak_256(Buffer.from(signature)).subarray(0, 4)).toString('hex')
  const words = args.map((arg) =>
    typeof arg === 'bigint'
      ? arg.toString(16).padStart(WORD_DIGITS, '0')
      : arg.replace(/^0x/, '').padStart(WORD_DIGITS, '0'),
  )
  return `0x${selector}${words.join('')}`
}

/**
 * Returns whether data consists of one or more whole words. A regular expression with a repeated group would overflow
 * the stack for large data.
 */
const isWords = (hex: string): boolean =>
  hex.length > 2 && (hex.length - 2) % WORD_DIGITS === 0 && /^0x[0-9a-f]*$/i.test(hex)

/**
 * Splits the data that a call returned into words, each with 0x. Returns null if the data doesn't consist of whole
 * words.
 */
export function splitWords(hex: string): string[] | null {
  if (!isWords(hex)) return null
  return Array.from(
    { length: (hex.length - 2) / WORD_DIGITS },
    (_, at) => `0x${hex.slice(2 + at * WORD_DIGITS, 2 + (at + 1) * WORD_DIGITS)}`,
  )
}

/** Returns whether data is exactly one word. */
export const isWord = (hex: string): boolean => /^0x[0-9a-f]{64}$/i.test(hex)

/** Decodes the number that a call returned. Returns null if the data isn't exactly one word. */
export const decodeNumber = (hex: string): bigint | null => (isWord(hex) ? BigInt(hex) : null)

/** Decodes the list of addresses that a call returned, in lower case. Returns null if the data isn't such a list. */
export function decodeAddresses(hex: string): string[] | null {
  const [offset, length, ...words] = splitWords(hex) ?? []
  if (offset === undefined || length === undefined) return null
  if (BigInt(offset) !== 32n || BigInt(length) !== BigInt(words.length)) return null
  const addresses = words.flatMap((word) => decodeAddress(word) ?? [])
  return addresses.length === words.length ? addresses : null
}

/** Returns the storage slot of a bundle's digest. `tokenId` is the first token of the bundle. */
export function digestSlot(tokenId: bigint): string {
  const key = Buffer.from(
    tokenId.toString(16).padStart(WORD_DIGITS, '0') + DIGESTS_SLOT.toString(16).padStart(WORD_DIGITS, '0'),
    'hex',
  )
  return `0x${Buffer.from(keccak_256(key)).toString('hex')}`
}

/** Decodes the address that a call returned, in lower case. Returns null if the data isn't an address. */
export function decodeAddress(hex: string): string | null {
  return /^0x0{24}[0-9a-fA-F]{40}$/.test(hex) ? `0x${hex.slice(-40).toLowerCase()}` : null
}

/** Decodes the string that a call returned. Returns null if the data isn't exactly one UTF-8 string. */
export function decodeString(hex: string): string | null {
  if (!isWords(hex) || hex.length < 2 + 2 * WORD_DIGITS) return null
  const bytes = Buffer.from(hex.slice(2), 'hex')
  if (readWord(bytes, 0) !== 32) return null
  const length = readWord(bytes, 32)
  if (length === null || bytes.length !== 64 + Math.ceil(length / 32) * 32) return null
  const text = bytes.subarray(64, 64 + length)
  if (bytes.subarray(64 + length).some((byte) => byte !== 0)) return null
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text)
  } catch {
    return null
  }
}

/** Decodes a word that contains a length or an offset. Returns null if the value exceeds 32 bits. */
function readWord(bytes: Buffer, at: number): number | null {
  return bytes.subarray(at, at + 28).some((byte) => byte !== 0) ? null : bytes.readUInt32BE(at + 28)
}
