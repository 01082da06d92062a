import { GdnError } from '../../../../core/errors.ts'
import type { Fees, Hex } from '../network.ts'
import { isOperator } from '../registry.ts'
import type { Signer } from '../signers.ts'
import { debtOf } from './cost.ts'
import type { RemoteNetwork } from './remote-network.ts'

/** How long what was seen of operators counts; less where their funds may end meanwhile. */
const FRESH_MS = 15_000
const FRESH_WHEN_POOR_MS = 2_000
/** Large requests that a signer can pay for who isn't poor. */
const PLENTY = 30n
/** Gas that a signer must be able to pay for before anything is signed with its key: that of a large request. */
const RESERVE_GAS = 3_000_000n

/** An account that signs for a network, as it was seen last. */
export interface OperatorState {
  address: Hex
  nextNonce: number
  /** Wei. */
  balance: bigint
  /** The factory takes what it signs. */
  appointed: boolean
  /** What its next transaction may cost that waits for the network, in wei, and all that wait. */
  due: bigint
  owed: bigint
}

/** A signer that may sign now, and how much gas it can pay for beyond what it has signed already. */
export interface AbleOperator {
  signer: Signer
  gas: bigint
}

export interface Operators {
  /** As they are now, or were a few seconds ago; rejects while the network can't be asked. */
  look(fees: Fees): Promise<readonly OperatorState[]>
  /**
   * Those that may sign and can pay for it; none where their funds are bound by what waits for the network.
   *
   * @throws GdnError `unreachable` where nothing can be paid for, with why
   */
  able(fees: Fees): Promise<readonly AbleOperator[]>
  /** Why none can sign, as it was seen last; null where one can. */
  readonly problem: string | null
  /** What was seen last, for metrics. */
  readonly seen: readonly OperatorState[]
}

/** Watches who may sign for a network: nothing is signed that the factory refuses, or that nobody can pay for. */
export function watchOperators(options: {
  network: Pick<RemoteNetwork, 'request' | 'blockchain' | 'publicNetwork'>
  factory: () => Promise<Hex>
  signers: readonly Signer[]
  /** What a signer has signed and the network hasn't taken yet, in the order of the nonces. */
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

  return {
    look,
    async able(fees) {
      const states = await look(fees)
      if (problem !== null) throw new GdnError('unreachable', problem)
      const able: AbleOperator[] = []
      for (const signer of signers) {
        const state = states.find(({ address }) => address === signer.address)
        if (state === undefined || !canSign(state, fees)) continue
        const isPoor = state.balance < PLENTY * reserve(fees)
        // Signed since: what one who is rich owes doesn't matter.
        const { owed } = isPoor ? debtOf(await options.waiting(signer.address), state.nextNonce) : state
        const free = state.balance - owed
        if (free >= reserve(fees)) able.push({ signer, gas: free / fees.maxFeePerGas })
      }
      return able
    },
    get problem() {
      return problem
    },
    get seen() {
      return seen
    },
  }
}

const canSign = ({ balance, appointed, due }: OperatorState, fees: Fees) =>
  appointed && balance >= reserve(fees) && balance >= due

/** Wei that a signer must have. */
export const reserve = ({ maxFeePerGas }: Fees): bigint => maxFeePerGas * RESERVE_GAS

function problemOf(blockchain: string, states: readonly OperatorState[], fees: Fees): string | null {
  if (states.some((state) => canSign(state, fees))) return null
  if (!states.some(({ appointed }) => appointed)) {
    return `no signer of ${blockchain} is appointed by its factory; gdn chain setup ${blockchain} does that`
  }
  return `no signer of ${blockchain} has enough funds to pay for gas`
}
