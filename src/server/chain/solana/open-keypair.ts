import { base58btc } from 'multiformats/bases/base58'
import { GdnError } from '../../../core/errors.ts'
import { readPrivateFile } from '../../../keystore/private-file.ts'
import { readCredential } from '../../settings/credentials.ts'
import type { KeypairEntry } from '../../settings/solana-schema.ts'
import { type SolanaSigner, signerOfSeed } from './signer.ts'

const SEED_BYTES = 32
const KEYPAIR_BYTES = 64
/** 64 numbers with commas and all the white space that a person may put between them. */
const MAX_FILE_BYTES = 4096

/**
 * The signer of a keypair as solana-keygen writes it: a JSON list of 64 bytes, the seed and then the public key.
 *
 * @param credentialsDirectory where systemd puts a service's credentials (CREDENTIALS_DIRECTORY)
 * @throws GdnError `invalid_input` for a file that others may read, or that is no keypair; nothing of it is quoted
 */
export function openKeypair(entry: KeypairEntry, credentialsDirectory: string | undefined): SolanaSigner {
  if (entry.keypair_file !== undefined) {
    return parseKeypair(readPrivateFile(entry.keypair_file, MAX_FILE_BYTES), entry.keypair_file)
  }
  const name = entry.keypair_credential ?? ''
  const { text, path } = readCredential(name, 'signs for a Solana cluster', credentialsDirectory)
  return parseKeypair(text, path)
}

function parseKeypair(text: string, file: string): SolanaSigner {
  const fail = (message: string) =>
    new GdnError('invalid_input', message, {
      place: { file },
      hint: 'give a keypair as solana-keygen writes it: a JSON list of 64 numbers',
    })
  const numbers = parseJson(text)
  if (!Array.isArray(numbers) || numbers.length !== KEYPAIR_BYTES || !numbers.every(isByte)) {
    throw fail('is no keypair of Solana')
  }
  const bytes = Uint8Array.from(numbers)
  try {
    const signer = signerOfSeed(bytes.subarray(0, SEED_BYTES))
    const told = base58btc.baseEncode(bytes.subarray(SEED_BYTES))
    if (signer.address !== told) throw fail('is damaged: its public key is not that of its private key')
    return signer
  } finally {
    bytes.fill(0)
    numbers.fill(0)
  }
}

const isByte = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
