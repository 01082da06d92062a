import type { ResponseOf } from '../../../client/api-client.ts'
import { flagError, GdnError } from '../../../core/errors.ts'

export const noNft = (usage: string) => new GdnError('usage', 'no NFT is specified', { hint: `Run \`${usage}\`.` })

export const twoNfts = () => flagError('--nft-gdn-id', 'two NFTs are specified', 'Specify one NFT.')

export const neverMinted = ({
  nft_gdn_id,
  error,
}: Pick<ResponseOf<'getnfts'>['nfts'][number], 'nft_gdn_id' | 'error'>) =>
  new GdnError('nft_failed', `${nft_gdn_id} failed and was never minted: ${error ?? 'the server returned no reason'}`)
