import { GdnCommand } from '../../command.ts'
import { addBackendFlags, type BackendFlags, resolveAdministeredDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { exportFile } from './db-place.ts'
import { TRANSFER_VIEW } from './db-view.ts'

export type ExportFlags = OutputFlags & BackendFlags

export function command(deps: Deps, run = exportAll): GdnCommand {
  return new GdnCommand({
    about:
      'The command writes one line of JSON for each row in a snapshot of the database. The file also contains counts and hashes of the rows. Only you can read the file, because it contains secrets of the backend. If the backend uses SQLite, stop it first. If it uses PostgreSQL, its processes can keep running. The command does not export the files in the data directory.',
    examples: [
      [
        'Move from SQLite to PostgreSQL',
        'gdn db export all.jsonl && GDN_DATABASE_URL=postgres://db/gdn gdn db import all.jsonl',
      ],
      ['Export the database of another data directory', 'gdn db export all.jsonl --data-dir ./data'],
    ],
  })
    .argument('<file>')
    .with(addBackendFlags, addOutputFlags)
    .action(async (file: string, flags: ExportFlags) => await run(deps, file, flags))
}

export async function exportAll(deps: Deps, file: string, flags: ExportFlags): Promise<void> {
  const output = createOutput(deps.io, flags, TRANSFER_VIEW)
  const { exportDatabase } = await import('../../../server/database/export.ts')
  await output.one(
    await exportDatabase(
      await resolveAdministeredDatabase(deps, flags),
      exportFile(deps.cwd, file),
      deps.signals.signal,
    ),
  )
}
