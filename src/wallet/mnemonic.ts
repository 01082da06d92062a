import { createHmac, pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import type { WalletKey } from '../keystore/private-key.ts'
import { type PathPart, parsePath } from './derivation-path.ts'
import { evmKey, type KeyKind, solanaKey } from './new-key.ts'

const MNEMONIC_LENGTHS = [12, 15, 18, 21, 24]
const HARDENED_OFFSET = 2 ** 31

/**
 * Returns the reason why an English BIP-39 mnemonic is invalid, or null if it is valid. The reason never contains a
 * word of the mnemonic.
 *
 * @param words the words in lower case
 */
export async function mnemonicProblem(words: readonly string[]): Promise<string | null> {
  if (!MNEMONIC_LENGTHS.includes(words.length)) {
    return `has ${words.length} words: a mnemonic has 12, 15, 18, 21 or 24`
  }
  // Load the word list only when it is used, because it is large.
  const [{ validateMnemonic }, { wordlist }] = await Promise.all([
    import('@scure/bip39'),
    import('@scure/bip39/wordlists/english'),
  ])
  const wordSet = new Set(wordlist)
  const at = words.findIndex((word) => !wordSet.has(word))
  if (at >= 0) return `has a word that is not in the English list of BIP-39: word ${at + 1} of ${words.length}`
  if (validateMnemonic(words.join(' '), wordlist)) return null
  return 'has a wrong checksum: a word or the order of the words was changed'
}

/**
 * Derives a key from a valid mnemonic. Uses BIP-32 for EVM, and SLIP-10 with Ed25519 for Solana.
 *
 * @param path a derivation path that `parsePath` accepts; for Solana, every part must be hardened
 */
export async function deriveMnemonicKey(words: readonly string[], kind: KeyKind, path: string): Promise<WalletKey> {
  const parts = parsePath(path)
  if (parts === null) throw new Error('this derivation path is invalid')
  // Node.js's pbkdf2 is native and runs off the main thread. `mnemonicToSeed` of @scure/bip39 is implemented in
  // JavaScript.
  const seed = await promisify(pbkdf2)(words.join(' '), 'mnemonic', 2048, 64, 'sha512')
  const bytes = kind === 'solana' ? ed25519Seed(seed, parts) : await secp256k1Key(seed, parts)
  try {
    const key = kind === 'solana' ? solanaKey(bytes) : evmKey(bytes)
    if (key === null) throw new Error('this derivation path has no key')
    return key
  } finally {
    seed.fill(0)
    bytes.fill(0)
  }
}

async function secp256k1Key(seed: Uint8Array, parts: readonly PathPart[]): Promise<Uint8Array> {
  const { HDKey } = await import('@scure/bip32')
  let node = HDKey.fromMasterSeed(seed)
  for (const part of parts) {
    const next = node.deriveChild(childIndex(part))
    node.wipePrivateData()
    node = next
  }
  const { privateKey } = node
  if (privateKey === null) throw new Error('this derivation path has no key')
  return privateKey
}

/** Derives an Ed25519 seed with SLIP-10, which supports only hardened keys for this curve. */
export function ed25519Seed(seed: Uint8Array, parts: readonly PathPart[]): Uint8Array {
  let node = createHmac('sha512', 'ed25519 seed').update(seed).digest()
  for (const part of parts) {
    const data = Buffer.alloc(37)
    node.copy(data, 1, 0, 32)
    data.writeUInt32BE(childIndex(part), 33)
    const next = createHmac('sha512', node.subarray(32)).update(data).digest()
    node.fill(0)
    data.fill(0)
    node = next
  }
  return node.subarray(0, 32)
}

const childIndex = ({ index, hardened }: PathPart): number => index + (hardened ? HARDENED_OFFSET : 0)
