import { GdnCommand } from '../../command.ts'
import { addDataDirFlag, type DataDirFlags, withBackendDatabase } from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput, type View } from '../../render/output.ts'
import { withLinks } from './tx-view.ts'

const UNKNOWN_VIEW: View = {
  fields: [
    ...['collection_id', 'contract_address', 'blockchain', 'state', 'first_token_id', 'last_token_id', 'tokens'],
    ...['hash', 'signer', 'metadata_url', 'reason', 'block_number', 'found_at', 'explorer_url'],
  ],
  columns: ['contract_address', 'state', 'first_token_id', 'last_token_id', 'tokens', 'reason', 'metadata_url'],
  id: 'collection_id',
}

export interface UnknownFlags extends OutputFlags, DataDirFlags {
  all?: boolean
}

export function command(deps: Deps, run = unknown): GdnCommand {
  return new GdnCommand({
    about:
      'A backend finds unknown mints after a restore from a backup, after a database failover that lost commits, or when the key of its signer is used elsewhere. A mint is in the state `found` until the backend has compared it with its pending NFTs. If a pending NFT matches, the backend adopts the mint. Otherwise, the state of the mint is `unexplained`, and requests for the collection return 503 until you run `gdn tx release`. With --all, the command also shows mints in the state `released`.',
    examples: [
      ['List the mints that prevent collections from minting', 'gdn tx unknown'],
      ['Print the metadata URL of the first token of each mint', "gdn tx unknown --json | jq -r '.[].metadata_url'"],
    ],
  })
    .switchFlag('--all', 'Include released mints')
    .with(addDataDirFlag, addOutputFlags)
    .action(async (flags: UnknownFlags) => await run(deps, flags))
}

export async function unknown(deps: Deps, flags: UnknownFlags): Promise<void> {
  const output = createOutput(deps.io, flags, UNKNOWN_VIEW)
  const { showUnknownMints } = await import('../../../server/admin/unknown-mints.ts')
  const released = flags.all === true
  const mints = await withBackendDatabase(deps, flags, (store) => showUnknownMints(store, { released }))
  if (mints.length === 0) deps.io.note('There are no unknown mints.')
  await output.many((await withLinks(deps, flags, mints)).map((mint) => ({ ...mint })))
}
