import type { EvmBlockchain } from '../../../api/blockchains.ts'
import type { Fees, Hex } from './network.ts'

/** A transaction to sign, without its signing account. */
export interface UnsignedTransaction {
  chainId: number
  nonce: number
  /** The receiver; null to deploy a contract. */
  to: Hex | null
  data: Hex
  gas: bigint
  fees: Fees
}

/** Returns a transaction in the form that viem signs. */
export function toViemTransaction({
  fees: { maxFeePerGas, maxPriorityFeePerGas, legacy },
  ...call
}: UnsignedTransaction) {
  return legacy
    ? ({ type: 'legacy', ...call, gasPrice: maxFeePerGas } as const)
    : ({ type: 'eip1559', ...call, maxFeePerGas, maxPriorityFeePerGas } as const)
}

export interface EvmSignedBytes {
  raw: Hex
  hash: Hex
}

export interface Signer {
  readonly address: Hex
  sign(transaction: UnsignedTransaction): Promise<EvmSignedBytes>
  /**
   * Whether another process signs. Signing can then be slow, so `sign` is never called inside a database transaction.
   */
  readonly remote?: boolean
  /** Returns why the signer can't sign at the moment. Returns null if no problem is known. */
  problem?(): string | null
  /**
   * Checks that the signer has the key. Resolves with the signer's response.
   *
   * @throws GdnError if the signer can't sign with the key
   */
  check?(): Promise<string>
  close?(): Promise<void>
}

export const closeSigners = async (signers: readonly Signer[]): Promise<void> => {
  await Promise.all(signers.map((signer) => signer.close?.()))
}

/** The signers of a blockchain. */
export interface Signers {
  /** The signer that only deploys the factory; null if its key isn't in this process. */
  readonly admin: Signer | null
  /**
   * The signers that deploy collections, mint and transfer. Each has its own nonces. Empty while the signers' funds are
   * reserved for pending transactions.
   */
  readonly operators: readonly Signer[]
}

/** The values that are needed to sign transactions for a blockchain. */
export interface SigningTerms {
  readonly chainId: number
  readonly signers: Signers
  readonly fees: Fees
  /** Gas that each operator can pay for in addition to its pending transactions. Absent if gas is free. */
  readonly affordable?: ReadonlyMap<Hex, bigint>
}

/** Returns the chain ID, signers and fees for signing on a blockchain. Rejects while its network is unreachable. */
export type GetSigningTerms = (blockchain: EvmBlockchain) => Promise<SigningTerms>

/**
 * Returns the signer with this address, regardless of the signer's balance. Returns null if its key isn't in this
 * process.
 */
export type FindSigner = (blockchain: EvmBlockchain, address: string) => Promise<Signer | null>

export const findSignerByAddress = ({ admin, operators }: Signers, address: string): Signer | null =>
  [...operators, admin].find((signer) => signer?.address === address) ?? null

/** Fees of transactions on embedded chains. Gas is free there, so these fees are far above any base fee. */
export const EMBEDDED_FEES: Fees = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }
