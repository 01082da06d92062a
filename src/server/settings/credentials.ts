import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GdnError } from '../../core/errors.ts'
import type { Secret } from '../../core/secret.ts'
import { parsePassword, passwordProblem, readPasswordFile } from '../../keystore/password.ts'
import type { KeystoreEntry } from './signer-schema.ts'

/** Directory where containers mount secrets. */
const CONTAINER_SECRETS = '/run/secrets'

/**
 * Reads a secret that systemd or the container runtime provides as a file.
 *
 * @param purpose the purpose of the secret for the error message, such as `opens keys/one.json`
 * @param credentialsDirectory the directory where systemd stores a service's credentials (CREDENTIALS_DIRECTORY)
 * @throws GdnError `invalid_config` if the credential doesn't exist
 */
export function readCredential(
  name: string,
  purpose: string,
  credentialsDirectory: string | undefined,
): { text: string; path: string } {
  const places = [credentialsDirectory, CONTAINER_SECRETS].filter((place) => place !== undefined)
  const path = places.map((place) => join(place, name)).find((candidate) => existsSync(candidate))
  if (path === undefined) {
    throw new GdnError('invalid_config', `the credential ${name}, which ${purpose}, does not exist`, {
      hint: `Provide the credential in ${places.join(' or ')}.`,
    })
  }
  // Don't check permissions, because systemd or the container runtime sets them.
  return { text: readFileSync(path, 'utf8'), path }
}

/**
 * Returns the password of a signer's keystore.
 *
 * @throws GdnError as `readCredential`; `invalid_input` for the password file
 */
export function readSignerPassword(
  { keystore, password_file, password_credential = '' }: KeystoreEntry,
  credentialsDirectory: string | undefined,
): Secret {
  if (password_file !== undefined) return readPasswordFile(password_file)
  const { text, path } = readCredential(password_credential, `opens ${keystore}`, credentialsDirectory)
  return parsePassword(text, path, passwordProblem)
}
