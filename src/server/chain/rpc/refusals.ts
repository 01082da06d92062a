import type { Blockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { RpcError } from './rpc-response.ts'

/**
 * Runs `work`. Converts a JSON-RPC error of a node to an error with the node's message.
 *
 * @throws GdnError `unreachable` if a node rejects a request of `work`
 */
export async function convertRpcErrors<Result>(blockchain: Blockchain, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const { code, message } = error
    throw new GdnError('unreachable', `a node of ${blockchain} rejected the request: ${message} (${code})`, {
      hint: 'Configure another RPC URL.',
      cause: error,
    })
  }
}
