import { addressProblem, canonicalAddress, ZERO_ADDRESS } from '../../api/address.ts'
import { burnnft } from '../../api/endpoints/burnnft.ts'
import { addTransfer } from '../state/transfers.ts'
import { findNft, lockNfts } from '../store/nfts.ts'
import { acceptChange } from './accept-change.ts'
import { badRequestError } from './refusals.ts'
import { readChainState, refusePending, refuseUnlessService, requireTokenId } from './rights.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/**
 * Accepts a burn if the given holder currently owns the NFT on chain and the collection was created with `enable_burn`.
 */
export async function burnNft(deps: ServiceDeps, request: RequestOf<'burnnft'>) {
  const { store, pipeline } = deps
  const { contract_address, nft_gdn_id, holder_wallet_address } = request.parsed
  return await acceptChange(deps, request, {
    operation: burnnft.name,
    fields: { nft_gdn_id, holder_wallet_address },
    echo: { contract_address, nft_gdn_id, holder_wallet_address },
    async check(collection) {
      const tokenId = requireTokenId(await findNft(store.db, nft_gdn_id), collection)
      await refusePending(store.db, nft_gdn_id)
      const { blockchain } = collection
      const problem = addressProblem(holder_wallet_address, blockchain)
      if (problem !== null) throw badRequestError(`holder_wallet_address ${problem}`)
      const holder = canonicalAddress(holder_wallet_address, blockchain)
      const [owner, state, lifecycle] = await readChainState(deps, collection, "the NFT's owner", (facts) =>
        Promise.all([
          facts.readOwner(collection, tokenId, holder),
          facts.readState(collection),
          facts.readLifecycle(collection),
        ]),
      )
      if (!lifecycle.enableBurn) {
        throw badRequestError('the collection was created without enable_burn: only holders can burn its NFTs')
      }
      refuseUnlessService(state)
      if (owner !== holder) {
        throw badRequestError(
          `holder_wallet_address does not own the NFT${owner === null ? '' : `: its owner is ${owner}`}`,
        )
      }
      return holder
    },
    async write(db, { id, request_id, collection: { id: collection_id, blockchain }, prepared: sender }) {
      await lockNfts(db, [nft_gdn_id])
      await refusePending(db, nft_gdn_id)
      const row = { id, request_id, collection_id, nft_id: nft_gdn_id, blockchain, sender, receiver: ZERO_ADDRESS }
      if (!(await addTransfer(db, { ...row, kind: 'burn' })))
        throw badRequestError('a transfer or burn of the NFT is pending')
    },
    onAccepted: () => pipeline.onTransferAccepted(),
  })
}
