import { GdnError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import { atMostText } from '../../cost/at-most.ts'
import { notePaid, withPaid } from '../../cost/paid.ts'
import { worstOfRequest } from '../../cost/run-limit.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags } from '../../flags/common.ts'
import { addWaitFlags } from '../../flags/wait.ts'
import { safe } from '../../io/io.ts'
import { createOutput } from '../../render/output.ts'
import type { View } from '../../render/view.ts'
import { changeOnce } from '../../request/change-once.ts'
import { addOperationFlags } from '../../request/operate.ts'
import { addBlockchainFlag, CHANGE_VIEW, type ChangeFlags, findNfts, shortRecord } from './change-nft.ts'

export function command(deps: Deps, run = freeze): GdnCommand {
  const freezeCommand = new GdnCommand({
    about:
      'A frozen NFT keeps its metadata permanently: nobody can update it. All NFTs must be in one collection. The command prompts, because a freeze is permanent. To freeze a whole collection, its owner uses `gdn collection set --freeze`.',
    examples: [
      ['Freeze the metadata of an NFT', 'gdn nft freeze 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      ['Without a prompt, for a script', 'gdn nft freeze 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --yes'],
    ],
  })
  freezeCommand.argument('<nft_gdn_id...>')
  addBlockchainFlag(freezeCommand)
  addWaitFlags(freezeCommand, 'they are frozen', {
    dryRun: 'Show the NFTs without sending anything',
    yes: "Don't prompt",
  })
  addOperationFlags(freezeCommand)
  addServerFlags(freezeCommand)
  addOutputFlags(freezeCommand)
  return freezeCommand.action(async (ids: string[], flags: ChangeFlags) => await run(deps, ids, flags)) as GdnCommand
}

/** The status is that of the transaction, so a column says whether the NFT is frozen. */
const VIEW: View = {
  ...CHANGE_VIEW,
  fields: CHANGE_VIEW.fields.flatMap((field) => (field === 'status' ? [field, 'is_frozen'] : [field])),
  columns: CHANGE_VIEW.columns.flatMap((field) => (field === 'status' ? [field, 'is_frozen'] : [field])),
}

export async function freeze(deps: Deps, given: readonly string[], flags: ChangeFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, withPaid(VIEW))
  const connection = await deps.connect(await deps.settings(flags))
  const nfts = await findNfts(deps, connection, [...new Set(given)])
  const [first, ...others] = nfts
  if (first === undefined) return
  const { contract_address, blockchain } = first
  const other = others.find((nft) => nft.contract_address !== contract_address || nft.blockchain !== blockchain)
  if (other !== undefined) {
    throw new GdnError('usage', `${other.nft_gdn_id} is of another collection than ${first.nft_gdn_id}`, {
      hint: 'Freeze the NFTs of one collection at a time.',
    })
  }
  const left = nfts.filter(({ is_frozen, burned }) => is_frozen !== true && burned !== true)
  if (flags.dryRun)
    return await output.many(left.map((nft) => ({ ...shortRecord(nft), status: 'planned', is_frozen: false })))
  if (left.length === 0) {
    await output.many([])
    return io.note('Nothing to change.')
  }
  const nft_gdn_ids = left.map(({ nft_gdn_id }) => nft_gdn_id)
  const request = async (limit: bigint | null) => {
    if (!flags.yes) {
      for (const { nft_gdn_id, title } of left) io.note(safe(`${title} (${nft_gdn_id})`))
      const question =
        left.length === 1
          ? 'Permanently freeze its metadata'
          : `Permanently freeze the metadata of these ${left.length} NFTs`
      const priced = { limit, worst: () => worstOfRequest('freezenft', { nft_gdn_ids }) }
      const cost = await atMostText(deps, connection, blockchain, priced)
      if (!(await io.confirm(safe(`${question}${cost}?`), '--yes')))
        throw new GdnError('not_confirmed', 'nothing was sent')
    }
    return { contract_address, nft_gdn_ids }
  }
  const change = {
    endpoint: 'freezenft' as const,
    note: 'nft freeze',
    what: 'the freeze',
    blockchain,
    contract: contract_address,
    content: { nft_gdn_ids: [...nft_gdn_ids].sort() },
    request,
  }
  await changeOnce(deps, connection, flags, change, async (seen) => {
    const frozen = left.map((nft) => ({ ...shortRecord(nft), ...seen, is_frozen: seen.status === 'deployed' }))
    await output.many(frozen)
    notePaid(io, output, frozen)
  })
}
