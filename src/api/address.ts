import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58btc } from 'multiformats/bases/base58'
import { isInQuotes } from '../core/quotation-marks.ts'
import { type Blockchain, isEvm } from './blockchains.ts'
import { MANGLED_NUMBER } from './ens-name.ts'

const ADDRESS_DIGITS = 40
/** The zero address. It is the owner of burned tokens. */
export const ZERO_ADDRESS = `0x${'0'.repeat(ADDRESS_DIGITS)}`
const PRIVATE_KEY_PROBLEM = 'has the length of a private key: if the value is a private key, stop using the key'
const MANGLED_PROBLEM = 'is a number, not an address: a spreadsheet seems to have changed it'

/** Matches a name from a name service, such as `vitalik.eth`. */
const NAME_PATTERN = /^(?=.*\p{L})[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+$/u

/**
 * Returns what a text is instead of an address, such as a converted number or a name. Returns null for unrecognized
 * text.
 */
function nonAddressProblem(text: string): string | null {
  if (MANGLED_NUMBER.test(text)) return MANGLED_PROBLEM
  if (isInQuotes(text)) return 'is in quotes: remove them'
  return NAME_PATTERN.test(text) ? "is a name, not an address: names aren't resolved, so use the address" : null
}

const CODE_OF_9 = 0x39
const CODE_OF_LOWER_A = 0x61
const CASE_STEP = 0x20

/** Number of hashed addresses after which the faster implementation is loaded. */
const MAX_SLOW_HASHES = 50
let slowHashCount = 0
let keccakLoading: Promise<void> | null = null
let keccak: (message: Uint8Array) => Uint8Array = keccak_256

const DIGIT = 1
const LOWER = 2
const UPPER = 4
const OTHER = 8
const DIGIT_KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code)
  return /[0-9]/.test(char) ? DIGIT : /[a-f]/.test(char) ? LOWER : /[A-F]/.test(char) ? UPPER : OTHER
})

// The digits of the last address that `readDigits` scanned, as spelled and in lower case.
const spelledDigits = new Uint8Array(ADDRESS_DIGITS)
const lowerDigits = new Uint8Array(ADDRESS_DIGITS)

/**
 * Scans the hex digits of an address once. Returns which kinds of digit it contains, or 0 if it isn't 0x and 40 hex
 * digits.
 */
function readDigits(address: string): number {
  if (address.length !== ADDRESS_DIGITS + 2 || !address.startsWith('0x')) return 0
  let kinds = 0
  for (let i = 0; i < ADDRESS_DIGITS; i++) {
    const code = address.charCodeAt(i + 2)
    const kind = DIGIT_KINDS[code] ?? OTHER
    if (kind === OTHER) return 0
    kinds |= kind
    spelledDigits[i] = code
    lowerDigits[i] = code | CASE_STEP
  }
  return kinds
}

/**
 * Returns the Keccak-256 hash of the last scanned digits, in lower-case ASCII. After enough calls, starts to load the
 * faster implementation.
 */
function hashDigits(): Uint8Array {
  if (slowHashCount++ === MAX_SLOW_HASHES) keccakLoading = loadFastKeccak()
  return keccak(lowerDigits)
}

/** Loads the faster implementation. If this fails, for example without WebAssembly, the slower one stays in use. */
async function loadFastKeccak(): Promise<void> {
  try {
    const { createFastKeccak } = await import('../core/fast-keccak.ts')
    keccak = await createFastKeccak()
  } catch {
    // Continue with the slower implementation.
  }
}

/** Returns whether EIP-55 requires an upper-case letter at this position. */
const isUpperAt = (hash: Uint8Array, i: number): boolean => ((hash[i >> 1] ?? 0) & (i % 2 === 0 ? 0x80 : 0x08)) !== 0

/**
 * Waits for the faster implementation if it is loading, so that thousands of addresses in a manifest are hashed
 * quickly.
 */
export async function waitForFastKeccak(): Promise<void> {
  await keccakLoading
}

/** Returns the EIP-55 spelling of an EVM address. Returns text that isn't 0x and 40 hex digits unchanged. */
export function checksumAddress(address: string): string {
  if (readDigits(address) === 0) return address
  const hash = hashDigits()
  const spelled = Buffer.from(lowerDigits)
  for (let i = 0; i < spelled.length; i++) {
    const code = spelled[i] ?? 0
    if (code >= CODE_OF_LOWER_A && isUpperAt(hash, i)) spelled[i] = code - CASE_STEP
  }
  return `0x${spelled.toString('latin1')}`
}

