import { GdnError } from '../../../../core/errors.ts'
import { coinOf } from '../../../settings/networks.ts'
import { missingFunds, type NeededForAll } from '../../missing-funds.ts'
import { debtOf } from '../cost/debt.ts'
import { fundsOfMints, leastFunds } from '../cost/funding.ts'
import { readDataFee } from '../cost/network-fees.ts'
import type { Fees, Hex } from '../network.ts'
import { isOperator } from '../registry.ts'
import type { Signer } from '../signers.ts'
import type { RemoteNetwork } from './remote-network.ts'

/** How long a check of operators is valid; shorter if their funds may run out. */
const FRESH_MS = 15_000
const FRESH_WHEN_POOR_MS = 2_000
/** Number of large requests that a well-funded signer can pay for: more than its transactions that wait for a block. */
const PLENTY = 250n

/** The state of a signing account as of the last check. */
export interface OperatorState {
  address: Hex
  nextNonce: number
  /** Balance in wei. */
  balance: bigint
  /** Whether the factory accepts its transactions. */
  appointed: boolean
  /** Maximum cost of pending transactions in wei: of the next one, and of all. */
  due: bigint
  owed: bigint
}

/** A signer that may sign now, and the gas that it can pay for in addition to its pending transactions. */
export interface AbleOperator {
  signer: Signer
  gas: bigint
}

export interface Operators {
  /** Returns the current state, at most a few seconds old; rejects if the network is unreachable. */
  look(fees: Fees): Promise<readonly OperatorState[]>
  /**
   * Returns those that may sign and can pay; none while pending transactions reserve their funds.
   *
   * @throws GdnError `unreachable` with the reason if nothing can be paid for
   */
  able(fees: Fees): Promise<readonly AbleOperator[]>
  /** Returns why no operator can sign, as of the last check; null if one can. */
  readonly problem: string | null
  /** Returns why no operator signs at the moment, though one could: remote signers failed. */
  readonly outage: string | null
  /** Returns the last check, for metrics. */
  readonly seen: readonly OperatorState[]
}

type WatchedNetwork = Pick<RemoteNetwork, 'request' | 'blockchain' | 'chainId' | 'publicNetwork'>

/** Watches the signers of a network: nothing is signed that the factory would reject or that can't be paid for. */
export function watchOperators(options: {
  network: WatchedNetwork
  factory: () => Promise<Hex>
  signers: readonly Signer[]
  /** Returns a signer's transactions that aren't mined yet, in nonce order. */
  waiting: (signer: Hex) => Promise<readonly Hex[]>
  /** Returns the NFTs that no transaction mints yet. */
  waitingMints: () => Promise<Parameters<typeof fundsOfMints>[0]>
  now: () => number
}): Operators {
  const { network, signers, now } = options
  let seen: readonly OperatorState[] = []
  let seenAt = Number.NEGATIVE_INFINITY
  let problem: string | null = null
  let looking: Promise<readonly OperatorState[]> | null = null
  /** What waiting NFTs need. Counting them takes longer than the check of the signers. */
  let funds: { at: number; of: NeededForAll } | null = null

  const fundsOfWaiting = async (fees: Fees): Promise<NeededForAll> => {
    if (funds !== null && now() >= funds.at && now() - funds.at < FRESH_MS) return funds.of
    const [mints, data] = await Promise.all([options.waitingMints(), readDataFee(network.request)])
    const of = fundsOfMints(mints, { offered: fees.maxFeePerGas, data })
    funds = { at: now(), of }
    return of
  }

  const ask = async (): Promise<readonly OperatorState[]> => {
    const factory = await options.factory()
    seen = await Promise.all(
      signers.map(async ({ address }) => {
        const nextNonce = await network.publicNetwork.nextNonce(address)
        const balance = await network.publicNetwork.balance(address)
        const appointed = await isOperator(network, factory, address)
        return { address, nextNonce, balance, appointed, ...debtOf(await options.waiting(address), nextNonce) }
      }),
    )
    seenAt = now()
    return seen
  }

  const look = async (fees: Fees): Promise<readonly OperatorState[]> => {
    const isPoor = seen.some(({ balance, appointed }) => appointed && balance < PLENTY * leastFunds(fees))
    const freshMs = isPoor ? FRESH_WHEN_POOR_MS : FRESH_MS
    const isFresh = now() >= seenAt && now() - seenAt < freshMs && problem === null
    if (!isFresh) {
      looking ??= ask().finally(() => {
        looking = null
      })
      await looking
    }
    problem = problemOf(network, seen, fees)
    if (problem !== null) problem = problemOf(network, seen, fees, await fundsOfWaiting(fees))
    return seen
  }

  const outage = () => {
    const problems = signers.map((signer) => signer.problem?.() ?? null)
    return problems.includes(null) ? null : (problems[0] ?? null)
  }

  return {
    look,
    async able(fees) {
      const states = await look(fees)
      const why = problem ?? outage()
      if (why !== null) throw new GdnError('unreachable', why)
      const able: AbleOperator[] = []
      for (const signer of signers) {
        const state = states.find(({ address }) => address === signer.address)
        if (state === undefined || !canSign(state, fees) || (signer.problem?.() ?? null) !== null) continue
        const isPoor = state.balance < PLENTY * leastFunds(fees)
        // Transactions signed since don't matter for a signer with ample funds.
        const { owed } = isPoor ? debtOf(await options.waiting(signer.address), state.nextNonce) : state
        const free = state.balance - owed
        if (free >= leastFunds(fees)) able.push({ signer, gas: free / fees.maxFeePerGas })
      }
      return able
    },
    get problem() {
      return problem
    },
    get outage() {
      return outage()
    },
    get seen() {
      return seen
    },
  }
}

type Funds = Pick<OperatorState, 'address' | 'balance' | 'due' | 'owed'>

const canSign = (state: Pick<OperatorState, 'appointed' | 'balance' | 'due'>, fees: Fees) =>
  state.appointed && state.balance >= neededBy(state, fees)

/** Returns the balance in wei that a signer needs to sign: for its next pending transaction, or for anything new. */
export function neededBy({ due }: Pick<Funds, 'due'>, fees: Fees): bigint {
  const least = leastFunds(fees)
  return due > least ? due : least
}

/**
 * Returns what a signer lacks to sign, as a sentence; null if it can pay.
 *
 * @param waiting what NFTs without a transaction need in addition to its pending transactions
 */
export const lackOf = (
  { blockchain, chainId }: Pick<WatchedNetwork, 'blockchain' | 'chainId'>,
  { address, balance, due, owed }: Funds,
  fees: Fees,
  waiting?: NeededForAll,
): string | null => {
  const payer = { role: 'signer', address, blockchain, coin: coinOf(chainId) } as const
  const all = waiting === undefined ? undefined : { nfts: waiting.nfts, wei: owed + waiting.wei }
  return missingFunds(payer, balance, neededBy({ due }, fees), all)
}

function problemOf(
  network: WatchedNetwork,
  states: readonly OperatorState[],
  fees: Fees,
  waiting?: NeededForAll,
): string | null {
  if (states.some((state) => canSign(state, fees))) return null
  const { blockchain } = network
  const appointed = states.filter((state) => state.appointed)
  if (appointed.length === 0) {
    return `the factory of ${blockchain} has appointed none of the signers: run \`gdn chain setup ${blockchain}\``
  }
  return appointed.map((state) => lackOf(network, state, fees, waiting)).join('; ')
}
