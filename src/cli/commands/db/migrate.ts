import { rejectOnAbort } from '../../../core/or-aborted.ts'
import { GdnCommand } from '../../command.ts'
import { addBackendFlags, type BackendFlags, resolveAdministeredDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { DB_VIEW } from './db-view.ts'

export type MigrateFlags = OutputFlags & BackendFlags

export function command(deps: Deps, run = migrate): GdnCommand {
  return new GdnCommand({
    about:
      'Every process of a backend migrates the database when it starts. Use this command to migrate the database in advance. Stop processes of an older version first. A migration loses no data. If several processes start a migration at once, only one of them runs it.',
    examples: [
      ['Migrate before the new version starts', 'gdn db migrate'],
      ['Show the pending migrations', 'gdn db status'],
    ],
  })
    .with(addBackendFlags, addOutputFlags)
    .action(async (flags: MigrateFlags) => await run(deps, flags))
}

export async function migrate(deps: Deps, flags: MigrateFlags): Promise<void> {
  const output = createOutput(deps.io, flags, DB_VIEW)
  const { migrateDatabase } = await import('../../../server/database/databases.ts')
  await output.one(
    await rejectOnAbort(migrateDatabase(await resolveAdministeredDatabase(deps, flags)), deps.signals.signal),
  )
}
