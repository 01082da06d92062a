import { base58btc } from 'multiformats/bases/base58'
import { GdnError } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'
import { parseStrictJson } from '../core/strict-json.ts'
import { MAX_KEYSTORE_BYTES } from '../keystore/limits.ts'
import { PRIVATE_KEY_BYTES, type WalletKey } from '../keystore/private-key.ts'
import { KEYPAIR_BYTES, parseJsonKeypair } from '../keystore/solana-key.ts'
import { DEFAULT_PATHS } from './derivation-path.ts'
import { deriveMnemonicKey, mnemonicProblem } from './mnemonic.ts'
import { evmKey, type KeyKind, toSolanaKey } from './new-key.ts'

/** Minimum length of a text that is redacted. Mnemonics have at least 47 characters, and private keys 64. */
const MIN_SECRET_LENGTH = 32

/** Matches base58 text. In base58, 64 bytes take at most 88 characters. */
const BASE58_PATTERN = /^[1-9A-HJ-NP-Za-km-z]{1,88}$/
const HEX_PATTERN = /^(?:0x)?([0-9a-f]*)$/i

export interface ReadKeyOptions {
  /** The kind of key to derive from a mnemonic. */
  kind: KeyKind
  /** Derivation path for a mnemonic. Default: the path in `DEFAULT_PATHS`. */
  path?: string | undefined
}

/**
 * Reads an unencrypted key and detects its format: an EVM private key in hex, a Solana private key in base58 or as a
 * keypair file, or a mnemonic. Error messages never contain the text.
 *
 * @param file the name to show for the text in messages
 * @throws GdnError `invalid_input`
 */
export async function parsePrivateKey(text: string, file: string, { kind, path }: ReadKeyOptions): Promise<WalletKey> {
  const keyError = (message: string, hint?: string) => new GdnError('invalid_input', message, { place: { file }, hint })
  const trimmed = text.trim()
  if (trimmed === '') throw keyError('is empty')
  if (trimmed.length > MAX_KEYSTORE_BYTES) throw keyError('is too large for a key')
  // Redact the text in all output. A shorter text isn't a key, but may be a word in a message.
  if (trimmed.length >= MIN_SECRET_LENGTH) new Secret(trimmed)
  if (trimmed.startsWith('[')) {
    const bytes = parseJsonKeypair(parseStrictJson(trimmed, file, 'invalid_input'))
    if (bytes === null) throw keyError('is not a Solana keypair (a JSON list of 64 numbers from 0 to 255)')
    return parseKeypair(bytes, keyError)
  }
  const words = trimmed.toLowerCase().normalize('NFKD').split(/\s+/)
  if (isMnemonic(trimmed)) {
    const problem = await mnemonicProblem(words)
    if (problem !== null)
      throw keyError(problem, 'Compare the words with your copy. gdn supports only English BIP-39 mnemonics.')
    return await deriveMnemonicKey(words, kind, path ?? DEFAULT_PATHS[kind])
  }
  const digits = HEX_PATTERN.exec(trimmed)?.[1]
  if (digits !== undefined) return parseHexKey(digits, keyError)
  const bytes = BASE58_PATTERN.test(trimmed) ? base58btc.baseDecode(trimmed) : null
  if (bytes?.length === KEYPAIR_BYTES) return parseKeypair(bytes, keyError)
  if (bytes?.length === PRIVATE_KEY_BYTES) {
    throw keyError('is a Solana address, not its private key, which has 86 to 88 characters (64 bytes)')
  }
  throw keyError(
    'is not in a key format that gdn supports',
    'Pass a private key (0x and 64 hex digits, or base58 for Solana), a mnemonic, a keystore or a Solana keypair file.',
  )
}

type CreateKeyError = (message: string) => GdnError

function parseHexKey(digits: string, keyError: CreateKeyError): WalletKey {
  if (digits.length === 40) throw keyError('is an EVM address, not its private key')
  if (digits.length !== 2 * PRIVATE_KEY_BYTES) {
    throw keyError(`has ${digits.length} hex digits: an EVM private key has 64`)
  }
  const key = evmKey(Buffer.from(digits, 'hex'))
  if (key === null) throw keyError('is not a private key: it is zero, or too large for secp256k1')
  return key
}

function parseKeypair(bytes: Uint8Array, keyError: CreateKeyError): WalletKey {
  try {
    const key = toSolanaKey(bytes)
    if (key === null) throw keyError('is damaged: the public key of the keypair does not match its private key')
    return key
  } finally {
    bytes.fill(0)
  }
}

/** Returns whether a text looks like a mnemonic, which has several words. */
export const isMnemonic = (text: string): boolean => /^[^[{]\S*\s+\S/.test(text.trim())

/**
 * Returns whether a command's argument looks like a key instead of a file. Other users of the machine can see a
 * command's arguments.
 */
export function looksLikeKey(argument: string): boolean {
  const text = argument.trim()
  return (
    /^(0x)?[0-9a-f]{64}$/i.test(text) || /^[1-9A-HJ-NP-Za-km-z]{85,88}$/.test(text) || /^(\p{L}+\s+){11}/u.test(text)
  )
}
