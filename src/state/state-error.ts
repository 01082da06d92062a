import { dirname } from 'node:path'
import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { shellWord } from '../core/shell-word.ts'
import { fileProblem, isDamagedError } from '../sqlite/sqlite-error.ts'
import { SCHEMA_VERSION } from './schema-version.ts'

/**
 * Returns the error for a damaged state file. The hint doesn't suggest another state directory, because gdn would then
 * send the same rows again.
 */
export function damagedStateError(path: string, why: string, cause?: unknown): GdnError {
  return new GdnError('data_dir', `${path} is damaged: ${why}`, {
    hint: 'Restore the file from a backup. If there is no backup, compare the collections with your requests, and then move the file to another folder.',
    cause,
  })
}

/**
 * Returns the error for a state that has another schema. The command in the hint doesn't move the seal. With the old
 * seal, the new state counts as a copy, so gdn compares each mint with the collection before sending it.
 */
export function otherSchemaError(path: string, version: number): GdnError {
  const next =
    version > SCHEMA_VERSION
      ? 'Update gdn.'
      : `Finish the runs with the version of gdn that created the file, then run \`mv ${shellWord(path)} ${shellWord(`${path}-schema-${version}`)}\`.`
  return new GdnError(
    'data_dir',
    `${path} has schema ${version}, but this version of gdn uses schema ${SCHEMA_VERSION}`,
    {
      hint: `Nothing was changed. ${next}`,
    },
  )
}

/**
 * Converts an error about the state directory to a `GdnError` with a hint. Returns other errors unchanged.
 *
 * @param path the path of the database
 */
export function stateError(path: string, error: unknown): unknown {
  if (error instanceof GdnError) return error
  if (isDamagedError(error)) return damagedStateError(path, messageOf(error), error)
  const stateDir = dirname(path)
  const code = systemCode(error)
  const problem = fileProblem(error)
  const isFull = code === 'ENOSPC' || code === 'EDQUOT' || problem?.startsWith('no space') === true
  if (!isFull && problem === null && (code === undefined || !/^E[A-Z0-9]+$/.test(code))) return error
  const message = isFull
    ? `no space left in the state directory ${stateDir}`
    : `can't use the state directory ${stateDir}: ${problem ?? messageOf(error)}`
  return new GdnError('data_dir', message, {
    hint: `${isFull ? 'Free some space' : 'Fix this problem'}, or choose another directory with --state-dir or GDN_STATE_DIR.`,
    cause: error,
  })
}
