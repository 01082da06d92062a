import { MAX_FROZEN_PER_REQUEST } from '../../../api/endpoints/freezenft.ts'
import { chunksOf } from '../../../core/chunks-of.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import { findMaximumCost, printNotes } from '../../cost/at-most.ts'
import { notePaid, withPaid } from '../../cost/paid.ts'
import { estimateMaxRequestUse, type MaximumUse, sumUses } from '../../cost/run-limit.ts'
import type { Connection, Deps, Intent } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { changeOnce } from '../../request/change-once.ts'
import { refuseChanged } from '../../request/intent.ts'
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

export function command(deps: Deps, run = freeze): GdnCommand {
  return new GdnCommand({
    about:
      'Specify each NFT by ID, by token ID and --contract, or as <contract>/<token ID>. After a freeze, no one can update the metadata. All NFTs must be in one collection. gdn sends one request per 200 NFTs. The command prompts for confirmation, because a freeze is permanent. The owner of a collection can freeze all of its NFTs with `gdn collection set <contract> --freeze --wallet <owner>`.',
    examples: [
      ['Freeze the metadata of an NFT', 'gdn nft freeze 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      [
        'Freeze the metadata without a prompt, for a script',
        'gdn nft freeze 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --yes',
      ],
    ],
  })
    .with((own) => addChangeFlags(own, 'all NFTs are frozen'))
    .action(async (ids: string[], flags: ChangeFlags) => await run(deps, ids, flags))
}

/**
 * The view of frozen NFTs. The record's status is that of the transaction, so a separate field contains whether the NFT
 * is frozen. Tables show `frozen` as the status.
 */
const VIEW: View = {
  ...CHANGE_VIEW,
  fields: CHANGE_VIEW.fields.flatMap((field) => (field === 'status' ? [field, 'is_frozen'] : [field])),
  cells: (record) => (record.is_frozen === true ? { ...record, status: 'frozen' } : record),
}

export async function freeze(deps: Deps, typedIds: readonly string[], flags: ChangeFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, withPaid(VIEW))
  const single = findSingleRequestFlag(flags)
  const connection = await deps.connect(await deps.settings(flags))
  const ids = await resolveNftIds(deps, connection, typedIds, flags)
  const nfts = await findNftsOnChain(deps, connection, ids)
  const [first, ...otherNfts] = nfts
  if (first === undefined) return
  const { contract_address, blockchain } = first
  const other = otherNfts.find((nft) => nft.contract_address !== contract_address || nft.blockchain !== blockchain)
  if (other !== undefined) {
    throw new GdnError('usage', `${first.nft_gdn_id} and ${other.nft_gdn_id} are in different collections`, {
      hint: 'Freeze the NFTs of one collection at a time.',
    })
  }
  const unfrozen = nfts.filter(({ is_frozen, burned }) => is_frozen !== true && burned !== true)
  if (single !== null && unfrozen.length > MAX_FROZEN_PER_REQUEST) {
    throw new GdnError('usage', `identifies one request, which can freeze at most ${MAX_FROZEN_PER_REQUEST} NFTs`, {
      place: { flag: single },
      hint: `Freeze ${MAX_FROZEN_PER_REQUEST} NFTs at a time.`,
    })
  }
  const intent = toIntent(unfrozen)
  if (flags.dryRun) {
    deps.checkPlan?.(intent)
    if (unfrozen.length > 0) await quoteChange(deps, connection, flags, 'freezenft', unfrozen)
    return await output.many(unfrozen.map((nft) => ({ ...shortRecord(nft), status: 'planned', is_frozen: false })))
  }
  if (unfrozen.length === 0) {
    deps.checkPlan?.(intent)
    await output.many([])
    return io.note('Nothing to change.')
  }
  const frozen: DataRecord[] = []
  let isConfirmed = flags.yes === true
  let isChecked = false
  try {
    for (let from = 0; from < unfrozen.length; from += MAX_FROZEN_PER_REQUEST) {
      const together = unfrozen.slice(from, from + MAX_FROZEN_PER_REQUEST)
      const nft_gdn_ids = toIds(together)
      const change = {
        endpoint: 'freezenft' as const,
        note: 'nft freeze',
        what: 'the freeze',
        blockchain,
        contract: contract_address,
        content: { nft_gdn_ids: [...nft_gdn_ids].sort() },
        // Called after --max-cost is checked. Not called if the freeze was already accepted.
        request: async (limit: bigint | null) => {
          if (!isChecked) deps.checkPlan?.(intent)
          isChecked = true
          if (!isConfirmed) {
            const unconfirmed = unfrozen.slice(from)
            await confirm(deps, connection, unconfirmed, limit)
            // The request doesn't contain the metadata, which may have changed while the prompt was open.
            const currentIntent = toIntent(await findNftsOnChain(deps, connection, toIds(unconfirmed)))
            refuseChanged(toIntent(unconfirmed), currentIntent, { isBegun: false, hint: CHANGED_HINT })
          }
          isConfirmed = true
          return { contract_address, nft_gdn_ids, replaces_revisions: collectRevisions(together) }
        },
      }
      await changeOnce(deps, connection, flags, change, async (outcome) => {
        for (const nft of together) {
          frozen.push({ ...shortRecord(nft), ...outcome, is_frozen: outcome.status === 'deployed' })
        }
      })
    }
  } finally {
    // Print these records even after an error, because the server accepted these freezes.
    if (isConfirmed || frozen.length > 0) await output.many(frozen)
    notePaid(io, output, frozen)
  }
}

