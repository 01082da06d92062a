import type { Hex } from './network.ts'

/** Version of the contracts that this gdn deploys. Tokens of version 1 can't be updated or burned. */
export const CONTRACT_VERSION = 2

/** A factory on a chain. Collections have the version of their factory. */
export interface Factory {
  address: Hex
  version: number
}

/** Returns the factory of a chain's new collections. */
export const factoryOf = (chain: { factory_address: string; factory_version: number }): Factory => ({
  address: chain.factory_address as Hex,
  version: chain.factory_version,
})
