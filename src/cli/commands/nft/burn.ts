import { flagError, GdnError } from '../../../core/errors.ts'
import { storeBurned } from '../../../state/store-burned.ts'
import { GdnCommand } from '../../command.ts'
import { findCollection } from '../../connect/find-collection.ts'
import { findMaximumCost, printNotes } from '../../cost/at-most.ts'
import { notePaid, withPaid } from '../../cost/paid.ts'
import { estimateMaxChangeUse } from '../../cost/run-limit.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type DataRecord, type Output } from '../../render/output.ts'
import { changeOnce } from '../../request/change-once.ts'
import {
  addChangeFlags,
  CHANGE_VIEW,
  type ChangeFlags,
  describeCollections,
  type FoundNft,
  findNftsOnChain,
  findSingleRequestFlag,
  quoteChange,
  shortRecord,
} from './change-nft.ts'
import { resolveNftIds } from './nft-ids.ts'

export function command(deps: Deps, run = burn): GdnCommand {
  return new GdnCommand({
    about:
      'Specify each NFT by ID, by token ID and --contract, or as <contract>/<token ID>. The server burns NFTs only in collections that were created with --enable-burn. A burn is permanent, so the command shows the title and the owner of each NFT and prompts for confirmation. If the owner of an NFT changes in the meantime, the server rejects the burn. Token IDs are never reused. The owner of an NFT can always burn it with a wallet.',
    examples: [
      ['Burn an NFT', 'gdn nft burn 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      ['Show the NFTs without burning them', 'gdn nft burn 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --dry-run'],
    ],
  })
    .with((own) => addChangeFlags(own, 'all NFTs are burned'))
    .action(async (ids: string[], flags: ChangeFlags) => await run(deps, ids, flags))
}

export async function burn(deps: Deps, typedIds: readonly string[], flags: ChangeFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, withPaid(CHANGE_VIEW))
  // Each NFT is a separate operation.
  const singleRequestFlag = findSingleRequestFlag(flags)
  if (singleRequestFlag !== null && new Set(typedIds).size > 1)
    throw flagError(singleRequestFlag, 'can be used with only one NFT', 'Burn one NFT at a time.')
  const connection = await deps.connect(await deps.settings(flags))
  const ids = await resolveNftIds(deps, connection, typedIds, flags)
  const allNfts = await findNftsOnChain(deps, connection, ids)
  const nfts = allNfts.filter(({ burned }) => burned !== true)
  if (!flags.dryRun) {
    const alreadyBurned = allNfts.filter(({ burned }) => burned === true)
    await storeBurned(
      connection.settings.stateDir,
      alreadyBurned.map(({ nft_gdn_id }) => nft_gdn_id),
    )
  }
  if (nfts.length === 0) {
    if (!flags.dryRun) deps.checkPlan?.({})
    await output.many([])
    return io.note(ids.length === 1 ? 'The NFT is already burned.' : 'The NFTs are already burned.')
  }
  await refuseUnburnable(deps, connection, nfts)
  if (flags.dryRun) {
    deps.checkPlan?.(toIntent(nfts))
    await quoteChange(deps, connection, flags, 'burnnft', nfts)
    return await output.many(nfts.map((nft) => ({ ...shortRecord(nft), status: 'planned' })))
  }
  await sendBurns(deps, connection, flags, { nfts, output })
}

/** Returns what burns of the NFTs do, to compare it with a plan. */
const toIntent = (nfts: readonly FoundNft[]) =>
  Object.fromEntries(nfts.map((nft) => [nft.nft_gdn_id, shortRecord(nft)]))

/** Burns the NFTs one after another, and prints the burns that the server accepted. */
async function sendBurns(
  deps: Deps,
  connection: Connection,
  flags: ChangeFlags,
  { nfts, output }: { nfts: readonly FoundNft[]; output: Output },
): Promise<void> {
  const { stateDir } = connection.settings
  const burned: DataRecord[] = []
  let isConfirmed = flags.yes === true
  let isChecked = false
  try {
    for (const [index, nft] of nfts.entries()) {
      const { nft_gdn_id, contract_address, receiver_wallet_address } = nft
      const request = { contract_address, nft_gdn_id, holder_wallet_address: receiver_wallet_address }
      const change = {
        endpoint: 'burnnft' as const,
        note: 'nft burn',
        what: `the burn of ${safe(nft_gdn_id)}`,
        blockchain: nft.blockchain,
        contract: contract_address,
        content: { nft_gdn_id },
        // Called after --max-cost is checked. Not called if the burn was already accepted.
        request: async (limit: bigint | null) => {
          if (!isChecked) deps.checkPlan?.(toIntent(nfts))
          isChecked = true
          if (!isConfirmed) await confirm(deps, connection, nfts.slice(index), limit)
          isConfirmed = true
          return request
        },
      }
      await changeOnce(deps, connection, flags, change, async (outcome) => {
        const isBurned = outcome.status === 'deployed'
        if (isBurned) await storeBurned(stateDir, [nft_gdn_id])
        const after = isBurned ? { status: 'burned', receiver_wallet_address: null } : {}
        burned.push({ ...shortRecord(nft), ...outcome, ...after })
      })
    }
  } finally {
    // Print these records even after an error, because the server accepted these burns.
    if (isConfirmed || burned.length > 0) await output.many(burned)
    notePaid(deps.io, output, burned)
  }
}

/**
 * Refuses NFTs if their collection is known not to permit burns.
 *
 * @throws GdnError `refused`
 */
async function refuseUnburnable(deps: Deps, connection: Connection, nfts: readonly FoundNft[]): Promise<void> {
  for (const contract of new Set(nfts.map(({ contract_address }) => contract_address))) {
    if ((await findCollection(deps, connection, contract))?.enable_burn !== false) continue
    throw new GdnError('refused', `the collection ${contract} was created without enable_burn`, {
      hint: 'Nothing was sent. Only the owner of an NFT can burn it, with a wallet.',
    })
  }
}

/**
 * Asks once for confirmation of all burns, and shows the maximum total cost.
 *
 * @throws GdnError `not_confirmed`
 */
async function confirm(
  deps: Deps,
  connection: Connection,
  nfts: readonly FoundNft[],
  limit: bigint | null,
): Promise<void> {
  for (const { nft_gdn_id, title, token_id, receiver_wallet_address } of nfts) {
    deps.io.note(safe(`${title} (${nft_gdn_id}), token ${token_id}, owned by ${receiver_wallet_address}`))
  }
  const [blockchain = null, ...otherBlockchains] = new Set(nfts.map((nft) => nft.blockchain))
  const nftsText = nfts.length === 1 ? `token ${nfts[0]?.token_id}` : `these ${nfts.length} NFTs`
  const maxUse = () => estimateMaxChangeUse('burn', nfts.length)
  // Costs on different blockchains can't be added together.
  const cost =
    otherBlockchains.length > 0 ? null : await findMaximumCost(deps, connection, blockchain, { limit, maxUse })
  printNotes(deps, cost?.notes ?? [])
  const question = `Permanently burn ${nftsText} of ${await describeCollections(deps, connection, nfts)}${cost?.text ?? ''}?`
  await deps.io.confirm(safe(question), '--yes')
}
