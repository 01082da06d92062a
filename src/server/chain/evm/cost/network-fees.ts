import { decodeAbiParameters, encodeFunctionData, keccak256, numberToHex, parseAbi, serializeTransaction } from 'viem'
import { ceilDiv } from '../../../../core/ceil-div.ts'
import { GdnError } from '../../../../core/errors.ts'
import type { CurrentFees, MaxCostFees, NetworkFees } from '../../fees.ts'
import { RpcError } from '../../rpc/rpc-response.ts'
import { encodeMint } from '../collection.ts'
import { EMBEDDED_FEES } from '../evm-signer.ts'
import { type EvmNetwork, type Fees, type Hex, parseQuantity } from '../network.ts'
import type { DropGas } from './drop-gas.ts'

/** Costs of transactions in wei. */
export interface Cost {
  /** Cost of the gas. On Arbitrum, it includes the gas for data. */
  gas: bigint
  low: bigint
  typical: bigint
  high: bigint
  /** The part of each cost that pays for data, on OP Stack networks and Scroll. */
  dataFee: bigint
}

const RECENT_BLOCKS = 20
const PERCENTILES = [10, 50, 90]

/** Returns the cost of transactions at these fees. */
export function computeCost({ gas, bytes }: Pick<DropGas, 'gas' | 'bytes'>, { data, ...fees }: NetworkFees): Cost {
  const dataFee = (data.fee * BigInt(bytes)) / BigInt(data.bytes)
  const all = gas + (data.gas * BigInt(bytes)) / BigInt(data.bytes)
  const at = (price: bigint) => all * price + dataFee
  return { gas: all, low: at(fees.low), typical: at(fees.typical), high: at(fees.high), dataFee }
}

/** Returns the maximum cost of transactions that are signed at these fees. Includes a margin for rising data fees. */
export function computeMaxCost(
  { gasLimit, bytes }: Pick<DropGas, 'gasLimit' | 'bytes'>,
  { data, offered }: MaxCostFees,
): bigint {
  const length = BigInt(data.bytes)
  const gas = gasLimit + ceilDiv(data.gas * BigInt(bytes), length) * DATA_FEE_FACTOR
  return gas * offered + ceilDiv(data.fee * BigInt(bytes), length) * DATA_FEE_FACTOR
}

/** The factor by which data fees may rise. */
const DATA_FEE_FACTOR = 2n

/**
 * Reads the fees of recent blocks, the data fees, and the fees that a new transaction should offer. Rejects if a
 * request fails, or if a fee is impossibly high.
 */
export async function readNetworkFees({
  request,
  publicNetwork,
}: Pick<EvmNetwork, 'request' | 'publicNetwork'>): Promise<CurrentFees> {
  const [history, data, suggested] = await Promise.all([
    readHistory(request),
    readDataFee(request),
    publicNetwork?.suggestFees() ?? EMBEDDED_FEES,
  ])
  const prices = computePrices(history, suggested) ?? toUniformPrices(parseFee(await request('eth_gasPrice', [])))
  return { ...prices, offered: suggested.maxFeePerGas, data }
}

type RpcRequest = EvmNetwork['request']

interface FeeHistory {
  /** The base fee of each block. The additional last entry is for the next block. */
  baseFeePerGas?: unknown
  /** The priority fees of each block at the requested percentiles. */
  reward?: unknown
}

/** Returns the value if it is a list; otherwise an empty list. */
const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** A billion coins in wei. No network has fees this high. */
const IMPOSSIBLE_FEE = 10n ** 27n

/**
 * Parses a fee in wei.
 *
 * @throws GdnError `unreachable` for a fee that no network can have
 */
function parseFee(value: unknown): bigint {
  const fee = parseQuantity(value)
  if (fee >= IMPOSSIBLE_FEE) throw new GdnError('unreachable', 'a node returned an impossible fee')
  return fee
}

type Prices = Omit<CurrentFees, 'data' | 'offered'>

const readHistory = (request: RpcRequest): Promise<FeeHistory | null> =>
  nullOnRpcError(request<FeeHistory | null>('eth_feeHistory', [numberToHex(RECENT_BLOCKS), 'latest', PERCENTILES]))

const toUniformPrices = (price: bigint): Prices => ({ low: price, typical: price, high: price, base: price })

/** Returns the prices of recent blocks; null for a network without base fees. */
function computePrices(history: FeeHistory | null, suggested: Fees): Prices | null {
  const bases = toList(history?.baseFeePerGas).map(parseFee)
  const next = bases.pop()
  if (next === undefined || bases.length === 0) return null
  // Blocks without transactions have no priority fees.
  const rewards = toList(history?.reward)
    .map((fees) => toList(fees).map(parseFee))
    .filter((fees) => fees.some((fee) => fee > 0n))
  // If no block has priority fees, assume that transactions pay the suggested priority fee.
  const suggestedTip = computeTip(suggested, next)
  const reward = (index: number) =>
    rewards.length === 0
      ? suggestedTip
      : percentile(
          rewards.map((fees) => fees[index] ?? 0n),
          50,
        )
  const typical = next + reward(1)
  const low = percentile(bases, 10) + reward(0)
  const high = percentile(bases, 90) + reward(2)
  return {
    low: sortAmounts([low, typical])[0] ?? low,
    typical,
    high: sortAmounts([high, typical])[1] ?? high,
    base: next,
  }
}

