import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import type { Chains } from '../chain/chains.ts'
import { createEvmFacts } from './evm/facts.ts'
import type { ChainFacts } from './facts.ts'
import { createSolanaFacts } from './solana/facts.ts'

/**
 * Returns the functions that read the state and the rules of a blockchain. This file is separate from `load-driver.ts`,
 * because a process without workers needs no driver.
 */
export const chainFacts = (chains: Chains, blockchain: Blockchain): ChainFacts =>
  isEvm(blockchain) ? createEvmFacts(chains, blockchain) : createSolanaFacts(chains.solana, blockchain)
