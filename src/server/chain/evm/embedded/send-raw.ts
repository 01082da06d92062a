import { RPC_ERRORS, RpcError } from '../../rpc/rpc-response.ts'
import type { EvmNetwork, Hex } from '../network.ts'

/**
 * Implements `eth_sendRawTransaction` with a broadcast. Also returns the hash of a transaction that the chain already
 * has, so that a client that didn't receive the first response can retry.
 *
 * @throws RpcError with the code that a node would return
 */
export async function sendRaw(chain: Pick<EvmNetwork, 'broadcast'>, params: readonly unknown[]): Promise<Hex> {
  const [raw] = params
  if (!isHex(raw))
    throw new RpcError(RPC_ERRORS.invalidParams, 'the first parameter must be a signed transaction in hex')
  const [result] = await chain.broadcast([raw])
  if (result === undefined) throw new RpcError(RPC_ERRORS.server, 'the node did not respond to the transaction')
  if (result.outcome === 'rejected') throw new RpcError(RPC_ERRORS.server, result.reason)
  return result.hash
}

function isHex(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x([0-9a-fA-F]{2})+$/.test(value)
}
