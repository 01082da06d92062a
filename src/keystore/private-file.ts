import { GdnError } from '../core/errors.ts'
import { readPrivateFile as readBytes } from '../core/private-file.ts'

/**
 * Reads the text of a file that only its owner may access, such as a keystore or a password file.
 *
 * @throws GdnError `invalid_input`
 */
export function readSecretFile(path: string, maxBytes: number): string {
  const keystoreFileError = (message: string) => new GdnError('invalid_input', message, { place: { file: path } })
  const bytes = readBytes(path, { maxBytes, code: 'invalid_input' })
  if (bytes === null) throw keystoreFileError("doesn't exist")
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw keystoreFileError('is not UTF-8 text')
  } finally {
    bytes.fill(0)
  }
}
