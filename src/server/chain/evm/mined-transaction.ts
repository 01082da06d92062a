import { getAddress, keccak256, parseTransaction, serializeTransaction } from 'viem'
import type { EvmNetwork, Hex } from './network.ts'

/** A transaction in a block, as read from a node. */
export interface MinedTransaction {
  hash: Hex
  /** The checksummed signer. */
  signer: Hex
  /** The checksummed receiver; null if the transaction deploys a contract. */
  to: Hex | null
  nonce: number
  data: Hex
  blockNumber: number
  /** The signed bytes; null if they can't be rebuilt from the node's response. */
  raw: Hex | null
}

interface RpcTransaction {
  hash: Hex
  from: Hex
  to: Hex | null
  nonce: Hex
  input: Hex
  gas: Hex
  value: Hex
  blockNumber: Hex | null
  chainId?: Hex
  type?: Hex
  gasPrice?: Hex
  maxFeePerGas?: Hex
  maxPriorityFeePerGas?: Hex
  r: Hex
  s: Hex
  v: Hex
  yParity?: Hex
}

/** Reads a transaction by its hash. Returns null if the transaction isn't in a block of the node. */
export async function readMinedTransaction(
  network: Pick<EvmNetwork, 'request' | 'chainId'>,
  hash: Hex,
): Promise<MinedTransaction | null> {
  const transaction = await network.request<RpcTransaction | null>('eth_getTransactionByHash', [hash])
  if (transaction === null || transaction.blockNumber === null) return null
  return {
    hash,
    signer: getAddress(transaction.from),
    to: transaction.to === null ? null : getAddress(transaction.to),
    nonce: Number(transaction.nonce),
    data: transaction.input,
    blockNumber: Number(transaction.blockNumber),
    raw: rawOf(transaction, network.chainId),
  }
}

/**
 * Returns the signed bytes of a transaction. Returns null if the bytes can't be rebuilt or don't match the
 * transaction's hash.
 */
function rawOf(transaction: RpcTransaction, chainId: number): Hex | null {
  const { to, input: data, r, s, gasPrice = '0x0', maxFeePerGas, maxPriorityFeePerGas } = transaction
  const call = {
    to,
    data,
    nonce: Number(transaction.nonce),
    gas: BigInt(transaction.gas),
    value: BigInt(transaction.value),
    chainId,
  }
  try {
    const raw =
      maxFeePerGas === undefined || maxPriorityFeePerGas === undefined
        ? serializeTransaction(
            { type: 'legacy', ...call, gasPrice: BigInt(gasPrice) },
            { r, s, v: BigInt(transaction.v) },
          )
        : serializeTransaction(
            {
              type: 'eip1559',
              ...call,
              maxFeePerGas: BigInt(maxFeePerGas),
              maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas),
            },
            { r, s, yParity: Number(transaction.yParity ?? transaction.v) },
          )
    return keccak256(raw) === transaction.hash ? raw : null
  } catch {
    return null
  }
}

/** Returns whether a signed transaction makes the same call as a mined one. */
export function isSameCall(raw: Hex, { to, data }: Pick<MinedTransaction, 'to' | 'data'>): boolean {
  try {
    const call = parseTransaction(raw)
    return call.to?.toLowerCase() === to?.toLowerCase() && (call.data ?? '0x') === data
  } catch {
    return false
  }
}
