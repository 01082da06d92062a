import { type GdnCommand, valueFlag } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags } from '../../connect/data-dir.ts'
import { notEmpty } from '../../flags/parse.ts'

export interface DatabaseFlags extends DataDirFlags {
  config?: string
}

export function addDatabasePlace(command: GdnCommand): GdnCommand {
  valueFlag(command, '--config <file>', 'Configuration of the backend (backend.yaml in the data directory)', {
    parse: notEmpty,
  })
  return addDataDirFlag(command)
}
