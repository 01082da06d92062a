import {
  type Address,
  createClient,
  custom,
  decodeAbiParameters,
  decodeErrorResult,
  decodeFunctionResult,
  encodeFunctionData,
  getAddress,
  type Hex,
  namehash,
  parseAbi,
  RpcRequestError,
  slice,
  toHex,
} from 'viem'
import { call } from 'viem/actions'
import { mainnet } from 'viem/chains'
import { packetToBytes } from 'viem/ens'
import { ZERO_ADDRESS } from '../api/address.ts'
import type { Transport } from '../client/transport.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { computeCoinType, DEFAULT_EVM_COIN_TYPE, ETHEREUM_COIN_TYPE } from './coin-type.ts'
import { type GatewayClient, gatewayOrigin } from './gateway.ts'
import { type EnsNode, nodeFailedError, requestNode } from './node.ts'

/** The network for which a name is resolved. */
export interface EnsNetwork {
  /** The network's name in messages. */
  name: string
  chainId: number
}

/** Resolves ENS names to addresses on EVM networks. */
export interface EnsResolver {
  /**
   * Returns the address of a normalized name on a network. Uses the name's record for the network, or else its record
   * for all EVM networks. Never returns the record of another network. Resolves each name only once per network, and at
   * most 20 names at a time.
   *
   * @throws GdnError `usage` if the node isn't an Ethereum mainnet node; `refused` if the name has no such record or
   *   can't be resolved, or if the node has failed; the signal's reason once the signal is aborted
   */
  resolve(name: string, network: EnsNetwork): Promise<Address>
  /**
   * Checks that the node responds and is an Ethereum mainnet node.
   *
   * @throws GdnError `usage`, `refused`
   */
  checkNode(): Promise<void>
}

export interface EnsResolverOptions {
  node: EnsNode
  transport: Transport
  userAgent: string
  /** The client for gateways; null if names must not be resolved through gateways. */
  gateways: GatewayClient | null
  signal: AbortSignal
  /** Time limit for one name, in milliseconds. Default: 30 s. */
  timeoutMs?: number | undefined
  /** Time limit for one request to the node, in milliseconds. Default: 10 s. */
  nodeTimeoutMs?: number | undefined
}

/** The ID of the chain whose ENS registry gdn trusts. */
const ETHEREUM_CHAIN_ID = 1
const UNIVERSAL_RESOLVER = mainnet.contracts.ensUniversalResolver.address
/** Makes the universal resolver leave requests to gateways to the client. viem sends these requests. */
const BATCH_GATEWAY_URLS = ['x-batch-gateway:true']
const MAX_CONCURRENT_LOOKUPS = 20
/**
 * Maximum number of gateway lookups in one call. Without a limit, a resolver could refer to further gateways
 * indefinitely.
 */
const MAX_GATEWAY_REQUESTS = 8
const NAME_TIMEOUT_MS = 30_000
const NODE_TIMEOUT_MS = 10_000
const OFFCHAIN_LOOKUP = '0x556f1830'

const UNIVERSAL_ABI = parseAbi([
  'function resolveWithGateways(bytes name, bytes data, string[] gateways) view returns (bytes result, address resolver)',
  'error ResolverNotFound(bytes name)',
  'error ResolverNotContract(bytes name, address resolver)',
  'error UnsupportedResolverProfile(bytes4 selector)',
  'error ResolverError(bytes errorData)',
  'error HttpError(uint16 status, string message)',
])
const ADDR_ABI = parseAbi(['function addr(bytes32 node, uint256 coinType) view returns (bytes)'])
const OLD_ADDR_ABI = parseAbi(['function addr(bytes32 node) view returns (address)'])

/** The failures during a resolution. The reverts of the universal resolver contain less information. */
interface ResolutionTrace {
  nodeFailure: GdnError | null
  gatewayFailure: Error | null
  /** Origin of the gateway that received the last lookup; null if no gateway received one. */
  gatewayOrigin: string | null
  gatewayRequests: number
}

