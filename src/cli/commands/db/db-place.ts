import { resolve } from 'node:path'
import { flagError } from '../../../core/errors.ts'
import type { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags } from '../../connect/data-dir.ts'
import { notEmpty } from '../../flags/common.ts'

export interface DatabaseFlags extends DataDirFlags {
  config?: string
}

export function addDatabasePlace(command: GdnCommand): GdnCommand {
  command.valueFlag('--config <file>', 'Configuration of the backend (backend.yaml in the data directory)', notEmpty)
  return addDataDirFlag(command)
}

/** Returns the path of an export. Rejects a stream, because an export contains secrets and is verified as a whole. */
export function exportFile(cwd: string, file: string): string {
  if (file !== '-') return resolve(cwd, file)
  throw flagError('<file>', 'must be a file, not a stream', 'Use the path of a file.')
}
