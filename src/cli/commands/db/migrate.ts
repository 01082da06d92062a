import { orAborted } from '../../../core/or-aborted.ts'
import { GdnCommand } from '../../command.ts'
import { administeredPlace } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { addDatabasePlace, type DatabaseFlags } from './db-place.ts'
import { DB_VIEW } from './db-view.ts'

export type MigrateFlags = OutputFlags & DatabaseFlags

export function command(deps: Deps, run = migrate): GdnCommand {
  const migrateCommand = new GdnCommand({
    about:
      'Every process does so when it starts; this does it beforehand. Nothing that is stored is lost, and of any number that migrate at once, one does. Processes of an older version must be stopped first.',
    examples: [
      ['Before the new version starts', 'gdn db migrate'],
      ['What it would do', 'gdn db status'],
    ],
  })
  addDatabasePlace(migrateCommand)
  addOutputFlags(migrateCommand)
  return migrateCommand.action(async (flags: MigrateFlags) => await run(deps, flags)) as GdnCommand
}

export async function migrate(deps: Deps, flags: MigrateFlags): Promise<void> {
  const output = createOutput(deps.io, flags, DB_VIEW)
  const { migrateDatabase } = await import('../../../server/database/databases.ts')
  await output.one(await orAborted(migrateDatabase(await administeredPlace(deps, flags)), deps.signals.signal))
}
