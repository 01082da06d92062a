import { ZERO_ADDRESS } from '../../api/address.ts'
import type { UpdateWithNft } from '../store/updates.ts'

/**
 * Returns why an update or freeze can never be applied, according to the database alone. Returns null if it may be
 * applied.
 */
export function findUpdateError({ kind, nft_status, owner, frozen }: UpdateWithNft): string | null {
  if (nft_status === 'failed') return 'the NFT failed, so it has no token'
  if (owner === ZERO_ADDRESS) return 'the NFT was burned'
  return kind === 'update' && frozen === 1 ? 'the metadata of the NFT is frozen' : null
}
