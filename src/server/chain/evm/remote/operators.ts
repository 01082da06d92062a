import { GdnError } from '../../../../core/errors.ts'
import type { Signer } from '../../signers.ts'
import type { Fees, Hex } from '../network.ts'
import { readQuantity } from '../quantity.ts'
import { isOperator } from '../registry.ts'
import type { RemoteNetwork } from './remote-network.ts'

/** How long what was seen of operators counts. */
const FRESH_MS = 15_000
/** Gas that a signer must be able to pay for before anything is signed with its key: that of a large request. */
const RESERVE_GAS = 3_000_000n

/** An account that signs for a network, as it was seen last. */
export interface OperatorState {
  address: Hex
  /** Wei. */
  balance: bigint
  /** The factory takes what it signs. */
  appointed: boolean
}

export interface Operators {
  /** As they are now, or were a few seconds ago; rejects while the network can't be asked. */
  look(fees: Fees): Promise<readonly OperatorState[]>
  /** Those that may sign and can pay for it. @throws GdnError `unreachable` where none can, with why */
  able(fees: Fees): Promise<readonly Signer[]>
  /** Why none can sign, as it was seen last; null where one can. */
  readonly problem: string | null
  /** What was seen last, for metrics. */
  readonly seen: readonly OperatorState[]
}

/** Watches who may sign for a network: nothing is signed that the factory refuses, or that nobody can pay for. */
export function watchOperators(options: {
  network: Pick<RemoteNetwork, 'request' | 'blockchain'>
  factory: () => Promise<Hex>
  signers: readonly Signer[]
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
      signers.map(async ({ address }) => ({
        address,
        balance: readQuantity(await network.request('eth_getBalance', [address, 'latest'])),
        appointed: await isOperator(network, factory, address),
      })),
    )
    seenAt = now()
    return seen
  }

  const look = async (fees: Fees): Promise<readonly OperatorState[]> => {
    const isFresh = now() >= seenAt && now() - seenAt < FRESH_MS && problem === null
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
      const able = new Set(states.filter((state) => canSign(state, fees)).map(({ address }) => address))
      return signers.filter(({ address }) => able.has(address))
    },
    get problem() {
      return problem
    },
    get seen() {
      return seen
    },
  }
}

const canSign = ({ balance, appointed }: OperatorState, fees: Fees) => appointed && balance >= reserve(fees)

/** Wei that a signer must have. */
export const reserve = ({ maxFeePerGas }: Fees): bigint => maxFeePerGas * RESERVE_GAS

function problemOf(blockchain: string, states: readonly OperatorState[], fees: Fees): string | null {
  if (states.some((state) => canSign(state, fees))) return null
  if (!states.some(({ appointed }) => appointed)) {
    return `no signer of ${blockchain} is appointed by its factory; gdn chain setup ${blockchain} does that`
  }
  return `no signer of ${blockchain} has enough funds to pay for gas`
}
