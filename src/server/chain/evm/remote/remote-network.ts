import { keccak256 } from 'viem'
import { BLOCKCHAINS, type EvmBlockchain } from '../../../../api/blockchains.ts'
import { createProviders, type Providers, type RpcOutcome } from '../../rpc/providers.ts'
import type { RpcAnswer } from '../../rpc/rpc-answer.ts'
import type { BroadcastOutcome, EvmNetwork, EvmReceipt, Hex, PublicNetwork, RawLog } from '../network.ts'
import { readQuantity } from '../quantity.ts'
import { receiptOf } from '../receipt.ts'
import { readFees } from './fees.ts'
import { connectRemote, type Identity, type RemoteRpc } from './json-rpc.ts'

export interface RemoteNetworkOptions {
  blockchain: EvmBlockchain
  /** Where it isn't that of the reference. */
  chainId?: number
  /** Nodes of this network, the one to prefer first. */
  urls: readonly string[]
  /** Blocks, a transaction's own included, until a success counts. */
  confirmations: number
  /** Blocks until nothing is undone any more; `confirmations` or more. */
  finality: number
  pollMs?: number
  stuckMs?: number
  /** Wei for a unit of gas at most. */
  feeCap?: bigint
  timeoutMs?: number
  tries?: number
  retryMs?: number
  /** What is known of those who answer at the URLs, where others ask them as well. */
  providers?: Providers
  /** Told of each request by the host that it went to. */
  onRequest?: (host: string, outcome: RpcOutcome) => void
}

export interface RemoteNetwork extends EvmNetwork {
  readonly publicNetwork: PublicNetwork
  /** Cuts what is under way. */
  close(): Promise<void>
}

const POLL_MS = 2_000
const STUCK_MS = 60_000
const FEE_CAP = 1_000_000_000_000n
const TIMEOUT_MS = 10_000
const TRIES = 4
const RETRY_MS = 200
/** With the head, as many calls as are surely answered by one node. */
const BLOCKS_OF_ONE_NODE = 99

/**
 * The network of a blockchain behind RPC URLs. Nothing is asked of a node before it has told that it is of the right
 * chain: signed for another, our transactions would be worth nothing there or, worse, something.
 *
 * @example
 * const network = createRemoteNetwork({ blockchain: 'polygon', urls: ['https://node.example'], confirmations: 5, finality: 64 })
 */
