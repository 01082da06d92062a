import { GdnError } from '../../../../core/errors.ts'
import type { Fees, Hex } from '../network.ts'
import { isOperator } from '../registry.ts'
import type { Signer } from '../signers.ts'
import { debtOf } from './cost.ts'
import type { RemoteNetwork } from './remote-network.ts'

/** How long a check of operators is valid; shorter if their funds may run out. */
const FRESH_MS = 15_000
const FRESH_WHEN_POOR_MS = 2_000
/** Number of large requests that a well-funded signer can pay for: more than its transactions that wait for a block. */
const PLENTY = 250n
/** Gas that a signer must be able to pay for before it signs: that of a large request. */
const RESERVE_GAS = 3_000_000n

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

/** Watches the signers of a network: nothing is signed that the factory would reject or that can't be paid for. */
export function watchOperators(options: {
  network: Pick<RemoteNetwork, 'request' | 'blockchain' | 'publicNetwork'>
  factory: () => Promise<Hex>
  signers: readonly Signer[]
  /** Returns a signer's transactions that aren't mined yet, in nonce order. */
  waiting: (signer: Hex) => Promise<readonly Hex[]>
  now: () => number
}): Operators {
  const { network, signers, now } = options
  let seen: readonly OperatorState[] = []
  let seenAt = Number.NEGATIVE_INFINITY
  let problem: string | null = null
  let looking: Promise<readonly OperatorState[]> | null = null

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
    const isPoor = seen.some(({ balance, appointed }) => appointed && balance < PLENTY * reserve(fees))
    const freshMs = isPoor ? FRESH_WHEN_POOR_MS : FRESH_MS
    const isFresh = now() >= seenAt && now() - seenAt < freshMs && problem === null
    if (!isFresh) {
      looking ??= ask().finally(() => {
        looking = null
      })
      await looking
    }
    problem = problemOf(network.blockchain, seen, fees)
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
        const isPoor = state.balance < PLENTY * reserve(fees)
        // Transactions signed since don't matter for a signer with ample funds.
        const { owed } = isPoor ? debtOf(await options.waiting(signer.address), state.nextNonce) : state
        const free = state.balance - owed
        if (free >= reserve(fees)) able.push({ signer, gas: free / fees.maxFeePerGas })
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

const canSign = ({ balance, appointed, due }: OperatorState, fees: Fees) =>
  appointed && balance >= reserve(fees) && balance >= due

/** Minimum balance of a signer in wei. */
export const reserve = ({ maxFeePerGas }: Fees): bigint => maxFeePerGas * RESERVE_GAS

function problemOf(blockchain: string, states: readonly OperatorState[], fees: Fees): string | null {
  if (states.some((state) => canSign(state, fees))) return null
  if (!states.some(({ appointed }) => appointed)) {
    return `the factory of ${blockchain} has appointed none of the signers: run \`gdn chain setup ${blockchain}\``
  }
  return `no signer of ${blockchain} has enough funds to pay for gas`
}
