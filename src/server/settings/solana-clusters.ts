import type { SolanaBlockchain } from '../../api/blockchains.ts'

/** Genesis hashes of the public clusters. Every node returns the hash of its cluster. */
export const GENESIS_HASHES = {
  'mainnet-beta': '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  testnet: '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY',
  devnet: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
} as const

export type Cluster = keyof typeof GENESIS_HASHES

export const CLUSTERS = Object.keys(GENESIS_HASHES) as [Cluster, ...Cluster[]]

/** The default cluster of each Solana blockchain of the API. */
export const DEFAULT_CLUSTERS: Readonly<Record<SolanaBlockchain, Cluster>> = {
  solana: 'mainnet-beta',
  'solana-testnet': 'testnet',
}

/** Returns the name of a public cluster, or the genesis hash of a private one. */
export const clusterName = (genesisHash: string): string =>
  CLUSTERS.find((name) => GENESIS_HASHES[name] === genesisHash) ?? genesisHash
