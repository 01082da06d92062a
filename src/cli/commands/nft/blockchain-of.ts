import { type Blockchain, isBlockchain } from '../../../api/blockchains.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError } from '../../../core/errors.ts'
import {
  findByAddress,
  type KnownCollection,
  knownCollections,
  serverName,
} from '../../collections/read-known-collections.ts'
import type { Connection } from '../../deps.ts'
import type { DataRecord } from '../../render/cells.ts'

type ReturnedNft = Pick<NftRecord, 'contract_address'> & { readonly blockchain?: unknown }

/** The blockchain of an NFT, as the server tells it or as its collection is known here; null where neither does. */
export function knownBlockchain(nft: ReturnedNft, collections: readonly KnownCollection[]): Blockchain | null {
  if (typeof nft.blockchain === 'string' && isBlockchain(nft.blockchain)) return nft.blockchain
  return findByAddress(collections, nft.contract_address ?? '')?.blockchain ?? null
}

/** As knownBlockchain; else what is configured. */
export async function blockchainOf(
  nft: ReturnedNft,
  { stateDir, blockchain }: Settings,
  server: Server,
): Promise<Blockchain> {
  const found = knownBlockchain(nft, await knownCollections(stateDir, serverName(server))) ?? blockchain?.value
  if (found !== undefined) return found
  throw new GdnError('usage', `the blockchain of ${nft.contract_address ?? 'this NFT'} is not known`, {
    place: { flag: '--blockchain' },
    hint: 'name it with --blockchain (-b)',
  })
}

/** NFTs with the blockchain of their collection, where it is known. */
export async function withBlockchain(
  records: readonly NftRecord[],
  { settings, server }: Pick<Connection, 'settings' | 'server'>,
): Promise<DataRecord[]> {
  const collections = await knownCollections(settings.stateDir, serverName(server))
  return records.map((record) => {
    const blockchain = knownBlockchain(record, collections)
    return blockchain === null ? record : { ...record, blockchain }
  })
}