/** Returns the priority fee that a transaction with these fees pays at a base fee. */
function computeTip({ maxFeePerGas, maxPriorityFeePerGas }: Fees, baseFee: bigint): bigint {
  const aboveBase = maxFeePerGas > baseFee ? maxFeePerGas - baseFee : 0n
  return aboveBase < maxPriorityFeePerGas ? aboveBase : maxPriorityFeePerGas
}

/** Returns the value at a percentile; 0 for an empty list. */
function percentile(values: readonly bigint[], percent: number): bigint {
  return sortAmounts(values)[Math.round(((values.length - 1) * percent) / 100)] ?? 0n
}

const sortAmounts = (values: readonly bigint[]): bigint[] => values.toSorted((a, b) => (a < b ? -1 : Number(a > b)))

/** `GasPriceOracle` of OP Stack networks. The data fee is paid in addition to gas. */
const OP_STACK_ORACLE = '0x420000000000000000000000000000000000000F'
/** `L1GasPriceOracle` of Scroll, which has the same function as the oracle of OP Stack networks. */
const SCROLL_ORACLE = '0x5300000000000000000000000000000000000002'
/**
 * `NodeInterface` of Arbitrum networks, which isn't a contract: nodes implement it. These networks charge gas for data.
 */
const ARBITRUM_ORACLE = '0x00000000000000000000000000000000000000C8'
const ORACLES_ABI = parseAbi([
  'function getL1Fee(bytes unsignedTransaction) view returns (uint256)',
  'function gasEstimateL1Component(address to, bool contractCreation, bytes data) payable returns (uint64 gasEstimateForL1, uint256 baseFee, uint256 l1BaseFeeEstimate)',
])

const SAMPLE_RECEIVERS = 100
const SAMPLE_GAS = 5_000_000n
const SAMPLE_FEE = 1_000_000_000n

/**
 * Reads the data fee of a typical mint. Detects the kind of network by its oracle, because other networks have no
 * contract at the oracle's address.
 */
export async function readDataFee(request: RpcRequest): Promise<NetworkFees['data']> {
  const { call, raw } = sample()
  const bytes = (raw.length - 2) / 2
  const callOracle = async (to: Hex, data: Hex): Promise<Hex | null> => {
    const response = await nullOnRpcError(request<unknown>('eth_call', [{ to, data }, 'latest']))
    return typeof response === 'string' && /^0x([0-9a-f]{64}){1,3}$/i.test(response) ? (response as Hex) : null
  }
  const fee = encodeFunctionData({ abi: ORACLES_ABI, functionName: 'getL1Fee', args: [raw] })
  const gas = encodeFunctionData({
    abi: ORACLES_ABI,
    functionName: 'gasEstimateL1Component',
    args: [OP_STACK_ORACLE, false, call],
  })
  const [opStack, scroll, arbitrum] = await Promise.all([
    callOracle(OP_STACK_ORACLE, fee),
    callOracle(SCROLL_ORACLE, fee),
    callOracle(ARBITRUM_ORACLE, gas),
  ])
  const charged = opStack ?? scroll
  if (charged !== null) return { bytes, fee: parseFee(charged.slice(0, 66)), gas: 0n }
  if (arbitrum === null) return { bytes, fee: 0n, gas: 0n }
  return { bytes, fee: 0n, gas: decodeAbiParameters([{ type: 'uint64' }], arbitrum)[0] }
}

/** Returns a sample mint to many receivers. Like real addresses, the receivers' addresses can't be compressed. */
function sample(): { call: Hex; raw: Hex } {
  const groups = Array.from({ length: SAMPLE_RECEIVERS }, (_, index) => ({
    receiver: keccak256(numberToHex(index + 1)).slice(0, 42) as Hex,
    count: 1,
  }))
  const call = encodeMint({ startId: 1000n, groups, digest: keccak256('0x') })
  const fees = { maxFeePerGas: SAMPLE_FEE, maxPriorityFeePerGas: SAMPLE_FEE }
  const raw = serializeTransaction({
    type: 'eip1559',
    chainId: 1,
    nonce: 1000,
    to: OP_STACK_ORACLE,
    gas: SAMPLE_GAS,
    data: call,
    ...fees,
  })
  return { call, raw }
}

/** Resolves with the result of a call, or with null if the node rejects the call. Rethrows any other error. */
async function nullOnRpcError<Value>(asking: Promise<Value>): Promise<Value | null> {
  try {
    return await asking
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}