export function createEnsResolver(options: EnsResolverOptions): EnsResolver {
  const { timeoutMs = NAME_TIMEOUT_MS, signal: outer } = options
  const lookups = new Map<string, Promise<Address>>()
  const enter = queue(MAX_CONCURRENT_LOOKUPS)
  const withDeadline = createDeadlines(timeoutMs, outer)
  const checkNode = () => checkChain(options)
  let checking: Promise<void> | undefined
  /** The node's failure, after which no other names are resolved. */
  let failure: GdnError | null = null
  const onNodeFailure = (nodeFailure: GdnError) => {
    failure ??= nodeFailure
  }

  async function find(name: string, network: EnsNetwork, signal: AbortSignal): Promise<Address> {
    if (failure !== null) throw failure
    checking ??= checkNode()
    await checking
    return await resolveAddress(network, { name, options, signal, onNodeFailure })
  }

  return {
    resolve(name, network) {
      const key = `${network.chainId} ${name}`
      const before = lookups.get(key)
      if (before !== undefined) return before
      const resolving = enter(() => withDeadline(name, (signal) => find(name, network, signal)))
      lookups.set(key, resolving)
      return resolving
    },
    checkNode,
  }
}

/** The lookup of a name. */
interface NameLookup {
  name: string
  options: EnsResolverOptions
  signal: AbortSignal
  onNodeFailure(failure: GdnError): void
}

async function checkChain(options: EnsResolverOptions): Promise<void> {
  const { node, signal } = options
  const chainId = await sendRequest(options, { method: 'eth_chainId', params: [] }, signal)
  if (typeof chainId !== 'string' || !/^0x[0-9a-f]{1,16}$/i.test(chainId)) {
    throw nodeFailedError(node, 'returned an invalid chain ID')
  }
  if (Number(chainId) !== ETHEREUM_CHAIN_ID) {
    throw new GdnError('usage', `the node has the chain ID ${Number(chainId)}, but ENS names are on Ethereum (1)`, {
      place: { flag: node.setting },
      hint: 'Nothing was sent. Use the URL of an Ethereum mainnet node.',
    })
  }
}

async function sendRequest(
  { node, transport, userAgent, nodeTimeoutMs = NODE_TIMEOUT_MS }: EnsResolverOptions,
  body: { method: string; params: unknown },
  signal: AbortSignal,
): Promise<unknown> {
  return await requestNode({ node, transport, userAgent, timeoutMs: nodeTimeoutMs }, body, signal)
}

async function resolveAddress(network: EnsNetwork, lookup: NameLookup): Promise<Address> {
  const { name } = lookup
  const coinType = computeCoinType(network.chainId)
  if (coinType === null) {
    throw refusedError(
      `${name} can't have an address for ${network.name}, whose chain ID is ${network.chainId}`,
      USE_ADDRESS_HINT,
    )
  }
  const coinRecord = await readRecord(lookup, coinType)
  if (coinRecord !== null) return decodeAddress(coinRecord, name, network)
  const byDefault = await readRecord(lookup, DEFAULT_EVM_COIN_TYPE)
  if (byDefault !== null) return decodeAddress(byDefault, name, network)
  const ethereum = coinType === ETHEREUM_COIN_TYPE ? null : await readRecord(lookup, ETHEREUM_COIN_TYPE)
  throw noRecordError(name, network, coinType, ethereum)
}

/** Returns the bytes of an address record; null if it isn't set. */
async function readRecord(lookup: NameLookup, coinType: bigint): Promise<Hex | null> {
  const { name } = lookup
  const result = await readResolver(lookup, encodeFunctionData({ abi: ADDR_ABI, args: [namehash(name), coinType] }))
  if (result !== null && result !== '0x') {
    const [bytes] = decodeResponse(name, () => decodeAbiParameters([{ type: 'bytes' }], result))
    return bytes === '0x' ? null : bytes
  }
  return coinType === ETHEREUM_COIN_TYPE ? await readOldRecord(lookup) : null
}

/** Returns the address from an old resolver that doesn't support records for several coins. */
async function readOldRecord(lookup: NameLookup): Promise<Hex | null> {
  const { name } = lookup
  const result = await readResolver(lookup, encodeFunctionData({ abi: OLD_ADDR_ABI, args: [namehash(name)] }))
  if (result === null || result === '0x') return null
  const [address] = decodeResponse(name, () => decodeAbiParameters([{ type: 'address' }], result))
  return address === ZERO_ADDRESS ? null : address
}

