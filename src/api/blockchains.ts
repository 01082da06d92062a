import { distance } from '../core/nearest.ts'
import { EVM_CHAINS } from './generated/evm-chains.ts'

/**
 * Blockchain names. Some need no configuration, because gdn contains their data, which comes from viem/chains for EVM
 * networks. Others are names that a backend's operator configures for other EVM networks.
 */

export type SolanaBlockchain = 'solana' | 'solana-testnet'
type KnownEvmBlockchain = keyof typeof EVM_CHAINS
/** A blockchain that gdn supports without configuration. */
export type KnownBlockchain = KnownEvmBlockchain | SolanaBlockchain

declare const configured: unique symbol
/** A name that an operator configured for an EVM network. Only `isBlockchain` produces this type. */
type ConfiguredName = string & { readonly [configured]: true }

export type EvmBlockchain = KnownEvmBlockchain | ConfiguredName
export type Blockchain = EvmBlockchain | SolanaBlockchain

interface BlockchainInfo {
  readonly kind: 'evm' | 'solana'
  /** EIP-155 chain ID; null on Solana. */
  readonly chainId: number | null
  readonly testnet: boolean
}

const SOLANA: Readonly<Record<SolanaBlockchain, BlockchainInfo>> = {
  solana: { kind: 'solana', chainId: null, testnet: false },
  'solana-testnet': { kind: 'solana', chainId: null, testnet: true },
}

export const KNOWN_EVM_NAMES = Object.keys(EVM_CHAINS) as KnownEvmBlockchain[]
export const SOLANA_BLOCKCHAINS = Object.keys(SOLANA) as SolanaBlockchain[]
/** The names that need no configuration. A backend may support others. */
export const KNOWN_NAMES: readonly KnownBlockchain[] = [...KNOWN_EVM_NAMES, ...SOLANA_BLOCKCHAINS]

/** Matches names that an operator can configure for an EVM network. */
export const CUSTOM_NAME_PATTERN = /^(?!solana)[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])$/

/**
 * Returns whether gdn supports the blockchain without configuration. Other names only work on servers that configure
 * them.
 */
export const isKnownBlockchain = (name: string): name is KnownBlockchain =>
  Object.hasOwn(EVM_CHAINS, name) || Object.hasOwn(SOLANA, name)

/**
 * Returns whether a server can have a blockchain with this name. Names that begin with `solana` are reserved. A name
 * similar to a known one is rejected, because it is probably misspelled.
 */
export const isBlockchain = (name: string): name is Blockchain =>
  isKnownBlockchain(name) || (CUSTOM_NAME_PATTERN.test(name) && suggestKnownName(name) === null)

/** Other names that people use for known networks: coin symbols, former names and short names. */
const BLOCKCHAIN_ALIASES: Readonly<Record<string, KnownBlockchain>> = {
  matic: 'polygon',
  pol: 'polygon',
  mumbai: 'polygon-mumbai',
  amoy: 'polygon-amoy',
  eth: 'ethereum',
  avax: 'avalanche',
  fuji: 'avalanche-fuji',
  ftm: 'fantom',
  bnb: 'bnb-mainnet',
}

/**
 * Returns the known name for an alias or for a name with one typing error; null if there is none.
 */
export const suggestKnownName = (name: string): KnownBlockchain | null =>
  (Object.hasOwn(BLOCKCHAIN_ALIASES, name) ? BLOCKCHAIN_ALIASES[name] : undefined) ??
  KNOWN_NAMES.find((candidate) => Math.abs(candidate.length - name.length) <= 1 && distance(name, candidate) <= 1) ??
  null

export const isEvm = (name: Blockchain): name is EvmBlockchain => !Object.hasOwn(SOLANA, name)

/** Returns the data of a blockchain; null for a name that an operator configured. */
export function blockchainFacts(name: Blockchain): BlockchainInfo | null {
  if (!isEvm(name)) return SOLANA[name]
  return Object.hasOwn(EVM_CHAINS, name) ? { kind: 'evm', ...EVM_CHAINS[name as KnownEvmBlockchain] } : null
}

/** Returns the EIP-155 chain ID of a blockchain; null on Solana and for a name that an operator configured. */
export const chainIdOf = (name: Blockchain): number | null => blockchainFacts(name)?.chainId ?? null

/** Returns the known blockchain with an EIP-155 chain ID; null if there is none. */
export const blockchainWithId = (chainId: number): KnownBlockchain | null =>
  KNOWN_NAMES.find((name) => chainIdOf(name) === chainId) ?? null

/** Returns whether a blockchain is known to be a testnet. Returns false for a name that an operator configured. */
export const isTestnet = (name: Blockchain): boolean => blockchainFacts(name)?.testnet === true
