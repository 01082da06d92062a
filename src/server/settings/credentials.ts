import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GdnError } from '../../core/errors.ts'

/** Where containers find what they were given as secrets. */
const CONTAINER_SECRETS = '/run/secrets'

/**
 * A secret that the service manager hands over as a file.
 *
 * @param what it does, for the message: `opens keys/one.json`
 * @param credentialsDirectory where systemd puts a service's credentials (CREDENTIALS_DIRECTORY)
 * @throws GdnError `invalid_config` where there is none of that name
 */
export function readCredential(
  name: string,
  what: string,
  credentialsDirectory: string | undefined,
): { text: string; path: string } {
  const places = [credentialsDirectory, CONTAINER_SECRETS].filter((place) => place !== undefined)
  const path = places.map((place) => join(place, name)).find((candidate) => existsSync(candidate))
  if (path === undefined) {
    throw new GdnError('invalid_config', `there is no credential ${name}, which ${what}`, {
      hint: `it is looked for in ${places.join(' and ')}`,
    })
  }
  // Whoever puts it there also decides who may read it: the folder is the service's own.
  return { text: readFileSync(path, 'utf8'), path }
}
