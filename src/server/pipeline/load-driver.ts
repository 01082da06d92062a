import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import type { Chains } from '../chain/chains.ts'
import type { ChainDriver, DriverOptions, OnSigned } from './driver.ts'
import { createEvmDriver } from './evm/driver.ts'
import type { FileSources } from './store-files-again.ts'

/** Returns the constructor of a blockchain's driver. The Solana driver is loaded on first use, to save memory. */
export async function loadDriver(
  { chains, ...options }: Omit<DriverOptions<Blockchain>, 'blockchain'> & FileSources & { chains: Chains },
  blockchain: Blockchain,
): Promise<(onSigned: OnSigned) => ChainDriver> {
  if (isEvm(blockchain)) return (onSigned) => createEvmDriver({ ...options, blockchain, chains, onSigned })
  const { createSolanaDriver } = await import('./solana/driver.ts')
  return (onSigned) => createSolanaDriver({ ...options, blockchain, solana: chains.solana, onSigned })
}
