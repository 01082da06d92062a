import { getAddress, keccak256, parseTransaction, serializeTransaction } from 'viem'
import type { EvmNetwork, Hex } from './network.ts'

/** A transaction in a block, read back from a node. */
export interface MinedTransaction {
  hash: Hex
  /** Who signed it; checksummed. */
  signer: Hex
  /** Checksummed; null where it deploys a contract. */
  to: Hex | null
  nonce: number
  data: Hex
  blockNumber: number
  /** The signed bytes; null where they can't be rebuilt from what the node tells. */
  raw: Hex | null
}

interface ToldTransaction {
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

/** Reads a transaction by its hash; null where the node doesn't have it in a block. */
export async function readMinedTransaction(
  network: Pick<EvmNetwork, 'request' | 'chainId'>,
  hash: Hex,
): Promise<MinedTransaction | null> {
  const told = await network.request<ToldTransaction | null>('eth_getTransactionByHash', [hash])
  if (told === null || told.blockNumber === null) return null
  return {
    hash,
    signer: getAddress(told.from),
    to: told.to === null ? null : getAddress(told.to),
    nonce: Number(told.nonce),
    data: told.input,
    blockNumber: Number(told.blockNumber),
    raw: rawOf(told, network.chainId),
  }
}

/** Only bytes that hash to what was asked for are believed. */
function rawOf(told: ToldTransaction, chainId: number): Hex | null {
  const { to, input: data, r, s, gasPrice = '0x0', maxFeePerGas, maxPriorityFeePerGas } = told
  const call = { to, data, nonce: Number(told.nonce), gas: BigInt(told.gas), value: BigInt(told.value), chainId }
  try {
    const raw =
      maxFeePerGas === undefined || maxPriorityFeePerGas === undefined
        ? serializeTransaction({ type: 'legacy', ...call, gasPrice: BigInt(gasPrice) }, { r, s, v: BigInt(told.v) })
        : serializeTransaction(
            {
              ...{ type: 'eip1559', ...call },
              maxFeePerGas: BigInt(maxFeePerGas),
              maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas),
            },
            { r, s, yParity: Number(told.yParity ?? told.v) },
          )
    return keccak256(raw) === told.hash ? raw : null
  } catch {
    return null
  }
}

/** Whether a signed transaction makes the same call. */
export function makesCall(raw: Hex, { to, data }: Pick<MinedTransaction, 'to' | 'data'>): boolean {
  try {
    const call = parseTransaction(raw)
    return call.to?.toLowerCase() === to?.toLowerCase() && (call.data ?? '0x') === data
  } catch {
    return false
  }
}
