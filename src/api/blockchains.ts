/** The blockchains of the reference with what each supports (api-v1.1.md, Blockchain identifiers). */

interface BlockchainFacts {
  readonly kind: 'evm' | 'solana'
  /** EIP-155 chain ID; null on Solana. */
  readonly chainId: number | null
  readonly testnet: boolean
  /** transfernft and createnfttrans. Creating NFTs and collections works everywhere. */
  readonly transfer: boolean
}

const evm = (chainId: number, testnet = false) => ({ kind: 'evm', chainId, testnet, transfer: true }) as const
const solana = (testnet: boolean) => ({ kind: 'solana', chainId: null, testnet, transfer: false }) as const

export const BLOCKCHAINS = {
  polygon: evm(137),
  'polygon-mumbai': evm(80001, true),
  astar: evm(592),
  'astar-shiden': evm(336),
  'astar-shibuya': evm(81, true),
  avalanche: evm(43114),
  'avalanche-fuji': evm(43113, true),
  optimism: evm(10),
  'optimism-goerli': evm(420, true),
  fantom: evm(250),
  'fantom-testnet': evm(4002, true),
  solana: solana(false),
  'solana-testnet': solana(true),
  'bnb-mainnet': evm(56),
  'bnb-testnet': evm(97, true),
} as const satisfies Record<string, BlockchainFacts>

export type Blockchain = keyof typeof BLOCKCHAINS
export type SolanaBlockchain = 'solana' | 'solana-testnet'
export type EvmBlockchain = Exclude<Blockchain, SolanaBlockchain>

export const BLOCKCHAIN_NAMES = Object.keys(BLOCKCHAINS) as [Blockchain, ...Blockchain[]]
export const EVM_BLOCKCHAINS = BLOCKCHAIN_NAMES.filter(
  (name): name is EvmBlockchain => BLOCKCHAINS[name].kind === 'evm',
)
export const SOLANA_BLOCKCHAINS = BLOCKCHAIN_NAMES.filter(
  (name): name is SolanaBlockchain => BLOCKCHAINS[name].kind === 'solana',
)

export function isBlockchain(name: string): name is Blockchain {
  return Object.hasOwn(BLOCKCHAINS, name)
}

export function isEvm(name: Blockchain): name is EvmBlockchain {
  return BLOCKCHAINS[name].kind === 'evm'
}
