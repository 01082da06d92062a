import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { MINT_ENDPOINTS } from '../../api/mint-endpoints.ts'
import { type RunCosts, readRunCosts } from '../../client/run-costs.ts'
import { ceilDiv } from '../../core/ceil-div.ts'
import { GdnError } from '../../core/errors.ts'
import { formatCoins, maxBigint } from '../../core/units.ts'
import type { DropGas, ReservedNfts } from '../../server/chain/evm/cost/drop-gas.ts'
import type { NetworkFees } from '../../server/chain/fees.ts'
import type { Connection, Deps } from '../deps.ts'
import { findFees } from './fees.ts'
import { PLACEHOLDER_SYMBOL } from './worst-case.ts'

/** The maximum gas and data of requests, assuming a separate transaction for each. */
export type MaximumUse = Pick<DropGas, 'gasLimit' | 'bytes'>

/**
 * The part of a run's limit that a server reserves for requests. For each new NFT, the server reserves the maximum gas
 * and data per NFT of any request in the run. `changes` is the gas and data of the other requests.
 */
export type CostReservation = ReservedNfts & { changes: MaximumUse }

/** Returns the amount that a server reserves for requests without new NFTs. */
export const reservedForChanges = (changes: MaximumUse): CostReservation => ({
  nfts: 0,
  each: { gasLimit: 0n, bytes: 0 },
  changes,
})

interface LimitedRequests {
  blockchain: Blockchain
  /** The run whose limit applies to the requests. */
  run: string
  /** The cost limit of this command, in wei; null if it has none. */
  commandLimit: bigint | null
  /** The limit that is stored on this machine, in wei; null if there is none. */
  storedLimit: bigint | null
  /** Whether this is a single request that may already be accepted. */
  isOperation?: boolean
  reserved(): Promise<CostReservation>
}

/**
 * Refuses requests that may cost more than their run's remaining limit, before any of them is sent. The backend checks
 * each request separately, so it would accept the first ones and refuse the rest.
 *
 * @throws GdnError `max_cost`
 */
export async function refuseAboveLimit(
  deps: Deps,
  connection: Pick<Connection, 'client' | 'server'>,
  { blockchain, run, commandLimit, storedLimit, isOperation = false, reserved }: LimitedRequests,
): Promise<void> {
  const { client } = connection
  const { signal } = deps.signals
  await client.learnCapabilities({ signal })
  if (!isEvm(blockchain) || client.supports('runCosts') !== true) return
  const costs = await readRunCosts(connection, run, signal)
  // The request was already accepted, so its cost is already counted.
  if (isOperation && costs !== null) return
  const limit = findRunLimit({ commandLimit, storedLimit }, costs)
  if (limit === null) return
  // Use the server's fees and ignore GDN_RPC_URL, because the server accepts requests according to its own fees.
  const { fees, coin } = await findFees({ ...deps, env: {} }, {}, blockchain, async () => connection)
  const { counted, remaining } = remainingLimit(limit, costs)
  const sufficient = await estimateSufficientLimit(await reserved(), fees, { costs, maxFee: toRunMaxFee(costs) })
  const needed = sufficient - counted
  if (needed <= remaining) return
  const name = coin ?? 'coins'
  const used = counted === 0n ? '' : ` (${formatCoins(counted, 'up')} ${name} has been spent or is reserved)`
  // Omit a reason about funds, because more funds don't increase the rest of a limit.
  const waiting =
    costs?.waiting?.startsWith('waiting ') !== true ? '' : ` More may become available later: ${costs.waiting}.`
  // The backend can still spend up to the earlier limit on accepted requests.
  const before = findRunLimit({ commandLimit: null, storedLimit }, costs)
  const stays =
    before === null || before === limit ? '' : ` The limit of the run remains ${formatCoins(before)} ${name}.`
  throw new GdnError(
    'max_cost',
    `this costs at most ${formatCoins(needed, 'up')} ${name}, but only ${formatCoins(remaining, 'down')} of ${formatCoins(limit)} ${name} is left${used}`,
    {
      hint: `Nothing was sent. Run the same command with --max-cost ${formatCoins(sufficient, 'up')} or more.${stays}${waiting}`,
      details: { needed_wei: String(needed), left_wei: String(remaining), max_cost_wei: String(limit) },
    },
  )
}

