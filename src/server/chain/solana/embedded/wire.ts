import {
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
  getTransactionEncoder,
} from '@solana/kit'
import { base58btc } from 'multiformats/bases/base58'

const MAX_TRANSACTION_BYTES = 1232
const SIGNATURE_BYTES = 64
const NO_TRANSACTION = 'the bytes are not a signed transaction'

/** A transaction as submitted. */
export interface WireTransaction {
  /** base64 */
  raw: string
  bytes: Uint8Array
  signature: string
  blockhash: string
}

/** Returns the first signature of a transaction, which identifies it. It follows the signature count. */
export function signatureOf(bytes: Uint8Array): string {
  return base58btc.baseEncode(bytes.subarray(1, 1 + SIGNATURE_BYTES))
}

/**
 * Decodes a submitted transaction, or returns why it isn't one. Parsing is strict, because litesvm aborts the process
 * on bytes that it can't read: only the single valid encoding of a transaction is accepted.
 */
export function readTransaction(raw: string): WireTransaction | string {
  const bytes = Buffer.from(raw, 'base64')
  if (bytes.length > MAX_TRANSACTION_BYTES) return 'the transaction is too large'
  try {
    const transaction = getTransactionDecoder().decode(bytes)
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
    if (message.version !== 'legacy' && message.version !== 0) return 'the transaction has an unknown version'
    const encoded = [
      getCompiledTransactionMessageEncoder().encode(message),
      getTransactionEncoder().encode(transaction),
    ]
    const isCanonical = encoded.every((part) => bytes.subarray(bytes.length - part.length).equals(Buffer.from(part)))
    if (!isCanonical || encoded[1]?.length !== bytes.length) return NO_TRANSACTION
    return { raw, bytes, signature: signatureOf(bytes), blockhash: message.lifetimeToken }
  } catch {
    return NO_TRANSACTION
  }
}
