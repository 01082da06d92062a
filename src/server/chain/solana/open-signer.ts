import { GdnError } from '../../../core/errors.ts'
import { parseJson } from '../../../core/json.ts'
import type { Secret } from '../../../core/secret.ts'
import { MAX_KEYSTORE_BYTES } from '../../../keystore/limits.ts'
import { addPasswordFileHint, openKeystore } from '../../../keystore/open.ts'
import { isSolanaKeystore, parseKeystore } from '../../../keystore/parse.ts'
import { readSecretFile } from '../../../keystore/private-file.ts'
import { privateKeyBytes } from '../../../keystore/private-key.ts'
import { deriveKeypairAddress, parseJsonKeypair } from '../../../keystore/solana-key.ts'
import { readCredential, readSignerPassword } from '../../settings/credentials.ts'
import type { SolanaSignerEntry } from '../../settings/solana-schema.ts'
import { type SolanaSigner, signerFromSeed } from './solana-signer.ts'

const SEED_BYTES = 32
/**
 * Maximum size of a keypair file in bytes. It is large enough for 64 numbers with commas and for white space that an
 * editor may add.
 */
const MAX_FILE_BYTES = 4096

/**
 * Opens the signer of a cluster from a gdn keystore or a keypair file of solana-keygen. A keypair file is a JSON list
 * of 64 bytes: the seed, then the public key.
 *
 * @param credentialsDirectory the directory where systemd stores a service's credentials (CREDENTIALS_DIRECTORY)
 * @throws GdnError `invalid_input` if others may read the file, or if it isn't a Solana key. The message never contains
 *   the file's content.
 */
export async function openSolanaSigner(
  entry: SolanaSignerEntry,
  credentialsDirectory: string | undefined,
): Promise<SolanaSigner> {
  if ('keystore' in entry)
    return await fromKeystore(entry.keystore, readSignerPassword(entry, credentialsDirectory), entry.password_file)
  if (entry.keypair_file !== undefined) {
    return parseKeypair(readSecretFile(entry.keypair_file, MAX_FILE_BYTES), entry.keypair_file)
  }
  const name = entry.keypair_credential ?? ''
  const { text, path } = readCredential(name, 'signs for a Solana cluster', credentialsDirectory)
  return parseKeypair(text, path)
}

async function fromKeystore(file: string, password: Secret, passwordFile: string | undefined): Promise<SolanaSigner> {
  const text = readSecretFile(file, MAX_KEYSTORE_BYTES)
  if (!isSolanaKeystore(parseKeystore(text, file))) {
    throw new GdnError('invalid_input', 'is an EVM wallet, but this is a Solana network', { place: { file } })
  }
  const { privateKey } = await openKeystore(text, password, file).catch(addPasswordFileHint(passwordFile))
  const keypair = privateKeyBytes(privateKey)
  try {
    return signerFromSeed(keypair.subarray(0, SEED_BYTES))
  } finally {
    keypair.fill(0)
  }
}

function parseKeypair(text: string, file: string): SolanaSigner {
  const signerError = (message: string) =>
    new GdnError('invalid_input', message, {
      place: { file },
      hint: 'Use a keypair file from solana-keygen: a JSON list of 64 numbers.',
    })
  const bytes = parseJsonKeypair(parseJson(text))
  if (bytes === null) throw signerError('the file is not a Solana keypair')
  try {
    if (deriveKeypairAddress(bytes) === null) {
      throw signerError('the keypair is damaged: its public key does not match its private key')
    }
    return signerFromSeed(bytes.subarray(0, SEED_BYTES))
  } finally {
    bytes.fill(0)
  }
}
