import { keccak256 } from 'viem'
import { chainIdOf, type EvmBlockchain } from '../../../../api/blockchains.ts'
import { chunksOf } from '../../../../core/chunks-of.ts'
import { hexQuantity } from '../../../../core/hex-quantity.ts'
import { createProviders, type Providers, type RpcOutcome } from '../../rpc/providers.ts'
import type { RpcResponse } from '../../rpc/rpc-response.ts'
import {
  type BroadcastOutcome,
  type EvmNetwork,
  type EvmReceipt,
  type Hex,
  type PublicNetwork,
  parseQuantity,
  type RawLog,
} from '../network.ts'
import { parseReceipt } from '../receipt.ts'
import { readFees } from './fees.ts'
import { connectRemote, type NodeIdentity, type RemoteRpc } from './json-rpc.ts'

export interface RemoteNetworkOptions {
  blockchain: EvmBlockchain
  /**
   * The chain ID. Required if the blockchain's name has no known chain ID, or if the network has a different chain ID.
   */
  chainId?: number
  /** URLs of the network's nodes, the preferred one first. */
  urls: readonly string[]
  /**
   * Number of blocks, including the transaction's own block, after which a successful transaction counts as confirmed.
   */
  confirmations: number
  /** Number of blocks until finality; at least `confirmations`. */
  finality: number
  pollMs?: number | undefined
  stuckMs?: number
  /** Maximum gas price in wei. */
  feeCap?: bigint
  /** Maximum number of pending mint transactions per collection. */
  mintsInFlight?: number
  timeoutMs?: number
  maxAttempts?: number
  retryMs?: number
  /**
   * The rate limits of the providers, and the pauses between requests to them. All requests of this process share them.
   */
  providers?: Providers
  /** Called for each request, with the host of the node. */
  onRequest?: (host: string, outcome: RpcOutcome) => void
  /** Aborts every request. The signal's reason becomes the error. */
  signal?: AbortSignal | undefined
}

export interface RemoteNetwork extends EvmNetwork {
  readonly publicNetwork: PublicNetwork
  /** Aborts requests in flight. */
  close(): Promise<void>
}

const POLL_MS = 2_000
const STUCK_MS = 60_000
const DEFAULT_FEE_CAP_WEI = 1_000_000_000_000n
/**
 * Default limit of pending mint transactions: every node keeps this many pending transactions per account (geth: 16).
 */
export const MINTS_IN_FLIGHT = 16
/**
 * Maximum number of blocks in one batch. One node answers up to 100 calls together, one of which reads the newest
 * block.
 */
const MAX_BLOCKS_PER_BATCH = 99

/**
 * Connects to the network of a blockchain behind RPC URLs. Sends no request to a node before it has returned the right
 * chain ID, because transactions could have unintended effects on another chain.
 *
 * @example
 * const urls = ['https://node.example']
 * const network = createRemoteNetwork({ blockchain: 'polygon', urls, confirmations: 5, finality: 64 })
 */
export function createRemoteNetwork(options: RemoteNetworkOptions): RemoteNetwork {
  const { blockchain, urls, confirmations, finality, feeCap = DEFAULT_FEE_CAP_WEI } = options
  if (confirmations < 1 || finality < confirmations)
    throw new RangeError('finality must not be less than confirmations')
  const chainId = options.chainId ?? chainIdOf(blockchain)
  if (chainId === null) throw new RangeError(`the chain ID of ${blockchain} is not known`)
  const { timeoutMs, maxAttempts, retryMs, providers = createProviders(), onRequest = () => {}, signal } = options
  const identity = chainIdentity(chainId)
  const rpc = connectRemote({ urls, identity, timeoutMs, maxAttempts, retryMs, providers, onRequest, signal })

  const head = async () => Number(parseQuantity(await rpc.call('eth_blockNumber', [])))
  const receiptCalls = (hashes: readonly Hex[]) =>
    hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))

  const publicNetwork: PublicNetwork = {
    pollMs: options.pollMs ?? POLL_MS,
    stuckMs: options.stuckMs ?? STUCK_MS,
    finality,
    feeCap,
    mintsInFlight: options.mintsInFlight ?? MINTS_IN_FLIGHT,
    head,

    async blockHashes(numbers, head) {
      if (head === undefined) return (await rpc.batch(numbers.map(blockCall))).map(parseBlockHash)
      const hashes: (Hex | null)[] = []
      for (const chunk of chunksOf(numbers, MAX_BLOCKS_PER_BATCH)) {
        const [top = null, ...response] = (await rpc.batch([head, ...chunk].map(blockCall))).map(parseBlockHash)
        hashes.push(...response.map((hash) => (top === null ? null : hash)))
      }
      return hashes
    },

    async logs(filters, blocks) {
      const logCalls = filters.map(({ from, to, addresses: address, topics }) => ({
        method: 'eth_getLogs',
        params: [{ fromBlock: hexQuantity(from), toBlock: hexQuantity(to), address, topics: [topics] }],
      }))
      const responses = await rpc.batch([...logCalls, ...blocks.map(blockCall)])
      return {
        logs: responses.slice(0, logCalls.length).flatMap((response) => (unwrapResult(response) ?? []) as RawLog[]),
        hashes: responses.slice(logCalls.length).map(parseBlockHash),
      }
    },

    async nextNonce(account, block) {
      const at = block === undefined ? 'latest' : hexQuantity(block)
      return Number(parseQuantity(await rpc.call('eth_getTransactionCount', [account, at])))
    },

    async balance(account) {
      return parseQuantity(await rpc.call('eth_getBalance', [account, 'latest']))
    },

    async isNonceForeign({ signer, nonce, hashes }) {
      const deep = (await head()) - finality + 1
      // Read old state only if the result depends on it, because not every node has it.
      if (deep < 0 || (await publicNetwork.nextNonce(signer)) <= nonce) return false
      // Send one batch, so that one node responds to all calls. A node whose count includes the nonce also has the
      // transaction that used it.
      const [count, ...receipts] = await rpc.batch([
        { method: 'eth_getTransactionCount', params: [signer, hexQuantity(deep)] },
        ...receiptCalls(hashes),
      ])
      return (
        parseQuantity(unwrapResult(count)) > BigInt(nonce) &&
        receipts.every((receipt) => unwrapResult(receipt) === null)
      )
    },

    suggestFees: () => readFees(rpc, feeCap),
  }

  return {
    blockchain,
    chainId,
    confirmations,
    publicNetwork,
    request: (method, params) => rpc.call(method, params),
    broadcast: (raws) => submit(rpc, raws),
    async receipts(hashes) {
      return (await rpc.batch(receiptCalls(hashes))).map((response) => parseEffectiveReceipt(unwrapResult(response)))
    },
    close: () => rpc.close(),
  }
}

