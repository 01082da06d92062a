import { type Blockchain, isBlockchain } from '../../../api/blockchains.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import { failureReason } from '../../../api/nft-status.ts'
import type { ResponseOf } from '../../../client/api-client.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import type { KnownCollection } from '../../../state/known-collections.ts'
import {
  type ConnectionPlace,
  findCollectionByAddress,
  knownCollections,
  readCollectionsIfReady,
} from '../../connect/known-collections.ts'
import type { Deps } from '../../deps.ts'
import type { DataRecord } from '../../render/view.ts'

type ReturnedNft = Pick<NftRecord, 'contract_address'> & { readonly blockchain?: unknown }

/** Returns the blockchain from the NFT's record or from the known collections; null if neither contains it. */
export function knownBlockchain(nft: ReturnedNft, collections: readonly KnownCollection[]): Blockchain | null {
  if (typeof nft.blockchain === 'string' && isBlockchain(nft.blockchain)) return nft.blockchain
  return findCollectionByAddress(collections, nft.contract_address ?? '')?.blockchain ?? null
}

/**
 * Returns the blockchain of an NFT: the known blockchain, or else the configured one.
 *
 * @throws GdnError `usage` if no blockchain is configured either
 */
export async function resolveBlockchain(deps: Deps, nft: ReturnedNft, place: ConnectionPlace): Promise<Blockchain> {
  const recorded = knownBlockchain(nft, []) ?? knownBlockchain(nft, await knownCollections(deps, place))
  const blockchain = recorded ?? place.settings.blockchain?.value
  if (blockchain !== undefined) return blockchain
  throw new GdnError('usage', `the blockchain of ${nft.contract_address ?? 'this NFT'} is unknown`, {
    place: { flag: '--blockchain' },
    hint: 'Add --blockchain <name>.',
  })
}

/** Adds the blockchain to the record of each NFT whose blockchain is known. */
export async function withBlockchain(
  deps: Deps,
  records: readonly NftRecord[],
  place: ConnectionPlace,
): Promise<DataRecord[]> {
  const untold = records.filter((record) => knownBlockchain(record, []) === null)
  const addresses = [...new Set(untold.map(({ contract_address }) => contract_address ?? ''))]
  const collections = await readCollectionsIfReady(deps, place, addresses)
  return records.map((record) => {
    const blockchain = knownBlockchain(record, collections)
    return blockchain === null ? record : { ...record, blockchain }
  })
}

export const missingNftError = (usage: string) =>
  new GdnError('usage', 'no NFT is specified', { hint: `Run \`${usage}\`.` })

export const multipleNftsError = () => flagError('--nft-gdn-id', 'two NFTs are specified', 'Specify one NFT.')

export const neverMintedError = ({
  nft_gdn_id,
  error,
}: Pick<ResponseOf<'getnfts'>['nfts'][number], 'nft_gdn_id' | 'error'>) =>
  new GdnError('nft_failed', `${nft_gdn_id} failed and was never minted: ${failureReason(error)}`)
