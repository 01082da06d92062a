import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { walletsDirectory } from '../../../config/paths.ts'
import { GdnError } from '../../../core/errors.ts'
import { KEYSTORE_EXTENSION } from '../../../wallet/folder.ts'
import { nameProblem, readName } from '../../../wallet/names.ts'
import type { Deps } from '../../deps.ts'

/**
 * Returns the keystore file that a name or path identifies.
 *
 * @param flag the flag that contains the name or path, for errors
 */
export async function findKeystore(deps: Deps, nameOrPath: string, flag: string): Promise<string> {
  const isFile =
    /[/\\]/.test(nameOrPath) ||
    (!nameOrPath.startsWith('@') && (nameOrPath.endsWith('.json') || nameProblem(nameOrPath) !== null))
  if (isFile) return resolve(deps.cwd, nameOrPath)
  const place = { flag }
  const name = readName(nameOrPath, place)
  const file = join(walletsDirectory(deps.env), name + KEYSTORE_EXTENSION)
  if (existsSync(file)) return file
  const address = (await deps.addresses()).resolve(name, place)
  throw new GdnError('usage', `@${name} is a saved address (${address}), whose key is not on this machine`, { place })
}
