import type { Blockchain, KnownBlockchain } from './blockchains.ts'

/** A network that was shut down or replaced by a successor. It is still available as an embedded chain. */
export interface RetiredNetwork {
  /** Date when the network was shut down or replaced, as text. */
  since: string
  successor: KnownBlockchain
  /** Whether some nodes of the network may still respond. */
  stillRuns: boolean
}

const RETIRED_NETWORKS: Partial<Record<KnownBlockchain, RetiredNetwork>> = {
  'polygon-mumbai': { since: 'April 2024', successor: 'polygon-amoy', stillRuns: false },
  'optimism-goerli': { since: 'early 2024', successor: 'optimism-sepolia', stillRuns: false },
  'arbitrum-testnet': { since: 'early 2024', successor: 'arbitrum-sepolia', stillRuns: false },
  fantom: { since: 'December 2024', successor: 'sonic', stillRuns: true },
}

/** Returns the retirement of a network; null if the network is in use. */
export const findRetirement = (name: Blockchain): RetiredNetwork | null =>
  RETIRED_NETWORKS[name as KnownBlockchain] ?? null

/** Returns a sentence about a network's retirement, such as `polygon-mumbai was shut down in April 2024`. */
export const retirementText = (name: Blockchain, { since, successor, stillRuns }: RetiredNetwork): string =>
  stillRuns ? `${name} was replaced by ${successor} in ${since}` : `${name} was shut down in ${since}`
