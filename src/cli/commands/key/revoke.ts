import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, isOutputRequested } from '../../render/output.ts'
import { KEY_VIEW, keyRecord } from './key-view.ts'

export interface RevokeFlags extends OutputFlags, DataDirFlags {}

export function command(deps: Deps, run = revoke): GdnCommand {
  return new GdnCommand({
    about:
      'A running backend rejects all further requests with the key. NFTs and collections that were created with the key stay in the account. After you revoke the local key, the backend creates a new one at its next start.',
    examples: [
      ['Revoke by the prefix that gdn key list shows', 'gdn key revoke gdn_3xAmpl3q'],
      ['Revoke by ID, for a script', 'gdn key revoke 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --json'],
    ],
  })
    .argument('<id or prefix>')
    .with(addDataDirFlag, addOutputFlags)
    .action(async (idOrPrefix: string, flags: RevokeFlags) => await run(deps, idOrPrefix, flags))
}

export async function revoke(deps: Deps, idOrPrefix: string, flags: RevokeFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, KEY_VIEW)
  const { revokeNamedApiKey } = await import('../../../server/services/api-keys.ts')
  const record = await withBackendDatabase(deps, flags, (store) => revokeNamedApiKey(store, idOrPrefix, deps.now()))
  if (isOutputRequested(flags)) await output.one(keyRecord(record))
  io.note(`Revoked the key ${safe(record.name)} (${record.prefix}) of ${safe(record.email ?? 'the local account')}.`)
}
