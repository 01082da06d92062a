import { count } from '../../../core/count.ts'
import { GdnCommand } from '../../command.ts'
import {
  addDataDirFlag,
  type DataDirFlags,
  resolveAdministeredDatabase,
  withDatabaseAt,
} from '../../connect/data-dir.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput, type View } from '../../render/output.ts'

const RELEASE_VIEW: View = {
  fields: ['collection_id', 'contract_address', 'blockchain', 'tokens', 'pending', 'failed'],
  columns: ['contract_address', 'blockchain', 'tokens', 'pending', 'failed'],
  id: 'collection_id',
}

export interface ReleaseFlags extends OutputFlags, DataDirFlags {
  failPending?: boolean
  yes?: boolean
}

export function command(deps: Deps, run = release): GdnCommand {
  return new GdnCommand({
    about:
      'The command accepts the unexplained tokens that `gdn tx unknown` lists, and lets the backend mint in the collection again. Before you release a collection, stop clients that may repeat requests from before a restore. The backend has no record of those requests and would mint their NFTs a second time. After the release, the backend mints the pending NFTs of the collection. If these NFTs may already exist as unexplained tokens, add --fail-pending.',
    examples: [
      [
        'Accept the unknown tokens and mint the pending NFTs',
        'gdn tx release 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811',
      ],
      [
        'Accept the unknown tokens and fail the pending NFTs',
        'gdn tx release 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 --fail-pending',
      ],
    ],
  })
    .argument('<collection>')
    .switchFlag('--fail-pending', 'Fail the pending NFTs instead of minting them')
    .switchFlag('-y, --yes', "Don't prompt")
    .with(addDataDirFlag, addOutputFlags)
    .action(async (collection: string, flags: ReleaseFlags) => await run(deps, collection, flags))
}

export async function release(deps: Deps, name: string, flags: ReleaseFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, RELEASE_VIEW)
  const { findHeldCollection, releaseCollection } = await import('../../../server/admin/unknown-mints.ts')
  const place = await resolveAdministeredDatabase(deps, flags)
  const { tokens, pending } = await withDatabaseAt(deps, place, (store) => findHeldCollection(store, name))
  const failPending = flags.failPending === true
  const then = pending === 0 ? '' : `, and ${failPending ? 'fail' : 'mint'} ${count(pending, 'pending NFT')}`
  const question = `Accept ${count(tokens, 'unknown token')}${then}?`
  if (!flags.yes) await io.confirm(question, '--yes', { message: 'nothing was released' })
  const { collection } = await withDatabaseAt(deps, place, (store) => releaseCollection(store, name, { failPending }))
  const { id: collection_id, contract_address, blockchain } = collection
  const failed = failPending ? pending : 0
  await output.one({ collection_id, contract_address, blockchain, tokens, pending: pending - failed, failed })
}
