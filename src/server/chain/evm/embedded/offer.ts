import { keccak256 } from 'viem'
import { chunksOf } from '../../../../core/chunks-of.ts'
import type { RpcResponse } from '../../rpc/rpc-response.ts'
import type { BroadcastOutcome, Hex } from '../network.ts'
import type { NodeRpc } from './node-rpc.ts'
import { legacyChainId } from './raw-transaction.ts'

/**
 * Number of transactions in one JSON-RPC batch. The block's hash depends on the order of its transactions, but anvil
 * processes the calls of a batch concurrently and keeps their order only in small batches. In measurements, batches of
 * up to 40 transactions kept their order, and a batch of 100 moved two transactions to the end.
 */
const BATCH = 30

/** Submits the transactions to the node's pool in this order. */
export async function submit(rpc: NodeRpc, raws: readonly Hex[]): Promise<RpcResponse[]> {
  const responses: RpcResponse[] = []
  for (const chunk of chunksOf(raws, BATCH)) {
    const calls = chunk.map((raw) => ({ method: 'eth_sendRawTransaction', params: [raw] }))
    responses.push(...(await rpc.batch(calls)))
  }
  return responses
}

/**
 * Submits the transactions and classifies the responses. Doesn't submit transactions that are signed for another chain.
 */
export async function offerTransactions(
  rpc: NodeRpc,
  chainId: number,
  raws: readonly Hex[],
): Promise<BroadcastOutcome[]> {
  const foreign = raws.map((raw) => (legacyChainId(raw) ?? chainId) !== chainId)
  const outcomes = await offerOwnTransactions(
    rpc,
    raws.filter((_, index) => !foreign[index]),
  )
  let next = 0
  return raws.flatMap((raw, index) => {
    if (!foreign[index]) return outcomes[next++] ?? []
    const reason = `the transaction is signed for a chain other than ${chainId}`
    return { hash: hashTransaction(raw), outcome: 'rejected', reason }
  })
}

/**
 * Submits transactions of this chain. A rejected transaction is `known` if the node has the same bytes in its pool or
 * in a block, regardless of the error message ("nonce too low", "already imported").
 */
async function offerOwnTransactions(rpc: NodeRpc, raws: readonly Hex[]): Promise<BroadcastOutcome[]> {
  const responses = await submit(rpc, raws)
  const outcomes = responses.map((response, index): BroadcastOutcome => {
    if ('result' in response) return { hash: response.result as Hex, outcome: 'accepted' }
    return { hash: hashTransaction(raws[index] ?? '0x'), outcome: 'rejected', reason: response.error.message }
  })
  const refused = outcomes.filter(({ outcome }) => outcome === 'rejected').map(({ hash }) => hash)
  const knownHashes = await findKnownHashes(rpc, [...new Set(refused)])
  return outcomes.map((outcome) =>
    outcome.outcome === 'rejected' && knownHashes.has(outcome.hash)
      ? { hash: outcome.hash, outcome: 'known' }
      : outcome,
  )
}

async function findKnownHashes(rpc: NodeRpc, hashes: readonly Hex[]): Promise<Set<Hex>> {
  const responses = await rpc.batch(hashes.map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] })))
  return new Set(hashes.filter((_, index) => hasResult(responses[index])))
}

function hasResult(response: RpcResponse | undefined): boolean {
  return response !== undefined && 'result' in response && response.result !== null
}

function hashTransaction(raw: Hex): Hex {
  return keccak256(/^0x([0-9a-f]{2})*$/i.test(raw) ? raw : '0x')
}