/** Returns the result of a resolver's function; null if the resolver doesn't have the function. */
async function readResolver(lookup: NameLookup, data: Hex): Promise<Hex | null> {
  const { name, signal } = lookup
  const trace: ResolutionTrace = { nodeFailure: null, gatewayFailure: null, gatewayOrigin: null, gatewayRequests: 0 }
  try {
    return await callResolver(lookup, data, trace)
  } catch (error) {
    if (signal.aborted) throw abortReason(name, trace, signal)
    if (error instanceof GdnError) throw error
    if (trace.nodeFailure !== null) {
      lookup.onNodeFailure(trace.nodeFailure)
      throw trace.nodeFailure
    }
    const problem = revertError(name, error, trace)
    if (problem === null) return null
    throw problem
  }
}

/** Calls the universal resolver. Throws viem's errors unchanged. */
async function callResolver({ name, options, signal }: NameLookup, data: Hex, trace: ResolutionTrace): Promise<Hex> {
  const { node, gateways } = options
  const client = createClient({
    chain: mainnet,
    transport: custom(
      {
        async request(body: { method: string; params: unknown }) {
          try {
            return await sendRequest(options, body, signal)
          } catch (error) {
            if (error instanceof GdnError) trace.nodeFailure = error
            throw error
          }
        },
      },
      { retryCount: 0 },
    ),
    ccipRead:
      gateways === null
        ? false
        : { request: (gatewayRequest) => queryGateways(gateways, gatewayRequest, trace, signal) },
  })
  const args = [toHex(packetToBytes(name)), data, BATCH_GATEWAY_URLS] as const
  const calldata = encodeFunctionData({ abi: UNIVERSAL_ABI, functionName: 'resolveWithGateways', args })
  const { data: result } = await call(client, { to: UNIVERSAL_RESOLVER, data: calldata })
  if (result === undefined || result === '0x') {
    throw nodeFailedError(node, `has no ENS universal resolver at ${UNIVERSAL_RESOLVER}: the node is not in sync`)
  }
  return decodeFunctionResult({ abi: UNIVERSAL_ABI, functionName: 'resolveWithGateways', data: result })[0]
}

interface OffchainLookup {
  data: Hex
  sender: Address
  urls: readonly string[]
}

/** Sends a lookup to the gateways of a resolver in order, until one gateway responds. */
async function queryGateways(
  gateways: GatewayClient,
  { data, sender, urls }: OffchainLookup,
  trace: ResolutionTrace,
  signal: AbortSignal,
): Promise<Hex> {
  if (++trace.gatewayRequests > MAX_GATEWAY_REQUESTS) {
    trace.gatewayFailure = new Error(`its resolver requested more than ${MAX_GATEWAY_REQUESTS} gateway lookups`)
    throw trace.gatewayFailure
  }
  trace.gatewayFailure = new Error('its resolver specifies no gateway')
  for (const url of urls) {
    trace.gatewayOrigin = gatewayOrigin(url)
    try {
      const response = await gateways.lookUp(url, { data, sender: sender.toLowerCase() }, signal)
      trace.gatewayFailure = null
      return response
    } catch (error) {
      if (signal.aborted) throw error
      trace.gatewayFailure = error instanceof Error ? error : new Error(messageOf(error))
    }
  }
  throw trace.gatewayFailure
}

/** Returns the error for a reverted call; null if the resolver only lacks the function. */
function revertError(name: string, error: unknown, trace: ResolutionTrace): GdnError | null {
  if (trace.gatewayFailure !== null) {
    return refusedError(
      `${name} is resolved by a gateway, which failed: ${trace.gatewayFailure.message}`,
      TRY_AGAIN_HINT,
    )
  }
  const data = findRevertData(error)
  if (data?.startsWith(OFFCHAIN_LOOKUP)) {
    return refusedError(
      `${name} is resolved by a gateway, and --no-ccip forbids gateways`,
      'Nothing was sent. Omit --no-ccip, or use the address.',
    )
  }
  const revert = data === undefined ? null : decodeError(data)
  switch (revert?.errorName) {
    case 'UnsupportedResolverProfile':
      return null
    case 'ResolverNotFound':
      return refusedError(`${name} does not exist, or has no resolver`, CHECK_SPELLING_HINT)
    case 'ResolverNotContract':
      return refusedError(`${name} has a resolver that is not a contract`, ASK_OWNER_HINT)
    default:
      if (trace.gatewayOrigin !== null) {
        return refusedError(
          `${name} is resolved by the gateway ${trace.gatewayOrigin}, but its resolver rejected the response`,
          TRY_AGAIN_HINT,
        )
      }
      return refusedError(`${name} can't be resolved: its resolver reverted`, ASK_OWNER_HINT)
  }
}

