import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58btc } from 'multiformats/bases/base58'
import { type Blockchain, isEvm } from './blockchains.ts'

const EVM_FORM = /^0x[0-9a-fA-F]{40}$/
const MANGLED_NUMBER = /^\d+([.,]\d+)?[eE]\+?\d+$/
const MANGLED = 'is a number, not an address: a spreadsheet seems to have changed it'

const SMALL_A = 0x61
const CASE_STEP = 0x20

/** The EIP-55 spelling of an address of 40 hex digits, in any case. */
export function checksumAddress(address: string): string {
  // Bytes in place: a manifest may hold a million addresses, and pieces of strings cost half as much as the hash.
  const spelled = Buffer.from(address.slice(2).toLowerCase(), 'latin1')
  const hash = keccak_256(spelled)
  for (let i = 0; i < spelled.length; i++) {
    const code = spelled[i] ?? 0
    const nibble = (hash[i >> 1] ?? 0) >> (i % 2 === 0 ? 4 : 0)
    if (code >= SMALL_A && (nibble & 8) !== 0) spelled[i] = code - CASE_STEP
  }
  return `0x${spelled.toString('latin1')}`
}

/** What is wrong with an EVM address, or null. All lower and all upper case are legal (EIP-55). */
export function evmAddressProblem(address: string): string | null {
  if (MANGLED_NUMBER.test(address)) return MANGLED
  if (!EVM_FORM.test(address)) {
    if (/^0X/.test(address)) return 'must begin with 0x, not 0X'
    if (/^(0x)?[0-9a-fA-F]+$/.test(address)) {
      const digits = address.replace(/^0x/, '').length
      return address.startsWith('0x')
        ? `must have 40 hex digits after 0x, has ${digits}`
        : 'must begin with 0x, followed by 40 hex digits'
    }
    return 'is not an EVM address (0x and 40 hex digits)'
  }
  if (/^0x0{40}$/.test(address)) return 'is the zero address, which nobody owns'
  const digits = address.slice(2)
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return null
  return checksumAddress(address) === address
    ? null
    : 'has a wrong checksum (EIP-55): a letter or digit was changed; copy it again'
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
  return a === b || (EVM_FORM.test(a) && EVM_FORM.test(b) && a.toLowerCase() === b.toLowerCase())
}
