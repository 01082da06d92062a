import type { EvmBlockchain } from './blockchains.ts'

/** A network of the reference that is gone. */
export interface Retired {
  /** When it ended, as text. */
  since: string
  successor: string
  /** Of the successor. */
  chainId: number
}

/** Networks of the reference that are gone. As embedded chains they live on. */
export const RETIRED: Partial<Record<EvmBlockchain, Retired>> = {
  'polygon-mumbai': { since: 'April 2024', successor: 'Polygon Amoy', chainId: 80002 },
  'optimism-goerli': { since: 'early 2024', successor: 'OP Sepolia', chainId: 11155420 },
}
