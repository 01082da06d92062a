import type { ProvenanceRecord } from '../../api/endpoints/getprovenances.ts'
import { GdnError } from '../../core/errors.ts'
import { isObject } from '../../core/json.ts'
import type { ChainReader } from '../../verify/chain-reader.ts'
import { openVerifier, type ReaderFlags } from '../connect/open-verifier.ts'
import type { Connection, Deps } from '../deps.ts'

/**
 * Returns the Unix time in seconds of the block that has the seal.
 *
 * @throws GdnError `unreachable` if no node returns it
 */
export async function timeOfSeal(
  deps: Deps,
  { server }: Connection,
  blockchain: Parameters<typeof openVerifier>[2],
  flags: ReaderFlags,
  seal: ProvenanceRecord,
): Promise<number> {
  const { verifier, close } = await openVerifier(deps, flags, blockchain, server)
  try {
    if ('reason' in verifier) throw unread(verifier.reason)
    return await blockTimeOf(verifier.chain, seal)
  } finally {
    await close()
  }
}

async function blockTimeOf(chain: ChainReader, { transaction_hash: hash, block_number }: ProvenanceRecord) {
  // A node that doesn't have the transaction in a block has no receipt.
  const receipt = hash === null ? null : await resultOf(chain, 'eth_getTransactionReceipt', [hash])
  const number = receipt?.blockNumber ?? (block_number === null ? null : `0x${block_number.toString(16)}`)
  const block = number === null ? null : await resultOf(chain, 'eth_getBlockByNumber', [number, false])
  const { timestamp } = block ?? {}
  if (typeof timestamp === 'string' && /^0x[0-9a-f]{1,12}$/i.test(timestamp)) return Number(timestamp)
  throw unread(`${chain.origin} does not return the block of the seal`)
}

async function resultOf(chain: ChainReader, method: string, params: readonly unknown[]) {
  const response = await chain.request(method, params)
  return 'result' in response && isObject(response.result) ? response.result : null
}

const unread = (why: string) =>
  new GdnError('unreachable', `the block that sealed the drop can't be read: ${why}`, {
    hint: 'Use --rpc-url <url> to read it from a node of the chain, and run the command again.',
  })