export function createRemoteNetwork(options: RemoteNetworkOptions): RemoteNetwork {
  const { blockchain, urls, confirmations, finality, feeCap = FEE_CAP } = options
  if (confirmations < 1 || finality < confirmations) throw new RangeError('finality is confirmations or more')
  const { chainId = BLOCKCHAINS[blockchain].chainId } = options
  const { timeoutMs = TIMEOUT_MS, tries = TRIES, retryMs = RETRY_MS } = options
  const { providers = createProviders(), onRequest = () => {} } = options
  const rpc = connectRemote({ urls, identity: chainIdentity(chainId), timeoutMs, tries, retryMs, providers, onRequest })

  const head = async () => Number(readQuantity(await rpc.call('eth_blockNumber', [])))
  const receiptCalls = (hashes: readonly Hex[]) =>
    hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))

  const publicNetwork: PublicNetwork = {
    pollMs: options.pollMs ?? POLL_MS,
    stuckMs: options.stuckMs ?? STUCK_MS,
    finality,
    feeCap,
    head,

    async blockHashes(numbers, head) {
      if (head === undefined) return (await rpc.batch(numbers.map(blockCall))).map(hashOf)
      const hashes: (Hex | null)[] = []
      for (let at = 0; at < numbers.length; at += BLOCKS_OF_ONE_NODE) {
        const some = numbers.slice(at, at + BLOCKS_OF_ONE_NODE)
        const [top = null, ...answer] = (await rpc.batch([head, ...some].map(blockCall))).map(hashOf)
        hashes.push(...answer.map((hash) => (top === null ? null : hash)))
      }
      return hashes
    },

    async logs(filters, blocks) {
      const asked = filters.map(({ from, to, addresses: address, topics }) => ({
        method: 'eth_getLogs',
        params: [{ fromBlock: quantity(from), toBlock: quantity(to), address, topics: [topics] }],
      }))
      const answers = await rpc.batch([...asked, ...blocks.map(blockCall)])
      return {
        logs: answers.slice(0, asked.length).flatMap((answer) => (resultOf(answer) ?? []) as RawLog[]),
        hashes: answers.slice(asked.length).map(hashOf),
      }
    },

    async nextNonce(account, block) {
      const at = block === undefined ? 'latest' : quantity(block)
      return Number(readQuantity(await rpc.call('eth_getTransactionCount', [account, at])))
    },

    async balance(account) {
      return readQuantity(await rpc.call('eth_getBalance', [account, 'latest']))
    },

    async isNonceForeign({ signer, nonce, hashes }) {
      const deep = (await head()) - finality + 1
      // What was the state then not every node has kept: it is asked for only where it decides.
      if (deep < 0 || (await publicNetwork.nextNonce(signer)) <= nonce) return false
      // In one batch, so that one node answers all of it: one that knows the nonce as used knows by what.
      const [count, ...receipts] = await rpc.batch([
        { method: 'eth_getTransactionCount', params: [signer, quantity(deep)] },
        ...receiptCalls(hashes),
      ])
      return readQuantity(resultOf(count)) > BigInt(nonce) && receipts.every((receipt) => resultOf(receipt) === null)
    },

    suggestFees: () => readFees(rpc, feeCap),
  }

  return {
    blockchain,
    chainId,
    confirmations,
    publicNetwork,
    request: (method, params) => rpc.call(method, params),
    broadcast: (raws) => handIn(rpc, raws),
    async receipts(hashes) {
      return (await rpc.batch(receiptCalls(hashes))).map((answer) => effectOf(resultOf(answer)))
    },
    close: () => rpc.close(),
  }
}

/**
 * A call to an address without code succeeds and does nothing, which is what a mint or a transfer finds when a reorg has
 * put it before its collection. Whatever we sign emits an event, but for what only uses up a nonce: a success without one
 * counts as the revert that it should be. A node that leaves events out has them in its bloom all the same: believed,
 * it would have a batch minted a second time.
 */
function effectOf(raw: unknown): EvmReceipt | null {
  const receipt = receiptOf(raw)
  if (receipt === null) return null
  const { logs, logsBloom = '' } = raw as { logs?: readonly unknown[]; logsBloom?: string }
  const hasEvents = logs?.length !== 0 || /[1-9a-f]/i.test(logsBloom.replace(/^0x/i, ''))
  return hasEvents ? receipt : { ...receipt, status: 'reverted' }
}

const chainIdentity = (chainId: number): Identity => ({
  method: 'eth_chainId',
  problem: (answer) => (Number(answer) === chainId ? null : `is of chain ${Number(answer)}, not of ${chainId}`),
})

const blockCall = (number: number) => ({ method: 'eth_getBlockByNumber', params: [quantity(number), false] })
const hashOf = (answer: RpcAnswer): Hex | null => (resultOf(answer) as { hash: Hex } | null)?.hash ?? null

const quantity = (value: number): Hex => `0x${value.toString(16)}`

function resultOf(answer: RpcAnswer | undefined): unknown {
  if (answer === undefined) return null
  if ('error' in answer) throw answer.error
  return answer.result
}

/**
 * Hands signed transactions to a network. Nodes refuse in many words what they have already ("already known", "nonce
 * too low", "replacement transaction underpriced", and on Frontier all of it as an internal error); none is believed: the
 * hash is looked up.
 */
async function handIn(rpc: RemoteRpc, raws: readonly Hex[]): Promise<BroadcastOutcome[]> {
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