/** Returns whether the last scanned digits have a valid checksum (EIP-55). */
function hasChecksum(): boolean {
  const hash = hashDigits()
  for (let i = 0; i < ADDRESS_DIGITS; i++) {
    const code = spelledDigits[i] ?? 0
    if (code > CODE_OF_9 && isUpperAt(hash, i) !== code < CODE_OF_LOWER_A) return false
  }
  return true
}

/**
 * Returns whether an address is a valid EVM address without upper-case letters. Such an address has no checksum to
 * verify.
 */
export function isLowerCaseAddress(address: string): boolean {
  if (address.length !== ZERO_ADDRESS.length || !address.startsWith('0x')) return false
  let kinds = 0
  for (let at = 2; at < ZERO_ADDRESS.length; at++) {
    const kind = DIGIT_KINDS[address.charCodeAt(at)] ?? OTHER
    // Stop early. Most addresses with a checksum have an upper-case letter near the beginning.
    if (kind >= UPPER) return false
    kinds |= kind
  }
  return kinds !== DIGIT || address !== ZERO_ADDRESS
}

/**
 * Returns why an EVM address is invalid; null if it is valid. An address in all lower case or all upper case has no
 * checksum (EIP-55).
 */
export function evmAddressProblem(address: string): string | null {
  // Check for a valid address first. This must be fast, because a manifest may have a million addresses.
  const kinds = readDigits(address)
  if (kinds !== 0) {
    if (kinds === DIGIT && address === ZERO_ADDRESS) return 'is the zero address, which has no owner'
    if ((kinds & LOWER) === 0 || (kinds & UPPER) === 0 || hasChecksum()) return null
    return 'has a wrong checksum (EIP-55): a letter or digit was changed, so copy the address again'
  }
  const other = nonAddressProblem(address)
  if (other !== null) return other
  if (/^0X/.test(address)) return 'must begin with 0x, not 0X'
  if (!/^(0x)?[0-9a-fA-F]+$/.test(address)) return 'is not an EVM address (0x and 40 hex digits)'
  if (/^(?:0x)?[0-9a-fA-F]{64}$/.test(address)) return PRIVATE_KEY_PROBLEM
  if (!address.startsWith('0x')) return 'must begin with 0x, followed by 40 hex digits'
  return `must have 40 hex digits after 0x, but has ${address.length - 2}`
}

/** Returns why a Solana address (32 bytes in base58) is invalid; null if it is valid. */
export function solanaAddressProblem(address: string): string | null {
  const other = nonAddressProblem(address)
  if (other !== null) return other
  if (/^0x/i.test(address)) return 'is an EVM address, but this blockchain is Solana'
  if (address.length > 44) return 'is not a Solana address (32 bytes in base58)'
  try {
    const bytes = base58btc.baseDecode(address)
    return bytes.length === 32 ? null : `is not a Solana address: it has ${bytes.length} bytes, not 32`
  } catch {
    return 'is not a Solana address (32 bytes in base58)'
  }
}

/** Returns why an address is invalid on a blockchain; null if it is valid. */
export function addressProblem(address: string, blockchain: Blockchain): string | null {
  return isEvm(blockchain) ? evmAddressProblem(address) : solanaAddressProblem(address)
}

/** Returns a blockchain with addresses of this form: `solana`, or an EVM blockchain for any other text. */
export const guessBlockchain = (address: string): Blockchain =>
  /^0x/i.test(address) || solanaAddressProblem(address) !== null ? 'polygon' : 'solana'

/** Returns the spelling in which an address is stored. */
export function canonicalAddress(address: string, blockchain: Blockchain): string {
  return isEvm(blockchain) ? checksumAddress(address) : address
}

/** Returns why a text isn't an address on any blockchain; null if it is one. */
export function anyAddressProblem(address: string): string | null {
  if (/^0x/i.test(address) || address === '') return evmAddressProblem(address)
  if (solanaAddressProblem(address) === null) return null
  return (
    nonAddressProblem(address) ??
    'is neither an EVM address (0x and 40 hex digits) nor a Solana address (32 bytes in base58)'
  )
}
