import { chainIdOf, type EvmBlockchain, factsOf, isKnown, KNOWN_EVM_NAMES } from '../../api/blockchains.ts'
import { nearest } from '../../core/nearest.ts'
import { NETWORKS } from './generated/networks.ts'

/** The facts of an EVM network in viem/chains. */
export interface NetworkFacts {
  /** Our name, or else that of viem/chains in our spelling. */
  name: string
  chainId: number
  /** Symbol of the coin that pays for gas. */
  coin: string
  blockExplorerUrl: string | null
  /** How a transaction pays for its data on another chain; null if it doesn't, or if that is unknown. */
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

/** Returns the chain ID of a network by its name, known or of viem/chains; null for any other. */
export const chainIdNamed = (name: EvmBlockchain): number | null =>
  chainIdOf(name) ?? NETWORKS.find(([known]) => known === name)?.[1] ?? null

/**
 * Returns the name that every gdn has for the network of a chain ID, and whether it is a testnet; null if it has none.
 */
export function knownNetworkOf(chainId: number): { name: string; testnet: boolean } | null {
  const name = KNOWN_EVM_NAMES.find((known) => chainIdOf(known) === chainId)
  return name === undefined ? null : { name, testnet: factsOf(name)?.testnet === true }
}

/** Returns the name of a network that was probably meant by an unknown name. */
export const nearestNetwork = (name: string): string | undefined =>
  nearest(
    name,
    NETWORKS.map(([known]) => known),
  )

/** Returns the network of a chain ID, a known one first; null if viem/chains has none, or several with other coins. */
export function networkOf(chainId: number): NetworkFacts | null {
  const [first, ...others] = NETWORKS.filter(([, id]) => id === chainId)
  if (first === undefined) return null
  return isKnown(first[0]) || others.every(([, , coin]) => coin === first[2]) ? toFacts(first) : null
}

/** Returns the symbol of a network's coin; null if it isn't known. */
export const coinOf = (chainId: number): string | null => networkOf(chainId)?.coin ?? null

/** Whether a currency, in upper case, is the coin of a network that every gdn knows. */
export const isKnownCoin = (currency: string): boolean =>
  NETWORKS.some(([name, , coin]) => isKnown(name) && coin.toUpperCase() === currency)
