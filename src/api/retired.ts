import type { EvmBlockchain } from './blockchains.ts'

/** A network of the reference that no longer exists. */
export interface Retired {
  /** When it ended, as text. */
  since: string
  successor: string
  /** The chain ID of the successor. */
  chainId: number
}

/** Networks of the reference that no longer exist. They are still available as embedded chains. */
export const RETIRED: Partial<Record<EvmBlockchain, Retired>> = {
  'polygon-mumbai': { since: 'April 2024', successor: 'Polygon Amoy', chainId: 80002 },
  'optimism-goerli': { since: 'early 2024', successor: 'OP Sepolia', chainId: 11155420 },
}
