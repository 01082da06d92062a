import { rejectOnAbort } from '../../../core/or-aborted.ts'
import { GdnCommand } from '../../command.ts'
import { addBackendFlags, type BackendFlags, resolveAdministeredDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { DB_VIEW } from './db-view.ts'

export type StatusFlags = OutputFlags & BackendFlags

export function command(deps: Deps, run = status): GdnCommand {
  return new GdnCommand({
    about: 'The command changes nothing. The exit code is 6 if the database is unreachable.',
    examples: [
      ['Show the database of gdn serve', 'gdn db status'],
      ['Count the pending migrations', "gdn db status --json | jq '.pending | length'"],
    ],
  })
    .with(addBackendFlags, addOutputFlags)
    .action(async (flags: StatusFlags) => await run(deps, flags))
}

export async function status(deps: Deps, flags: StatusFlags): Promise<void> {
  const output = createOutput(deps.io, flags, DB_VIEW)
  const { databaseStatus } = await import('../../../server/database/databases.ts')
  await output.one(
    await rejectOnAbort(databaseStatus(await resolveAdministeredDatabase(deps, flags)), deps.signals.signal),
  )
}
