import { rejectOnAbort } from '../../../core/or-aborted.ts'
import { GdnCommand } from '../../command.ts'
import { addBackendFlags, type BackendFlags, resolveAdministeredDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { exportFile } from './db-place.ts'
import { TRANSFER_VIEW } from './db-view.ts'

export type ImportFlags = OutputFlags & BackendFlags

export function command(deps: Deps, run = importAll): GdnCommand {
  return new GdnCommand({
    about:
      "The command imports either all rows or none. It reads each table back, and compares the count and the hash of its rows with the export. Use the same version of gdn for the export and the import. The backend keeps its ID, but clients check their accepted requests again. Don't restore a backend by copying its database file, because clients may not detect the restore.",
    examples: [
      ['Import into PostgreSQL', 'GDN_DATABASE_URL=postgres://db/gdn gdn db import all.jsonl'],
      ['Import into a new data directory', 'gdn db import all.jsonl --data-dir ./data'],
    ],
  })
    .argument('<file>')
    .with(addBackendFlags, addOutputFlags)
    .action(async (file: string, flags: ImportFlags) => await run(deps, file, flags))
}

export async function importAll(deps: Deps, file: string, flags: ImportFlags): Promise<void> {
  const output = createOutput(deps.io, flags, TRANSFER_VIEW)
  const { importDatabase } = await import('../../../server/database/import.ts')
  await output.one(
    await rejectOnAbort(
      importDatabase(await resolveAdministeredDatabase(deps, flags), exportFile(deps.cwd, file)),
      deps.signals.signal,
    ),
  )
}
