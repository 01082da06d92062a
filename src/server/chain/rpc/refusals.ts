import type { Blockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { RpcError } from './rpc-answer.ts'

/** What a node refuses that others answer is its own fault: it is told in its words. */
export async function explainRefusals<Result>(blockchain: Blockchain, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const { code, message } = error
    throw new GdnError('unreachable', `a node of ${blockchain} refused what it was asked: ${message} (${code})`, {
      hint: 'give another RPC URL',
      cause: error,
    })
  }
}