/**
 * Returns the limit of a run: the limit of this command, or else the lower of the limits stored on this machine and on
 * the server.
 */
export function findRunLimit(
  { commandLimit, storedLimit }: Pick<LimitedRequests, 'commandLimit' | 'storedLimit'>,
  costs: RunCosts | null,
): bigint | null {
  const knownLimit = costs?.max_cost == null ? null : BigInt(costs.max_cost)
  return (
    commandLimit ??
    (knownLimit === null || (storedLimit !== null && storedLimit < knownLimit) ? storedLimit : knownLimit)
  )
}

/** Returns the maximum fee of a run in wei; null if it has none. */
export const toRunMaxFee = (costs: RunCosts | null): bigint | null =>
  costs?.max_fee == null ? null : BigInt(costs.max_fee)

/** Returns the maximum cost of a run's requests, in wei. Uses the network's fees, up to the run's maximum fee. */
export async function estimateMaxRunCost(use: MaximumUse, fees: NetworkFees, maxFee: bigint | null): Promise<bigint> {
  const { computeMaxCost } = await import('../../server/chain/evm/cost/network-fees.ts')
  return computeMaxCost(use, { ...fees, offered: maxFee !== null && maxFee < fees.offered ? maxFee : fees.offered })
}

/**
 * Returns the counted cost of a run after a change of its maximum fee. With a higher fee, accepted requests reserve
 * more. The result is an upper bound, because the cost of signed transactions and data fees doesn't rise with the
 * maximum fee.
 */
export function countCostAtMaxFee(costs: RunCosts | null, { offered }: NetworkFees, maxFee: bigint | null): bigint {
  const counted = BigInt(costs?.counted ?? costs?.fee_paid ?? 0)
  const before = toRunMaxFee(costs) ?? offered
  const after = maxFee === null || maxFee > offered ? offered : maxFee
  const open = counted - BigInt(costs?.fee_paid ?? 0)
  return after <= before || open <= 0n ? counted : counted - open + ceilDiv(open * after, before)
}

/**
 * Returns a limit, in wei, at which a server accepts further requests of a run. The limit is the counted amount plus
 * the amount that the server reserves for these requests. If they use more per NFT than earlier requests, the server
 * also reserves more for accepted NFTs without a transaction.
 *
 * @param maxFee the maximum fee of the run when the requests are sent, in wei
 */
export async function estimateSufficientLimit(
  { nfts, each, changes }: CostReservation,
  fees: NetworkFees,
  { costs, maxFee }: { costs: RunCosts | null; maxFee: bigint | null },
): Promise<bigint> {
  const before = { gasLimit: BigInt(costs?.nft_gas ?? 0), bytes: costs?.nft_bytes ?? 0 }
  const after = { gasLimit: maxBigint(before.gasLimit, each.gasLimit), bytes: Math.max(before.bytes, each.bytes) }
  const costOfOne = await estimateMaxRunCost(after, fees, maxFee)
  const raised = BigInt(costs?.unsigned_nfts ?? 0) * (costOfOne - (await estimateMaxRunCost(before, fees, maxFee)))
  return (
    countCostAtMaxFee(costs, fees, maxFee) +
    raised +
    BigInt(nfts) * costOfOne +
    (await estimateMaxRunCost(changes, fees, maxFee))
  )
}

/** The remaining part of a limit, in wei. */
export interface RemainingLimit {
  /** The counted cost: the paid fees, and the maximum cost of the other accepted requests. */
  counted: bigint
  /** The amount that new requests can reserve immediately. */
  remaining: bigint
  /**
   * The amount that can still be paid under the limit. It is at least `remaining`, because the unused part of a
   * reservation is released for new requests.
   */
  payable: bigint
}

export function remainingLimit(limit: bigint, costs: RunCosts | null): RemainingLimit {
  const counted = BigInt(costs?.counted ?? costs?.fee_paid ?? 0)
  // A reorg can move a transaction that isn't final to a block with higher fees, so only final fees are certain.
  const final = BigInt(costs?.final_fee_paid ?? 0)
  const paid = final < counted ? final : counted
  return { counted, remaining: limit > counted ? limit - counted : 0n, payable: limit > paid ? limit - paid : 0n }
}

