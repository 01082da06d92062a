import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { getuid, platform } from 'node:process'
import { GdnError, systemCode } from '../core/errors.ts'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "doesn't exist",
  ENOTDIR: "doesn't exist",
  EACCES: "can't be read: permission denied",
  EPERM: "can't be read: permission denied",
  ELOOP: 'is a symbolic link, and what it points to may be changed by others; name the file itself',
}

/** A path between quotes, as a shell takes it. */
export const quoted = (path: string) => `'${path.replaceAll("'", "'\\''")}'`

/**
 * The text of a file that only its owner may touch: a keystore, or a password. Symbolic links, devices and pipes are
 * refused, and so is a file that others may read or write, with the command that mends it. What is checked is what is
 * read: the same open file.
 *
 * @throws GdnError `invalid_input`
 */
export function readPrivateFile(path: string, maxBytes: number): string {
  const fail = (message: string, hint?: string, cause?: unknown) =>
    new GdnError('invalid_input', message, {
      place: { file: path },
      ...(hint === undefined ? {} : { hint }),
      ...(cause === undefined ? {} : { cause }),
    })
  let file: number
  try {
    const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0 } = constants
    file = openSync(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
  } catch (error) {
    const reason = systemCode(error) ?? ''
    throw fail(REASONS[reason] ?? `can't be read (${reason})`, undefined, error)
  }
  try {
    const found = fstatSync(file)
    if (!found.isFile()) throw fail(found.isDirectory() ? 'is a directory, not a file' : 'is not a regular file')
    if (found.size > maxBytes) throw fail(`is larger than ${maxBytes} bytes`)
    if (platform !== 'win32') {
      if ((found.mode & 0o077) !== 0) throw fail('may be read or changed by others', `chmod 600 ${quoted(path)}`)
      const me = getuid?.()
      if (me !== undefined && found.uid !== me && me !== 0) throw fail('belongs to another user')
    }
    const bytes = readFileSync(file)
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    } catch {
      throw fail('is not UTF-8 text')
    } finally {
      bytes.fill(0)
    }
  } finally {
    closeSync(file)
  }
}