const CHANGED_HINT = 'Nothing was frozen. Run the command again to show the current NFTs.'

/** Returns the intended effect. Includes all metadata, because a freeze makes metadata final. */
const toIntent = (nfts: readonly FoundNft[]): Intent =>
  Object.fromEntries(
    nfts.map((nft) => {
      const { request_metadata: metadata, revision, is_frozen, burned } = nft
      return [nft.nft_gdn_id, { ...shortRecord(nft), metadata, revision, is_frozen, burned }]
    }),
  )

/** Returns the metadata revisions that the freeze makes final; undefined if the server doesn't report revisions. */
function collectRevisions(nfts: readonly FoundNft[]): number[] | undefined {
  const revisions = nfts.map(({ revision }) => revision).filter((revision) => typeof revision === 'number')
  return revisions.length === nfts.length ? revisions : undefined
}

const toIds = (nfts: readonly FoundNft[]): string[] => nfts.map(({ nft_gdn_id }) => nft_gdn_id)

/**
 * Asks once for confirmation of all freezes, and shows the maximum total cost.
 *
 * @throws GdnError `not_confirmed`
 */
async function confirm(
  deps: Deps,
  connection: Connection,
  nfts: readonly FoundNft[],
  limit: bigint | null,
): Promise<void> {
  for (const { nft_gdn_id, title } of nfts) deps.io.note(safe(`${title} (${nft_gdn_id})`))
  const nft_gdn_ids = toIds(nfts)
  const maxUse = async () => {
    const requests: MaximumUse[] = []
    for (const together of chunksOf(nft_gdn_ids, MAX_FROZEN_PER_REQUEST)) {
      requests.push(await estimateMaxRequestUse('freezenft', { nft_gdn_ids: together }))
    }
    return sumUses(requests)
  }
  const [{ blockchain = null } = {}] = nfts
  const cost = await findMaximumCost(deps, connection, blockchain, { limit, maxUse })
  printNotes(deps, cost.notes)
  const metadataText = nfts.length === 1 ? 'its metadata' : `the metadata of these ${nfts.length} NFTs`
  const question = `Permanently freeze ${metadataText} in ${await describeCollections(deps, connection, nfts)}${cost.text}?`
  await deps.io.confirm(safe(question), '--yes')
}
