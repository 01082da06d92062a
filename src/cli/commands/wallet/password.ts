import { existsSync } from 'node:fs'
import { GdnError } from '../../../core/errors.ts'
import { Secret } from '../../../core/secret.ts'
import { newPasswordProblem, parsePassword, passwordProblem, readPasswordFile } from '../../../keystore/password.ts'
import { cannotPromptError, type GdnCommand } from '../../command.ts'
import { notEmpty } from '../../flags/common.ts'
import type { Io } from '../../io/io.ts'
import { readInput } from '../../io/request-file.ts'
import { askSecret, mayPrompt } from '../../prompt/ask-missing.ts'

const PASSWORD_FLAG = '--password-file'

export function addPasswordFlag(command: GdnCommand): GdnCommand {
  return command.valueFlag('--password-file <file>', 'File with the password, or - for standard input', notEmpty)
}

export function addNewPasswordFlags(command: GdnCommand): GdnCommand {
  addPasswordFlag(command)
  return command.switchFlag('--weak-password', 'Accept a password of fewer than 8 characters, for tests')
}

export interface NewPasswordFlags {
  passwordFile?: string
  weakPassword?: boolean
}

/** Returns the password for a new keystore. A prompt asks for it twice. */
export async function newPassword(io: Io, { passwordFile, weakPassword }: NewPasswordFlags): Promise<Secret> {
  const problemOf: PasswordProblem = (password) => newPasswordProblem(password, { weak: weakPassword === true })
  const givenSecret = await readPasswordFromInput(io, passwordFile, problemOf)
  if (givenSecret !== null) return givenSecret
  const first = await promptForPassword(io, 'Password for the keystore', (typed) => {
    const problem = problemOf(typed)
    return problem === null || `it ${problem}`
  })
  await promptForPassword(
    io,
    'Repeat the password',
    (typed) => typed === first || 'the passwords differ; press Ctrl-C to start over',
  )
  return new Secret(first)
}

export async function readPassword(io: Io, file: string | undefined): Promise<Secret> {
  const givenSecret = await readPasswordFromInput(io, file, passwordProblem)
  return (
    givenSecret ??
    new Secret(
      await promptForPassword(io, 'Password of the keystore', (typed) => typed !== '' || 'the password is required'),
    )
  )
}

type PasswordProblem = (password: string) => string | null

/** Returns the password from a file or a pipe; null if gdn must prompt for it. */
async function readPasswordFromInput(
  io: Io,
  file: string | undefined,
  problemOf: PasswordProblem,
): Promise<Secret | null> {
  if (file !== undefined && file !== '-') return readFromFile(file, problemOf)
  if (file === '-' || io.stdin.isTTY !== true) {
    const text = await readInput(io, '-')
    if (text !== '' || file === '-') return parsePassword(text, 'stdin', problemOf)
  } else if (mayPrompt(io)) return null
  throw cannotPromptError(PASSWORD_FLAG, `Add ${PASSWORD_FLAG} <file>, or pipe the password in.`)
}

function readFromFile(file: string, problemOf: PasswordProblem): Secret {
  try {
    return readPasswordFile(file, problemOf)
  } catch (error) {
    // Shells often pass secrets as pipes, and Kubernetes as symbolic links. The hint suggests standard input instead.
    if (!(error instanceof GdnError) || error.hint !== undefined || !existsSync(file)) throw error
    throw error.with({ hint: `Pipe the password in with ${PASSWORD_FLAG} - instead.` })
  }
}

async function promptForPassword(io: Io, message: string, check: (typed: string) => true | string): Promise<string> {
  return await askSecret(io, { message, flag: PASSWORD_FLAG, check })
}
