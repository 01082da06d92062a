import type { EvmBlockchain } from '../../../api/blockchains.ts'
import type { Fees, Hex } from './network.ts'

/** What is signed, but for who signs it and on which chain. */
export interface UnsignedTransaction {
  chainId: number
  nonce: number
  /** Null deploys a contract. */
  to: Hex | null
  data: Hex
  gas: bigint
  fees: Fees
}

export interface Signer {
  readonly address: Hex
  sign(transaction: UnsignedTransaction): Promise<{ raw: Hex; hash: Hex }>
}

/** Who signs on a blockchain. */
export interface Signers {
  /** Deploys the factory and no more; null where its key is not this process's. */
  readonly admin: Signer | null
  /** Make collections, mint and transfer: each has nonces of its own. None while their funds are bound by what waits. */
  readonly operators: readonly Signer[]
}

/** All that signing for a blockchain takes. */
export interface Signing {
  readonly chainId: number
  readonly signers: Signers
  /** What to offer for gas now. */
  readonly fees: Fees
  /** Gas that each operator can pay for beyond what it has signed already; absent where gas costs nothing. */
  readonly affordable?: ReadonlyMap<Hex, bigint>
}

/** What signing for a blockchain takes now; rejects while its network can't be asked. */
export type AskSigning = (blockchain: EvmBlockchain) => Promise<Signing>

/** Who signs for a blockchain with this address, whatever it can pay for; null where its key is not this process's. */
export type FindSigner = (blockchain: EvmBlockchain, address: string) => Promise<Signer | null>

export const signerAt = ({ admin, operators }: Signers, address: string): Signer | null =>
  [...operators, admin].find((one) => one?.address === address) ?? null

/** Far above any base fee of an embedded chain, where gas costs nothing. */
export const EMBEDDED_FEES: Fees = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
