import { GdnError } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'
import { readPrivateFile } from './private-file.ts'

const MAX_PASSWORD_BYTES = 4096

/** What is wrong with a password, or null. */
export function passwordProblem(password: string): string | null {
  if (password === '') return 'must not be empty'
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) return `must have at most ${MAX_PASSWORD_BYTES} bytes`
  if (/\p{Cc}/u.test(password)) return 'must be one line of text'
  return null
}

/** What is wrong with a password for a keystore that is to be made, or null: every wallet has to read it alike. */
export function newPasswordProblem(password: string): string | null {
  return (
    passwordProblem(password) ??
    (password.normalize('NFKC') === password
      ? null
      : 'has characters that wallets read in different ways, such as ligatures or full-width letters; use others')
  )
}

/** A password as a file or a pipe holds it: one line. */
export function passwordIn(text: string, place: string, problemOf: (password: string) => string | null): Secret {
  const password = text.replace(/\r?\n$/, '')
  const problem = problemOf(password)
  if (problem === null) return new Secret(password)
  throw new GdnError('invalid_input', `the password ${problem}`, { place: { file: place } })
}

/** A password from a file that only its owner may read. */
export function readPasswordFile(path: string, problemOf = passwordProblem): Secret {
  return passwordIn(readPrivateFile(path, MAX_PASSWORD_BYTES + 2), path, problemOf)
}
