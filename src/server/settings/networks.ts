import {
  blockchainFacts,
  chainIdOf,
  type EvmBlockchain,
  isKnownBlockchain,
  KNOWN_EVM_NAMES,
} from '../../api/blockchains.ts'
import { nearest } from '../../core/nearest.ts'
import { NETWORKS } from './generated/networks.ts'

/** Properties of an EVM network, from viem/chains. */
export interface NetworkFacts {
  /** gdn's name of the network. If gdn has none, the network's name in viem/chains, converted to gdn's format. */
  name: string
  chainId: number
  /** Symbol of the coin that pays for gas. */
  coin: string
  blockExplorerUrl: string | null
  /**
   * The model by which transactions pay for storing their data on another chain. Null if there is none, or if it isn't
   * known.
   */
  feeModel: 'op-stack' | 'arbitrum' | null
}

type Row = (typeof NETWORKS)[number]

const toFacts = ([name, chainId, coin, blockExplorerUrl, feeModel]: Row): NetworkFacts => ({
  name,
  chainId,
  coin,
  blockExplorerUrl,
  feeModel,
})

/** Returns the chain ID of the network with this name in gdn or viem/chains; null for any other name. */
export const findChainId = (name: EvmBlockchain): number | null =>
  chainIdOf(name) ?? NETWORKS.find(([knownName]) => knownName === name)?.[1] ?? null

/**
 * Returns gdn's built-in name of the network with this chain ID, and whether it is a testnet. Returns null if there is
 * none.
 */
export function findBuiltInNetwork(chainId: number): { name: string; testnet: boolean } | null {
  const name = KNOWN_EVM_NAMES.find((knownName) => chainIdOf(knownName) === chainId)
  return name === undefined ? null : { name, testnet: blockchainFacts(name)?.testnet === true }
}

/** Returns the known network whose name is nearest to an unknown name. */
export const nearestNetwork = (name: string): string | undefined =>
  nearest(
    name,
    NETWORKS.map(([knownName]) => knownName),
  )

/**
 * Returns the network with this chain ID, preferably one that is built into gdn. Returns null if viem/chains has no
 * such network, or several with different coins.
 */
export function networkWithChainId(chainId: number): NetworkFacts | null {
  const [first, ...otherNetworks] = NETWORKS.filter(([, id]) => id === chainId)
  if (first === undefined) return null
  return isKnownBlockchain(first[0]) || otherNetworks.every(([, , coin]) => coin === first[2]) ? toFacts(first) : null
}

/** Returns the symbol of a network's coin; null if it isn't known. */
export const findCoinSymbol = (chainId: number): string | null => networkWithChainId(chainId)?.coin ?? null

/** Returns whether a currency, in upper case, is the coin of a network that is built into gdn. */
export const isKnownCoin = (currency: string): boolean =>
  NETWORKS.some(([name, , coin]) => isKnownBlockchain(name) && coin.toUpperCase() === currency)
