import { keccak256 } from 'viem'
import type { RpcAnswer } from '../../rpc/rpc-answer.ts'
import type { BroadcastOutcome, Hex } from '../network.ts'
import type { RemoteRpc } from './json-rpc.ts'

/**
 * Hands signed transactions to a network. Nodes refuse in many words what they have already ("already known", "nonce
 * too low", "replacement transaction underpriced", and on Frontier all of it as an internal error); none is believed: the
 * hash is looked up.
 */
export async function handIn(rpc: RemoteRpc, raws: readonly Hex[]): Promise<BroadcastOutcome[]> {
  const calls = raws.map((raw) => ({ method: 'eth_sendRawTransaction', params: [raw] }))
  const answers = await rpc.batch(calls, { refusals: true })
  const hashes = raws.map((raw) => keccak256(raw))
  const refused = hashes.filter((_, index) => 'error' in (answers[index] ?? {}))
  const found = await rpc.batch(refused.map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] })))
  const known = new Set(refused.filter((hash, index) => isTransaction(found[index], hash)))
  return hashes.map((hash, index): BroadcastOutcome => {
    const answer = answers[index]
    if (answer === undefined || 'result' in answer) return { hash, outcome: 'accepted' }
    if (known.has(hash)) return { hash, outcome: 'known' }
    return { hash, outcome: 'rejected', reason: answer.error.message }
  })
}

function isTransaction(answer: RpcAnswer | undefined, hash: Hex): boolean {
  if (answer === undefined || 'error' in answer || answer.result === null) return false
  return (answer.result as { hash?: Hex }).hash === hash
}
