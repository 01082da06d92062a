import { resolve } from 'node:path'
import { flagError } from '../../../core/errors.ts'

/** Returns the path of an export. Rejects a stream, because an export contains secrets and is verified as a whole. */
export function exportFile(cwd: string, file: string): string {
  if (file !== '-') return resolve(cwd, file)
  throw flagError('<file>', 'must be a file, not a stream', 'Use the path of a file.')
}
