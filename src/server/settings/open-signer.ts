import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import type { Secret } from '../../core/secret.ts'
import { MAX_KEYSTORE_BYTES } from '../../keystore/limits.ts'
import { openKeystore } from '../../keystore/open.ts'
import { passwordIn, passwordProblem, readPasswordFile } from '../../keystore/password.ts'
import { readPrivateFile } from '../../keystore/private-file.ts'
import type { Hex } from '../chain/evm/network.ts'
import { createSigner, type Signer } from '../chain/signers.ts'
import type { SignerEntry } from './schema.ts'

/** Where containers find what they were given as secrets. */
const CONTAINER_SECRETS = '/run/secrets'

/**
 * Opens the keystore of a signer.
 *
 * @param credentialsDirectory where systemd puts a service's credentials (CREDENTIALS_DIRECTORY)
 * @throws GdnError `invalid_input` with the file that is at fault
 */
export async function openSigner(entry: SignerEntry, credentialsDirectory: string | undefined): Promise<Signer> {
  return await openKeystoreFile(entry.keystore, readPassword(entry, credentialsDirectory))
}

/** The signer of a keystore file. @throws GdnError `invalid_input` */
export async function openKeystoreFile(path: string, password: Secret): Promise<Signer> {
  const { privateKey } = await openKeystore(readPrivateFile(path, MAX_KEYSTORE_BYTES), password, path)
  return createSigner(privateKey.reveal() as Hex)
}

/** As openSigner, for several: one after the other, since each takes a quarter of a gigabyte. */
export async function openSigners(entries: readonly SignerEntry[], credentialsDirectory: string | undefined) {
  const signers: Signer[] = []
  for (const entry of entries) signers.push(await openSigner(entry, credentialsDirectory))
  const twice = signers.find(({ address }, index) => signers.findIndex((one) => one.address === address) !== index)
  if (twice === undefined) return signers
  throw new GdnError('invalid_config', `the key of ${twice.address} is named twice among the operators of a chain`)
}

function readPassword(
  { keystore, password_file, password_credential: name = '' }: SignerEntry,
  credentialsDirectory: string | undefined,
): Secret {
  if (password_file !== undefined) return readPasswordFile(password_file)
  const places = [credentialsDirectory, CONTAINER_SECRETS].filter((place) => place !== undefined)
  const path = places.map((place) => join(place, name)).find((candidate) => existsSync(candidate))
  if (path === undefined) {
    throw new GdnError('invalid_config', `there is no credential ${name}, which opens ${keystore}`, {
      hint: `it is looked for in ${places.join(' and ')}`,
    })
  }
  // Whoever puts it there also decides who may read it: the folder is the service's own.
  return passwordIn(readFileSync(path, 'utf8'), path, passwordProblem)
}
