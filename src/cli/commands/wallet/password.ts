import { GdnError, systemCode } from '../../../core/errors.ts'
import { Secret } from '../../../core/secret.ts'
import { newPasswordProblem, passwordIn, passwordProblem, readPasswordFile } from '../../../keystore/password.ts'
import { askSecret } from '../../ask-for.ts'
import { mayAsk } from '../../ask-missing.ts'
import { type GdnCommand, valueFlag } from '../../command.ts'
import { notEmpty } from '../../flags/parse.ts'
import type { Io } from '../../io.ts'
import { readInput } from '../../request-file.ts'

const FLAG = '--password-file'

export function addPasswordFlag(command: GdnCommand): GdnCommand {
  return valueFlag(command, '--password-file <file>', 'File that holds the password; - is standard input', {
    parse: notEmpty,
  })
}

/** The password of a keystore that is to be made: it is typed twice. */
export async function newPassword(io: Io, file: string | undefined): Promise<Secret> {
  const given = await givenPassword(io, file, newPasswordProblem)
  if (given !== null) return given
  const first = await ask(io, 'Password for the keystore', (typed) => {
    const problem = newPasswordProblem(typed)
    return problem === null || `it ${problem}`
  })
  await ask(io, 'The same password again', (typed) => typed === first || 'the two differ; Ctrl-C to begin anew')
  return new Secret(first)
}

/** The password of a keystore that there is. */
export async function knownPassword(io: Io, file: string | undefined): Promise<Secret> {
  const given = await givenPassword(io, file, passwordProblem)
  return given ?? new Secret(await ask(io, 'Password of the keystore', (typed) => typed !== '' || 'it is needed'))
}

type Problem = (password: string) => string | null

/** From a file or a pipe; null where a person is to be asked. */
async function givenPassword(io: Io, file: string | undefined, problemOf: Problem): Promise<Secret | null> {
  if (file !== undefined && file !== '-') return fromFile(file, problemOf)
  if (file === '-' || io.stdin.isTTY !== true) return passwordIn(await readInput(io, '-'), 'stdin', problemOf)
  if (mayAsk(io)) return null
  throw new GdnError('usage', 'is needed, and nobody can be asked here', {
    place: { flag: FLAG },
    hint: `give it with ${FLAG}, or through a pipe`,
  })
}

function fromFile(file: string, problemOf: Problem): Secret {
  try {
    return readPasswordFile(file, problemOf)
  } catch (error) {
    // What a shell or a cluster hands over is often a pipe or a link: it can come by standard input.
    if (!(error instanceof GdnError) || error.hint !== undefined || systemCode(error.cause) === 'ENOENT') throw error
    const { code, message, place } = error
    throw new GdnError(code, message, {
      ...(place === undefined ? {} : { place }),
      hint: `or let it come by standard input: ${FLAG} -`,
      cause: error,
    })
  }
}

async function ask(io: Io, message: string, check: (typed: string) => true | string): Promise<string> {
  return await askSecret(io, { message, flag: FLAG, check })
}
