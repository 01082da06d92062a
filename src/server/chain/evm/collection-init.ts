import { createHash } from 'node:crypto'
import { type CollectionInit, predictCollection } from './factory.ts'
import type { Hex } from './network.ts'

interface CollectionFacts {
  id: string
  name: string
  symbol: string
  wallet_address: string
  enable_api: number
  enable_transfer: number
  is_locked: number
}

/** The init arguments of a collection's contract. They alone determine its address. */
export function collectionInit(collection: CollectionFacts): CollectionInit {
  return {
    requestId: `0x${createHash('sha256').update(collection.id).digest('hex')}`,
    name: collection.name,
    symbol: collection.symbol,
    owner: collection.wallet_address as Hex,
    enableApi: collection.enable_api === 1,
    enableTransfer: collection.enable_transfer === 1,
    locked: collection.is_locked === 1,
  }
}

/** Returns the address of a collection once it is deployed. */
export function collectionAddress(factory: Hex, collection: CollectionFacts): Hex {
  return predictCollection(factory, collectionInit(collection))
}
