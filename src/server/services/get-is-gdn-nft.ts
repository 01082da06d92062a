import { isSameAddress } from '../../api/same-address.ts'
import { findNft } from '../store/nfts.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/**
 * Returns whether an address currently owns a given NFT of this service on a blockchain. The NFT may belong to any
 * account.
 */
export async function getIsGdnNft({ store }: Pick<ServiceDeps, 'store'>, { parsed }: RequestOf<'getisgdnnft'>) {
  const { receiver_wallet_address: address, blockchain, nft_gdn_ids: ids } = parsed
  const [id = ''] = ids
  const nft = await findNft(store.db, id)
  const owner = nft?.owner ?? null
  const owned = nft?.blockchain === blockchain && owner !== null && isSameAddress(owner, address)
  return {
    requests: { receiver_wallet_address: address, blockchain, nft_gdn_id: id },
    response: owned
      ? {
          isgdnnft: true,
          nft: {
            nft_gdn_id: nft.id,
            token_id: nft.token_id,
            contract_address: nft.contract_address,
            receiver_wallet_address: owner,
            status: nft.status,
          },
        }
      : { isgdnnft: false },
  }
}
