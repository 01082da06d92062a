import { GdnError } from '../core/errors.ts'
import { Secret } from '../core/secret.ts'
import { readSecretFile } from './private-file.ts'

const MAX_PASSWORD_BYTES = 4096
const MIN_NEW_PASSWORD_LENGTH = 8

/** Returns the problem with a password, or null if it is valid. */
export function passwordProblem(password: string): string | null {
  if (password === '') return 'must not be empty'
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) return `must have at most ${MAX_PASSWORD_BYTES} bytes`
  if (/\p{Cc}/u.test(password)) return 'must be one line of text'
  return null
}

/**
 * Returns the problem with a password for a new keystore, or null if it is valid. Rejects passwords that not all
 * wallets encode in the same way.
 *
 * @param options.weak whether to accept a short password
 */
export function newPasswordProblem(password: string, { weak = false } = {}): string | null {
  const problem = passwordProblem(password)
  if (problem !== null) return problem
  if (password.normalize('NFKC') !== password) {
    return 'has characters that some wallets encode differently, such as ligatures or full-width letters'
  }
  if (weak || [...password].length >= MIN_NEW_PASSWORD_LENGTH) return null
  return `must have at least ${MIN_NEW_PASSWORD_LENGTH} characters`
}

/** Reads a one-line password from the content of a file or a pipe. */
export function parsePassword(text: string, place: string, problemOf: (password: string) => string | null): Secret {
  const password = text.replace(/\r?\n$/, '')
  const problem = problemOf(password)
  if (problem === null) return new Secret(password)
  throw new GdnError('invalid_input', `the password ${problem}`, {
    place: { file: place },
    hint:
      passwordProblem(password) !== null
        ? 'Pass the password as the only line of the file or pipe.'
        : 'Use another password. For a test wallet, --weak-password accepts a short one.',
  })
}

/** Reads a password from a file that only its owner may read. */
export function readPasswordFile(path: string, problemOf = passwordProblem): Secret {
  return parsePassword(readSecretFile(path, MAX_PASSWORD_BYTES + 2), path, problemOf)
}