/** Returns the sums of gas limits and of bytes. */
export const sumUses = (uses: readonly MaximumUse[]): MaximumUse =>
  uses.reduce((sum, { gasLimit, bytes }) => ({ gasLimit: sum.gasLimit + gasLimit, bytes: sum.bytes + bytes }), {
    gasLimit: 0n,
    bytes: 0,
  })

/** Returns the maximum gas of `count` changes, each of one NFT. */
export async function estimateMaxChangeUse(
  kind: 'update' | 'transfer' | 'burn' | 'provenance',
  count: number,
): Promise<MaximumUse> {
  const { computeMaxChangeGas } = await import('../../server/chain/evm/cost/change-gas.ts')
  const { gasLimit, bytes } = computeMaxChangeGas({ kind, tokenIds: kind === 'update' ? [1n] : [] })
  return { gasLimit: gasLimit * BigInt(count), bytes: bytes * count }
}

const CHANGE_KINDS = {
  transfernft: 'transfer',
  updatednft: 'update',
  burnnft: 'burn',
  commitprovenance: 'provenance',
} as const

const PRICED_ENDPOINTS = new Set([...Object.keys(CHANGE_KINDS), ...MINT_ENDPOINTS, 'createcollection', 'freezenft'])

/** Returns whether `estimateMaxRequestUse` supports an endpoint. */
export const isPriced = (endpoint: string): boolean => PRICED_ENDPOINTS.has(endpoint)

/** Returns the maximum gas of one request. A backend that reserves more than this may itself refuse the request. */
export async function estimateMaxRequestUse(endpoint: string, content: object): Promise<MaximumUse> {
  if (endpoint in CHANGE_KINDS)
    return await estimateMaxChangeUse(CHANGE_KINDS[endpoint as keyof typeof CHANGE_KINDS], 1)
  const [{ computeMaxChangeGas }, { computeMaxGasPerNft }] = await Promise.all([
    import('../../server/chain/evm/cost/change-gas.ts'),
    import('../../server/chain/evm/cost/drop-gas.ts'),
  ])
  const {
    metadata = [],
    nft_gdn_ids = [],
    name = '',
    royalty_bps = 0,
  } = content as Partial<{
    metadata: readonly unknown[]
    nft_gdn_ids: readonly unknown[]
    name: string
    royalty_bps: number
  }>
  switch (endpoint) {
    case 'createcollection':
      return computeMaxChangeGas({
        kind: 'collection',
        tokenIds: [],
        collection: { name, symbol: PLACEHOLDER_SYMBOL, royalty_bps },
      })
    case 'freezenft':
      // Assume consecutive token IDs, because the real ones are unknown here.
      return computeMaxChangeGas({ kind: 'freeze', tokenIds: nft_gdn_ids.map((_, index) => BigInt(index + 1)) })
    case 'createnfttrans':
    case 'createnft':
    case 'creatednft': {
      const count = metadata.length
      const [isGrant, isDynamic] = [endpoint === 'createnfttrans', endpoint === 'creatednft']
      const { gas, bytes } = computeMaxGasPerNft({ count, isGrant, isDynamic })
      return { gasLimit: BigInt(gas * count), bytes: bytes * count }
    }
    default:
      throw new Error(`the cost of ${endpoint} is not known`)
  }
}

/** Returns the typical gas of one request; null for a change, because only its maximum is known. */
export async function estimateTypicalRequestUse(
  endpoint: string,
  content: object,
): Promise<Pick<DropGas, 'gas' | 'bytes'> | null> {
  const { DropMeter, makeBytes } = await import('../../server/chain/evm/cost/drop-gas.ts')
  if (endpoint === 'createcollection') {
    const { makeGas } = await import('../../server/chain/evm/gas-limits.ts')
    const { name, royalty_bps = 0 } = content as { name: string; royalty_bps?: number }
    const collection = { name, symbol: PLACEHOLDER_SYMBOL, royaltyBps: BigInt(royalty_bps) }
    return { gas: BigInt(makeGas(collection)), bytes: makeBytes(collection) }
  }
  const {
    metadata,
    receiver_wallet_address: receiver = '',
    sender_wallet_address: sender = null,
  } = content as {
    metadata?: readonly unknown[]
    receiver_wallet_address?: string
    sender_wallet_address?: string
  }
  if (metadata === undefined || endpoint === 'updatednft') return null
  const meter = new DropMeter(endpoint === 'creatednft')
  meter.add(receiver, metadata.length, sender)
  return meter.total()
}
