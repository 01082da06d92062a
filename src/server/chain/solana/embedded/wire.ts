import { base58btc } from 'multiformats/bases/base58'
import { KEY_BYTES, MAX_TRANSACTION_BYTES, SIGNATURE_BYTES } from '../sizes.ts'

const NO_TRANSACTION = 'the bytes are not a signed transaction'

/** A transaction as it was submitted. */
export interface WireTransaction {
  /** The transaction in base64. */
  raw: string
  bytes: Uint8Array
  signature: string
  blockhash: string
}

/** Returns the signature that identifies a transaction. It follows the signature count. */
export function parseSignature(bytes: Uint8Array): string {
  return base58btc.baseEncode(bytes.subarray(1, 1 + SIGNATURE_BYTES))
}

/**
 * Decodes a submitted transaction, or returns why the bytes aren't a transaction. Parsing is strict, because litesvm
 * aborts the process on bytes that it can't read. Only the form that gdn signs is accepted: one signature and a legacy
 * message.
 */
export function decodeTransaction(raw: string): WireTransaction | string {
  const bytes = Buffer.from(raw, 'base64')
  if (bytes.length > MAX_TRANSACTION_BYTES) return 'the transaction is too large'
  try {
    return { raw, bytes, signature: parseSignature(bytes), blockhash: base58btc.baseEncode(parseBlockhash(bytes)) }
  } catch {
    return NO_TRANSACTION
  }
}

/** Returns the blockhash of a transaction. Throws unless the bytes are exactly one transaction. */
function parseBlockhash(bytes: Buffer): Uint8Array {
  let at = 0
  const take = (count: number) => {
    const part = bytes.subarray(at, at + count)
    at += count
    if (at > bytes.length) throw new Error('the transaction is truncated')
    return part
  }
  const byte = () => take(1).readUInt8()
  /** Reads a compact-u16 length. It has 7 bits per byte, lowest bits first, and at most two bytes in a transaction. */
  const length = () => {
    const low = byte()
    if (low < 0x80) return low
    const high = byte()
    if (high === 0 || high >= 0x80) throw new Error('a length does not have the shortest encoding')
    return (low & 0x7f) | (high << 7)
  }
  if (length() !== 1) throw new Error('the transaction must have exactly one signature')
  take(SIGNATURE_BYTES)
  const [signers, readonlySigners, readonlyOthers, keys] = [byte(), byte(), byte(), length()]
  if (signers !== 1 || readonlySigners > 0 || readonlyOthers >= keys) throw new Error('the header is invalid')
  take(keys * KEY_BYTES)
  const blockhash = take(KEY_BYTES)
  for (let remaining = length(); remaining > 0; remaining--) {
    const program = byte()
    const accounts = take(length())
    take(length())
    if (program >= keys || accounts.some((index) => index >= keys)) throw new Error('an account is missing')
  }
  if (at !== bytes.length) throw new Error('bytes follow the transaction')
  return blockhash
}
