import { dirname } from 'node:path'
import { GdnError } from '../core/errors.ts'
import { readPrivateText, refuseOpenFolder } from '../core/private-file.ts'
import { Secret } from '../core/secret.ts'

/** Reads a file of ours that holds one API key, or null where there is none; one that others may read, or could replace, is refused. */
export async function readSecretFile(path: string): Promise<Secret | null> {
  await refuseOpenFolder(dirname(path), { code: 'unauthorized' })
  const found = readPrivateText(path, { code: 'unauthorized' })
  if (found === null) return null
  const text = found.replace(/\r?\n$/, '')
  if (/^[\x21-\x7e]{1,4096}$/.test(text)) return new Secret(text)
  throw new GdnError('unauthorized', `${path} doesn't hold an API key: one line of printable characters is expected`)
}
