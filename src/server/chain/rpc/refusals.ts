import type { Blockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { RpcError } from './rpc-answer.ts'

/** Throws the node's own message if it rejects a request that other nodes answer. */
export async function explainRefusals<Result>(blockchain: Blockchain, work: () => Promise<Result>): Promise<Result> {
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
