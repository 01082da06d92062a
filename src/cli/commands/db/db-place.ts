import type { DatabasePlace } from '../../../server/settings/database.ts'
import { type GdnCommand, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { notEmpty } from '../../flags/parse.ts'
import { addDataDirFlag, type DataDirFlags, databasePlace } from '../key/key-data-dir.ts'

export interface DatabaseFlags extends DataDirFlags {
  config?: string
}

export function addDatabasePlace(command: GdnCommand): GdnCommand {
  valueFlag(command, '--config <file>', 'Settings of the backend (backend.yaml of the data dir)', { parse: notEmpty })
  return addDataDirFlag(command)
}

export const databaseSource = (deps: Pick<Deps, 'env' | 'cwd'>, flags: DatabaseFlags): DatabasePlace =>
  databasePlace(deps, flags)
