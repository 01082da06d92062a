import type { SolanaBlockchain } from '../../api/blockchains.ts'

/** The public clusters by the hash of their genesis, which any node of a cluster tells. */
export const GENESIS_HASHES = {
  'mainnet-beta': '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
  testnet: '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY',
  devnet: 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG',
} as const

export type Cluster = keyof typeof GENESIS_HASHES

export const CLUSTERS = Object.keys(GENESIS_HASHES) as [Cluster, ...Cluster[]]

/** What a blockchain of the API stands for, unless the settings say otherwise. */
export const CLUSTER_OF: Readonly<Record<SolanaBlockchain, Cluster>> = {
  solana: 'mainnet-beta',
  'solana-testnet': 'testnet',
}

/** What people call a cluster; its genesis hash where it is one of their own. */
export const clusterName = (genesisHash: string): string =>
  CLUSTERS.find((name) => GENESIS_HASHES[name] === genesisHash) ?? genesisHash
