import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { KEY_VIEW, keyRecord } from './key-view.ts'

export interface ListFlags extends OutputFlags, DataDirFlags {}

export function command(deps: Deps, run = list): GdnCommand {
  return new GdnCommand({
    about:
      'The backend does not store the keys themselves, so the list identifies each key by its prefix. The key without an e-mail address is the local key.',
    examples: [
      ['List all keys', 'gdn key list'],
      ['List the active keys, for a script', `gdn key list --json | jq '.[] | select(.status == "active")'`],
    ],
  })
    .with(addDataDirFlag, addOutputFlags)
    .action(async (flags: ListFlags) => await run(deps, flags))
}

export async function list(deps: Deps, flags: ListFlags): Promise<void> {
  const output = createOutput(deps.io, flags, KEY_VIEW)
  const { getApiKeys } = await import('../../../server/services/api-keys.ts')
  const keys = await withBackendDatabase(deps, flags, (store) => getApiKeys(store, deps.now()))
  await output.many(keys.map(keyRecord))
}
