import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58btc } from 'multiformats/bases/base58'
import { type Blockchain, isEvm } from './blockchains.ts'

const DIGITS = 40
const ZERO = `0x${'0'.repeat(DIGITS)}`
const MANGLED_NUMBER = /^\d+([.,]\d+)?[eE]\+?\d+$/
const MANGLED = 'is a number, not an address: a spreadsheet seems to have changed it'

const NINE = 0x39
const SMALL_A = 0x61
const CASE_STEP = 0x20

/** How many addresses are hashed before what is faster, and has to be loaded first, is worth it. */
const FEW = 50
let hashed = 0
let keccak: (message: Uint8Array) => Uint8Array = keccak_256

const DIGIT = 1
const LOWER = 2
const UPPER = 4
const OTHER = 8
/** What an ASCII character is among hex digits. */
const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code)
  return /[0-9]/.test(char) ? DIGIT : /[a-f]/.test(char) ? LOWER : /[A-F]/.test(char) ? UPPER : OTHER
})

// The digits of the address that was read last, as they are spelt and in lower case.
const spelt = new Uint8Array(DIGITS)
const lower = new Uint8Array(DIGITS)

/** Reads the digits of an address in one pass, and tells which kinds there are; 0 for what has another form. */
function readDigits(address: string): number {
  if (address.length !== DIGITS + 2 || !address.startsWith('0x')) return 0
  let kinds = 0
  for (let i = 0; i < DIGITS; i++) {
    const code = address.charCodeAt(i + 2)
    const kind = KINDS[code] ?? OTHER
    if (kind === OTHER) return 0
    kinds |= kind
    spelt[i] = code
    lower[i] = code | CASE_STEP
  }
  return kinds
}

/** Keccak-256 of the digits that were read last, in lower case, as ASCII. */
function digitsHash(): Uint8Array {
  if (hashed++ === FEW) void useFastKeccak()
  return keccak(lower)
}

/** Until it is there, and where the runtime has no WebAssembly, it is done the plain way. */
async function useFastKeccak(): Promise<void> {
  try {
    const { createFastKeccak } = await import('../core/fast-keccak.ts')
    keccak = await createFastKeccak()
  } catch {
    // Slower, that is all.
  }
}

/** Whether EIP-55 writes a letter at this place of the digits in upper case. */
const isUpperAt = (hash: Uint8Array, i: number): boolean => ((hash[i >> 1] ?? 0) & (i % 2 === 0 ? 0x80 : 0x08)) !== 0

/** The EIP-55 spelling of an address of 40 hex digits, in any case; what is none is left as it is. */
export function checksumAddress(address: string): string {
  if (readDigits(address) === 0) return address
  const hash = digitsHash()
  const spelled = Buffer.from(lower)
  for (let i = 0; i < spelled.length; i++) {
    const code = spelled[i] ?? 0
    if (code >= SMALL_A && isUpperAt(hash, i)) spelled[i] = code - CASE_STEP
  }
  return `0x${spelled.toString('latin1')}`
}

/** Whether the digits that were read last have their checksum. */
function hasChecksum(): boolean {
  const hash = digitsHash()
  for (let i = 0; i < DIGITS; i++) {
    const code = spelt[i] ?? 0
    if (code > NINE && isUpperAt(hash, i) !== code < SMALL_A) return false
  }
  return true
}

/** Whether an address is a good EVM address in lower case, which has no checksum to be checked. */
export function isLowerCaseAddress(address: string): boolean {
  if (address.length !== ZERO.length || !address.startsWith('0x')) return false
  let kinds = 0
  for (let at = 2; at < ZERO.length; at++) kinds |= KINDS[address.charCodeAt(at)] ?? OTHER
  return (kinds & (UPPER | OTHER)) === 0 && (kinds !== DIGIT || address !== ZERO)
}

/** What is wrong with an EVM address, or null. All lower and all upper case are legal (EIP-55). */
export function evmAddressProblem(address: string): string | null {
  // What is right goes first, and by as few steps as may be: a manifest may hold a million.
  const kinds = readDigits(address)
  if (kinds !== 0) {
    if (kinds === DIGIT && address === ZERO) return 'is the zero address, which nobody owns'
    if ((kinds & LOWER) === 0 || (kinds & UPPER) === 0 || hasChecksum()) return null
    return 'has a wrong checksum (EIP-55): a letter or digit was changed; copy it again'
  }
  if (MANGLED_NUMBER.test(address)) return MANGLED
  if (/^0X/.test(address)) return 'must begin with 0x, not 0X'
  if (!/^(0x)?[0-9a-fA-F]+$/.test(address)) return 'is not an EVM address (0x and 40 hex digits)'
  if (!address.startsWith('0x')) return 'must begin with 0x, followed by 40 hex digits'
  return `must have 40 hex digits after 0x, has ${address.length - 2}`
}

/** What is wrong with a Solana address (base58 of 32 bytes), or null. */
export function solanaAddressProblem(address: string): string | null {
  if (MANGLED_NUMBER.test(address)) return MANGLED
  if (/^0x/i.test(address)) return 'is an EVM address, but this blockchain is Solana'
  if (address.length > 44) return 'is not a Solana address (base58 of 32 bytes)'
  try {
    const bytes = base58btc.baseDecode(address)
    return bytes.length === 32 ? null : `is not a Solana address: it holds ${bytes.length} bytes, not 32`
  } catch {
    return 'is not a Solana address (base58 of 32 bytes)'
  }
}

/** What is wrong with an address on a blockchain, or null. */
export function addressProblem(address: string, blockchain: Blockchain): string | null {
  return isEvm(blockchain) ? evmAddressProblem(address) : solanaAddressProblem(address)
}

/** The one spelling under which an address of a blockchain is kept. */
export function canonicalAddress(address: string, blockchain: Blockchain): string {
  return isEvm(blockchain) ? checksumAddress(address) : address
}
