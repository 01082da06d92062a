import { RpcError } from '../../rpc/rpc-answer.ts'
import type { EvmNetwork, Hex } from '../network.ts'

/** "Server error": what nodes answer when they refuse a transaction. */
const REFUSED = -32000
const INVALID_PARAMS = -32602

/**
 * `eth_sendRawTransaction` by way of a broadcast. Bytes that the chain has already are answered with their hash as well,
 * so that a client which lost the first answer may repeat itself.
 *
 * @throws RpcError as a node would
 */
export async function sendRaw(chain: Pick<EvmNetwork, 'broadcast'>, params: readonly unknown[]): Promise<Hex> {
  const [raw] = params
  if (!isHex(raw)) throw new RpcError(INVALID_PARAMS, 'the first parameter is a signed transaction in hex')
  const [result] = await chain.broadcast([raw])
  if (result === undefined) throw new RpcError(REFUSED, 'no answer for the transaction')
  if (result.outcome === 'rejected') throw new RpcError(REFUSED, result.reason)
  return result.hash
}

function isHex(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x([0-9a-fA-F]{2})+$/.test(value)
}
