import { sendByReference } from '../operations/send-by-reference.ts'
import { type ChangeDeps, endedTransactions, findEndedInNfts } from './apply-updates.ts'
import { type AcceptedChange, makeChanges, type Outcomes } from './make-changes.ts'
import type { PlannedChange } from './planned.ts'

type Burn = AcceptedChange<PlannedChange>

/**
 * Burns NFTs. Each request contains the owner from the plan, and the server rejects it if the NFT has another owner.
 *
 * @throws GdnError, see `makeChanges`
 */
export async function applyBurns(
  contract: string,
  deps: ChangeDeps,
  changes: AsyncIterable<PlannedChange>,
): Promise<Outcomes> {
  return await makeChanges(
    changes,
    {
      async send(change: PlannedChange): Promise<Burn> {
        const { nftGdnId, reference, fields } = change
        const holder = fields[0]?.from ?? null
        if (nftGdnId === null || reference === null || holder === null) {
          throw new Error('a burn without an NFT, owner or reference ID was planned')
        }
        const request = { contract_address: contract, nft_gdn_id: nftGdnId, holder_wallet_address: holder }
        const accepted = await sendByReference(deps, 'burnnft', { ...request, reference_id: reference })
        return { change, transactionId: accepted.transaction_gdn_id }
      },
      async findEnded(page) {
        const ends = await endedTransactions(deps, page, 'the burn')
        return await findEndedInNfts(deps, page, ends, ({ burned }) => burned === true)
      },
    },
    deps,
  )
}
