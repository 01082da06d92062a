import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58btc } from 'multiformats/bases/base58'
import { createKeccakBlock, type KeccakBlock } from '../core/keccak-block.ts'
import { type Blockchain, isEvm } from './blockchains.ts'

const DIGITS = 40
const FORM = /^0x[0-9a-fA-F]{40}$/
const ZERO = `0x${'0'.repeat(DIGITS)}`
const MANGLED_NUMBER = /^\d+([.,]\d+)?[eE]\+?\d+$/
const MANGLED = 'is a number, not an address: a spreadsheet seems to have changed it'

const ZERO_DIGIT = 0x30
const NINE = 0x39
const SMALL_A = 0x61
const SMALL_F = 0x66
const CASE_STEP = 0x20

/** How many addresses are hashed the plain way, before what is faster and has to be made first is worth it. */
const FEW = 50
let hashed = 0
let block: KeccakBlock | null = null

/** Keccak-256 of the digits in lower case, as ASCII. */
function digitsHash(address: string): Uint8Array {
  if (hashed++ === FEW) block = createKeccakBlock()
  if (block === null) return keccak_256(Buffer.from(address.slice(2).toLowerCase(), 'latin1'))
  const { input } = block
  for (let i = 0; i < DIGITS; i++) input[i] = address.charCodeAt(i + 2) | CASE_STEP
  return block.hash(DIGITS)
}

/** Whether EIP-55 writes a letter at this place of the digits in upper case. */
const isUpperAt = (hash: Uint8Array, i: number): boolean => ((hash[i >> 1] ?? 0) & (i % 2 === 0 ? 0x80 : 0x08)) !== 0

/** The EIP-55 spelling of an address of 40 hex digits, in any case. */
export function checksumAddress(address: string): string {
  const hash = digitsHash(address)
  const spelled = Buffer.from(address.slice(2).toLowerCase(), 'latin1')
  for (let i = 0; i < spelled.length; i++) {
    const code = spelled[i] ?? 0
    if (code >= SMALL_A && isUpperAt(hash, i)) spelled[i] = code - CASE_STEP
  }
  return `0x${spelled.toString('latin1')}`
}

function hasChecksum(address: string): boolean {
  const hash = digitsHash(address)
  for (let i = 0; i < DIGITS; i++) {
    const code = address.charCodeAt(i + 2)
    if (code > NINE && isUpperAt(hash, i) !== code < SMALL_A) return false
  }
  return true
}

/** Whether an address is a good EVM address in lower case, which has no checksum to be checked. */
export function isLowerCaseAddress(address: string): boolean {
  if (address.length !== ZERO.length || !address.startsWith('0x')) return false
  let differs = 0
  for (let at = 2; at < ZERO.length; at++) {
    const code = address.charCodeAt(at)
    if (!(code >= ZERO_DIGIT && code <= NINE) && !(code >= SMALL_A && code <= SMALL_F)) return false
    differs |= code ^ ZERO_DIGIT
  }
  return differs !== 0
}

/** What is wrong with an EVM address, or null. All lower and all upper case are legal (EIP-55). */
export function evmAddressProblem(address: string): string | null {
  // What is right goes first, and by as few steps as may be: a manifest may hold a million.
  if (FORM.test(address)) {
    if (address === ZERO) return 'is the zero address, which nobody owns'
    if (address.toLowerCase() === address || hasChecksum(address)) return null
    if (address === `0x${address.slice(2).toUpperCase()}`) return null
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

/** Whether two addresses of a blockchain are the same: EVM addresses differ in case only for their checksum. */
export function sameAddress(a: string, b: string): boolean {
  return a === b || (FORM.test(a) && FORM.test(b) && a.toLowerCase() === b.toLowerCase())
}
