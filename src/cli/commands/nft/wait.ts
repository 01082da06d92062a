import { readNfts } from '../../../client/read-records.ts'
import { DEFAULT_WAIT_MS } from '../../../operations/defaults.ts'
import { refuseUnknownNfts } from '../../../operations/unknown-nfts.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addServerFlags,
  addTimeoutFlag,
  notEmpty,
  type OutputFlags,
  type ServerFlags,
} from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { NFT_VIEW } from '../../render/views.ts'
import { showWaitForNfts } from '../../request/waiting.ts'
import { missingNftError, withBlockchain } from './blockchain-of.ts'

export interface WaitCommandFlags extends OutputFlags, ServerFlags {
  timeout?: number
  nftGdnId?: string[]
}

export function command(deps: Deps, run = wait): GdnCommand {
  return new GdnCommand({
    about: 'The exit code is 5 if an NFT failed, and 8 if an NFT is still pending after the timeout.',
    examples: [
      [
        'Wait after a mint with --no-wait',
        'gdn nft mint --title Dawn --receiver @alice --no-wait -o ids \\',
        '  | xargs gdn nft wait',
      ],
      ['Wait for at most 30 seconds', 'gdn nft wait 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --timeout 30s'],
    ],
    aliases: { '--nft-gdn-ids': '--nft-gdn-id' },
  })
    .argument('[nft_gdn_id...]')
    .valueFlag('--nft-gdn-id <id>', 'Same as the argument', { parse: notEmpty, repeatable: true, hidden: true })
    .with((own) => addTimeoutFlag(own, 'How long the command may take (5m)'), addServerFlags, addOutputFlags)
    .action(
      async (ids: string[], flags: WaitCommandFlags) => await run(deps, [...ids, ...(flags.nftGdnId ?? [])], flags),
    )
}

export async function wait(deps: Deps, ids: readonly string[], flags: WaitCommandFlags): Promise<void> {
  const output = createOutput(deps.io, flags, NFT_VIEW)
  if (ids.length === 0) throw missingNftError('gdn nft wait <nft_gdn_id>')
  const connection = await deps.connect(await deps.settings(flags))
  const requestedIds = [...new Set(ids)]
  const nfts = await readNfts({ client: connection.client, signal: deps.signals.signal }, requestedIds)
  refuseUnknownNfts(requestedIds.filter((id) => !nfts.has(id)))
  const { records, problem } = await showWaitForNfts(deps, connection, requestedIds, flags.timeout ?? DEFAULT_WAIT_MS)
  const shownRecords = await withBlockchain(deps, records, connection)
  const [first] = shownRecords
  if (ids.length > 1) await output.many(shownRecords)
  else if (first !== undefined) await output.one(first)
  if (problem !== null) throw problem
}
