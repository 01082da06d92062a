import { zeroAddress } from 'viem'
import { sha256Hex } from '../../../core/sha256-hex.ts'
import type { CollectionRow, NewCollection } from '../../store/collections.ts'
import { type CollectionInit, predictCollection } from './factory.ts'
import type { Hex } from './network.ts'

type CollectionFacts = NewCollection & Pick<CollectionRow, 'factory_address'>

/** Returns the init arguments of a collection's contract. The contract's address depends only on these arguments. */
export function collectionInit(collection: CollectionFacts): CollectionInit {
  return {
    requestId: `0x${sha256Hex(collection.id)}`,
    name: collection.name,
    symbol: collection.symbol,
    owner: collection.wallet_address as Hex,
    enableApi: collection.enable_api === 1,
    enableTransfer: collection.enable_transfer === 1,
    locked: collection.is_locked === 1,
    dynamic: collection.dynamic === 1,
    enableBurn: collection.enable_burn === 1,
    royaltyReceiver: (collection.royalty_receiver ?? zeroAddress) as Hex,
    royaltyBps: BigInt(collection.royalty_bps),
    maxSupply: BigInt(collection.max_supply ?? 0),
  }
}

/** Returns the address at which the factory deploys a collection. */
export function collectionAddress(collection: CollectionFacts): Hex {
  return predictCollection(collection.factory_address as Hex, collectionInit(collection))
}