/**
 * Returns a receipt in which a success without effect counts as a revert. A call to an address without code succeeds
 * without effect. This can happen to a mint or transfer if a reorg places it before the deployment of its collection.
 *
 * Every transaction that gdn signs calls or deploys a contract that emits an event, except transactions that only use a
 * nonce. Events of other contracts don't count, because on Polygon each transaction has one for its fee. A node that
 * omits events still returns their bloom filter in the receipt. If the bloom filter weren't checked, a bundle would be
 * minted a second time.
 */
function parseEffectiveReceipt(raw: unknown): EvmReceipt | null {
  const receipt = parseReceipt(raw)
  if (receipt === null) return null
  return hasOwnEvents(raw as ReceiptEvents) ? receipt : { ...receipt, status: 'reverted' }
}

interface ReceiptEvents {
  to?: string | null
  contractAddress?: string | null
  logs?: readonly { address?: string }[] | null
  logsBloom?: string | null
}

function hasOwnEvents({ to, contractAddress, logs, logsBloom }: ReceiptEvents): boolean {
  if (!logs) return true
  if (logs.length === 0) return /[1-9a-f]/i.test((logsBloom ?? '').replace(/^0x/i, ''))
  const contract = (to ?? contractAddress)?.toLowerCase()
  return (
    contract === undefined || logs.some(({ address }) => address === undefined || address.toLowerCase() === contract)
  )
}

/** Returns the check that a node belongs to the EVM network with this chain ID. */
export const chainIdentity = (chainId: number): NodeIdentity => ({
  method: 'eth_chainId',
  problem(response) {
    const actualId = parseQuantity(response)
    return actualId === BigInt(chainId) ? null : `belongs to chain ${actualId}, not ${chainId}`
  },
})

const blockCall = (number: number) => ({ method: 'eth_getBlockByNumber', params: [hexQuantity(number), false] })
const parseBlockHash = (response: RpcResponse): Hex | null =>
  (unwrapResult(response) as { hash: Hex } | null)?.hash ?? null

function unwrapResult(response: RpcResponse | undefined): unknown {
  if (response === undefined) return null
  if ('error' in response) throw response.error
  return response.result
}

/**
 * Submits signed transactions to a network. Nodes reject known transactions with various messages ("already known",
 * "nonce too low", "replacement transaction underpriced", and on Frontier always as an internal error). Messages aren't
 * reliable, so the hash is looked up.
 */
async function submit(rpc: RemoteRpc, raws: readonly Hex[]): Promise<BroadcastOutcome[]> {
  const calls = raws.map((raw) => ({ method: 'eth_sendRawTransaction', params: [raw] }))
  const responses = await rpc.batch(calls, { refusals: true })
  const hashes = raws.map((raw) => keccak256(raw))
  const refused = hashes.filter((_, index) => 'error' in (responses[index] ?? {}))
  const transactions = await rpc.batch(refused.map((hash) => ({ method: 'eth_getTransactionByHash', params: [hash] })))
  const knownHashes = new Set(refused.filter((hash, index) => isTransaction(transactions[index], hash)))
  return hashes.map((hash, index): BroadcastOutcome => {
    const response = responses[index]
    if (response === undefined || 'result' in response) return { hash, outcome: 'accepted' }
    if (knownHashes.has(hash)) return { hash, outcome: 'known' }
    return { hash, outcome: 'rejected', reason: response.error.message }
  })
}

function isTransaction(response: RpcResponse | undefined, hash: Hex): boolean {
  if (response === undefined || 'error' in response || response.result === null) return false
  return (response.result as { hash?: Hex }).hash === hash
}
