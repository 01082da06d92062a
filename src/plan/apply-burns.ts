import { MAX_IDS_PER_REQUEST } from '../api/endpoints/getnfts.ts'
import { readNfts } from '../client/read-records.ts'
import { sendByReference } from '../operations/send-by-reference.ts'
import { type ChangeDeps, endedTransactions } from './apply-updates.ts'
import { type Accepted, makeChanges, type Outcomes } from './make-changes.ts'
import type { PlannedChange } from './planned.ts'

type Burn = Accepted<PlannedChange>

/**
 * Burns NFTs, each for the owner in the plan: the server rejects the burn of an NFT that has another one.
 *
 * @throws GdnError as `makeChanges`
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
          throw new Error('a burn without NFT, owner or reference ID was planned')
        }
        const request = { contract_address: contract, nft_gdn_id: nftGdnId, holder_wallet_address: holder }
        const accepted = await sendByReference(deps, 'burnnft', { ...request, reference_id: reference })
        return { change, transactionId: accepted.transaction_gdn_id }
      },
      endsOf: (page) => endsOf(deps, page),
    },
    deps,
  )
}

/** Returns the burns that have ended, with the reason of a failure. The owner follows later than the transaction. */
async function endsOf({ client, signal }: ChangeDeps, page: readonly Burn[]): Promise<Map<Burn, string | null>> {
  const ends = await endedTransactions({ client, signal }, page, 'the burn')
  const asked = page.flatMap(({ change }) => change.nftGdnId ?? [])
  const nfts = await readNfts({ client, signal }, asked, MAX_IDS_PER_REQUEST)
  for (const one of page) {
    if (nfts.get(one.change.nftGdnId ?? '')?.burned === true) ends.set(one, null)
    else if (ends.get(one) === null) ends.delete(one)
  }
  return ends
}