function decodeError(data: Hex): { errorName: string } | null {
  try {
    return decodeErrorResult({ abi: UNIVERSAL_ABI, data })
  } catch {
    return null
  }
}

/** Returns the revert data in an error of viem or in its causes. */
function findRevertData(error: unknown): Hex | undefined {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof RpcRequestError) return typeof cause.data === 'string' ? (cause.data as Hex) : undefined
  }
  return undefined
}

function decodeResponse<Value>(name: string, decode: () => Value): Value {
  try {
    return decode()
  } catch {
    throw refusedError(`${name} can't be resolved: its resolver returned an invalid response`, ASK_OWNER_HINT)
  }
}

function decodeAddress(bytes: Hex, name: string, network: EnsNetwork): Address {
  if (bytes.length !== 42)
    throw refusedError(`the record of ${name} for ${network.name} is not an EVM address`, ASK_OWNER_HINT)
  const address = getAddress(slice(bytes, 0, 20))
  if (address !== ZERO_ADDRESS) return address
  throw refusedError(`${name} resolves to the zero address on ${network.name}`, ASK_OWNER_HINT)
}

function noRecordError(name: string, { name: on }: EnsNetwork, coinType: bigint, ethereum: Hex | null): GdnError {
  if (ethereum === null || coinType === ETHEREUM_COIN_TYPE) {
    return refusedError(`${name} has no address for ${on}`, ASK_OWNER_HINT)
  }
  return refusedError(
    `${name} has an address for Ethereum only, not for ${on}`,
    `Nothing was sent. Ask the owner of the name to set its address for ${on} (coin type ${coinType}), or the default EVM address. If its owner also controls ${ethereum.length === 42 ? getAddress(ethereum) : 'that address'} on ${on}, use that address.`,
  )
}

const TRY_AGAIN_HINT = 'Nothing was sent. Try again later, or use the address.'
const USE_ADDRESS_HINT = 'Nothing was sent. Use the address.'
const ASK_OWNER_HINT = 'Nothing was sent. Ask the owner of the name to fix its record, or use the address.'
const CHECK_SPELLING_HINT = 'Nothing was sent. Check the spelling, or use the address.'

const refusedError = (message: string, hint: string): GdnError => new GdnError('refused', message, { hint })

/**
 * Returns the reason for the abort. If the time limit expired, returns an error that names the gateway that received
 * the last lookup.
 */
function abortReason(name: string, { gatewayOrigin }: ResolutionTrace, { reason }: AbortSignal): unknown {
  if (!(reason instanceof DeadlineError) || gatewayOrigin === null) return reason
  return new DeadlineError(
    `${name} did not resolve within ${reason.seconds} s through the gateway ${gatewayOrigin}`,
    reason.seconds,
  )
}

class DeadlineError extends GdnError {
  readonly seconds: number

  constructor(message: string, seconds: number) {
    super('refused', message, { hint: TRY_AGAIN_HINT })
    this.seconds = seconds
  }
}

type RunWithDeadline = <Result>(name: string, work: (signal: AbortSignal) => Promise<Result>) => Promise<Result>

/**
 * Returns a function that runs work with a signal. The signal is aborted when the time limit expires or `outer` is
 * aborted.
 */
function createDeadlines(timeoutMs: number, outer: AbortSignal): RunWithDeadline {
  const running = new Set<AbortController>()
  // Use one listener for all names, because Node.js prints a warning for more than ten listeners.
  const abortAll = () => {
    for (const controller of running) controller.abort(outer.reason)
  }
  return async (name, work) => {
    outer.throwIfAborted()
    if (running.size === 0) outer.addEventListener('abort', abortAll)
    const controller = new AbortController()
    running.add(controller)
    const seconds = timeoutMs / 1000
    const late = new DeadlineError(`${name} did not resolve within ${seconds} s`, seconds)
    const timer = setTimeout(() => controller.abort(late), timeoutMs)
    try {
      return await work(controller.signal)
    } finally {
      clearTimeout(timer)
      running.delete(controller)
      if (running.size === 0) outer.removeEventListener('abort', abortAll)
    }
  }
}

/** Returns a function that starts pieces of work in order, and runs at most `limit` of them at a time. */
function queue(limit: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= limit) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
