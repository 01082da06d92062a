import { GdnError } from '../../../core/errors.ts'
import type { Secret } from '../../../core/secret.ts'
import { MAX_KEYSTORE_BYTES } from '../../../keystore/limits.ts'
import { addPasswordFileHint, openEvmKeystore, refuseSolanaKeystore } from '../../../keystore/open.ts'
import { parseKeystore } from '../../../keystore/parse.ts'
import { readSecretFile } from '../../../keystore/private-file.ts'
import { readSignerPassword } from '../../settings/credentials.ts'
import type { SignerEntry } from '../../settings/signer-schema.ts'
import { createSigner } from './create-signer.ts'
import type { Signer } from './evm-signer.ts'
import type { Hex } from './network.ts'

/**
 * Opens the keystore of a signer, or the connection to a remote signer.
 *
 * @param credentialsDirectory the directory where systemd stores a service's credentials (CREDENTIALS_DIRECTORY)
 * @throws GdnError `invalid_input` with the file that has the problem
 */
export async function openSigner(entry: SignerEntry, credentialsDirectory: string | undefined): Promise<Signer> {
  if ('keystore' in entry)
    return await openKeystoreFile(entry.keystore, readSignerPassword(entry, credentialsDirectory), entry.password_file)
  const { openRemoteSigner } = await import('./remote-signer/open-remote-signer.ts')
  return openRemoteSigner(entry, { credentialsDirectory })
}

/**
 * Returns the signer of a keystore file.
 *
 * @param passwordFile the file that contains the password, for messages
 * @throws GdnError `invalid_input`
 */
export async function openKeystoreFile(path: string, password: Secret, passwordFile?: string): Promise<Signer> {
  const text = readSecretFile(path, MAX_KEYSTORE_BYTES)
  const { privateKey } = await openEvmKeystore(text, password, path).catch(addPasswordFileHint(passwordFile))
  return createSigner(privateKey.reveal() as Hex)
}

/**
 * Checks the parts of a keystore file that can be read without its password. Returns the address in the file, or null
 * if there is none.
 *
 * @throws GdnError `invalid_input`
 */
export function checkKeystoreFile(path: string): Hex | null {
  const keystore = parseKeystore(readSecretFile(path, MAX_KEYSTORE_BYTES), path)
  refuseSolanaKeystore(keystore, path)
  return keystore.address as Hex | null
}

/**
 * Opens signers one after another, because each keystore takes 256 MB of memory while it is opened.
 *
 * @throws GdnError `invalid_config` if a key is listed twice
 */
export async function openSigners(entries: readonly SignerEntry[], credentialsDirectory: string | undefined) {
  const signers: Signer[] = []
  for (const entry of entries) signers.push(await openSigner(entry, credentialsDirectory))
  const twice = signers.find(({ address }, index) => signers.findIndex((other) => other.address === address) !== index)
  if (twice === undefined) return signers
  throw new GdnError('invalid_config', `the key of ${twice.address} is listed twice among the operators of a chain`)
}

/**
 * Returns signers that only have addresses, without reading passwords or tokens. A process that never signs uses them
 * to accept requests and to monitor funds, and never has a key.
 *
 * @throws GdnError `invalid_config` for a keystore without an address
 */
export function openAddressOnlySigners(entries: readonly SignerEntry[]): Signer[] {
  return entries.map((entry) => {
    const address = 'keystore' in entry ? addressIn(entry.keystore) : entry.address
    return { address, sign: () => Promise.reject(new Error(`this process can't sign: it has no key for ${address}`)) }
  })
}

function addressIn(keystore: string): Hex {
  const address = checkKeystoreFile(keystore)
  if (address !== null) return address
  throw new GdnError('invalid_config', `${keystore} has no address, and an API process can't open keystores`, {
    hint: 'Run `gdn wallet generate` to create a keystore, or add the field `address` to this keystore.',
  })
}
