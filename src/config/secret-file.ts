import { readFile, stat } from 'node:fs/promises'
import { GdnError, systemCode } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'

const MAX_KEY_LENGTH = 4096

/** Reads a file that holds one secret; one that others may read is refused. */
export async function readSecretFile(path: string): Promise<Secret> {
  await refuseLooseFile(path)
  const text = (
    await readFile(path, 'utf8').catch((error: unknown) => {
      throw new GdnError(
        'unauthorized',
        `the key file ${path} can't be read (${systemCode(error) ?? 'unknown reason'})`,
        {
          hint: 'gdn local stop, then gdn local start, makes it anew',
          cause: error,
        },
      )
    })
  ).replace(/\r?\n$/, '')
  if (text === '' || text.length > MAX_KEY_LENGTH || !/^[\x21-\x7e]+$/.test(text)) {
    throw new GdnError('unauthorized', `${path} doesn't hold an API key: one line of printable characters is expected`)
  }
  return new Secret(text)
}

/** A file with secrets that others may read has told them already: say how to close it. */
export async function refuseLooseFile(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const found = await stat(path).catch(() => null)
  if (found === null || (found.mode & 0o077) === 0) return
  throw new GdnError('unauthorized', `others may read ${path}, which holds a secret`, {
    hint: `chmod 600 '${path.replaceAll("'", "'\\''")}'`,
    place: { file: path },
  })
}
