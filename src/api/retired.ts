import type { Blockchain, KnownBlockchain } from './blockchains.ts'

/** A network whose operators moved on to another one. It is still available as an embedded chain. */
export interface Retired {
  /** When the network ended or was succeeded, as text. */
  since: string
  successor: KnownBlockchain
  /** Whether nodes of it may still respond. */
  stillRuns: boolean
}

const RETIRED: Partial<Record<KnownBlockchain, Retired>> = {
  'polygon-mumbai': { since: 'April 2024', successor: 'polygon-amoy', stillRuns: false },
  'optimism-goerli': { since: 'early 2024', successor: 'optimism-sepolia', stillRuns: false },
  'arbitrum-testnet': { since: 'early 2024', successor: 'arbitrum-sepolia', stillRuns: false },
  fantom: { since: 'December 2024', successor: 'sonic', stillRuns: true },
}

/** Returns the known facts about the end of a network; null for a network in use. */
export const retirementOf = (name: Blockchain): Retired | null => RETIRED[name as KnownBlockchain] ?? null

/** Says what happened to a network: `polygon-mumbai was shut down in April 2024`. */
export const retirementText = (name: Blockchain, { since, successor, stillRuns }: Retired): string =>
  stillRuns ? `${name} was succeeded by ${successor} in ${since}` : `${name} was shut down in ${since}`
