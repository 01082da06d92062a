import { GdnError } from '../../../../core/errors.ts'
import { findCoinSymbol } from '../../../settings/networks.ts'
import type { WaitingMint } from '../../../store/nfts.ts'
import type { NetworkFees } from '../../fees.ts'
import { describeLimitWait, describeMissingFunds, type Shortage } from '../../missing-funds.ts'
import { rememberFor } from '../../rpc/remember-for.ts'
import { computeDebt, type Debt, type PendingCall } from '../cost/debt.ts'
import { minSignerFunds, type WaitingFunds } from '../cost/funding.ts'
import { readDataFee } from '../cost/network-fees.ts'
import type { Signer } from '../evm-signer.ts'
import type { Fees, Hex } from '../network.ts'
import { isOperator } from '../registry.ts'
import type { RemoteNetwork } from './remote-network.ts'

/**
 * Time in milliseconds for which a check of the operators is valid. The time is shorter if an operator's funds may run
 * out.
 */
const STATES_FRESH_MS = 15_000
const FRESH_WITH_LOW_FUNDS_MS = 2_000
/**
 * Number of large requests that a well-funded signer can pay for. It is higher than the maximum number of pending
 * transactions per signer.
 */
const WELL_FUNDED_REQUESTS = 250n

/** The state of a signing account as of the last check. */
export interface OperatorState extends Debt {
  address: Hex
  nextNonce: number
  /** Balance in wei. */
  balance: bigint
  /** Whether the factory accepts its transactions. */
  isAuthorized: boolean
  /**
   * The operator's signed transactions that weren't in a block yet, sorted by nonce. They are read before the balance.
   */
  pending: readonly PendingCall[]
}

/**
 * A signer that the factory accepts, and the gas that the signer can pay for in addition to its pending transactions.
 */
export interface SigningOperator {
  signer: Signer
  gas: bigint
}

export interface Operators {
  /** Returns the state of the last check, at most 15 s old. Rejects if the network is unreachable. */
  readStates(fees: Fees): Promise<readonly OperatorState[]>
  /**
   * Returns the operators that may sign and can pay. Returns an empty list while their funds are reserved for pending
   * transactions.
   *
   * @throws GdnError with the reason if no operator can sign: `pending` if funds or an authorization are missing,
   *   `unreachable` if remote signers fail
   */
  listSigningOperators(fees: Fees): Promise<readonly SigningOperator[]>
  /** Returns the smallest shortage of any signer at the current fees. Returns null if a signer can sign. */
  shortage(fees: Fees): Promise<Shortage | null>
  /** Returns the signer with the most funds beyond its pending transactions; null if none is known. */
  findBestFunded(): OperatorState | null
  /** The reason why no operator can sign, as of the last check; null if one can. */
  readonly problem: string | null
  /** Equals `problem` if an operator can't pay for its next pending transaction. Null if all can. */
  readonly pendingProblem: string | null
  /**
   * The reason why no operator can sign at the moment although one can pay: the remote signers failed. Null if at least
   * one works.
   */
  readonly outage: string | null
  /** The state of the last check, for metrics. */
  readonly lastStates: readonly OperatorState[]
}

type WatchedNetwork = Pick<RemoteNetwork, 'request' | 'blockchain' | 'chainId' | 'publicNetwork'>

/**
 * Watches the signers of a network. Prevents signing transactions that the factory would reject or that the signer
 * can't pay for.
 */
export function watchOperators(options: {
  network: WatchedNetwork
  factory: () => Promise<Hex>
  signers: readonly Signer[]
  /** Returns a signer's pending transactions in nonce order. */
  readPendingCalls: (signer: Hex, fees: Fees) => Promise<readonly PendingCall[]>
  /** Returns the NFTs that have no mint transaction. */
  listUnsignedMints: () => Promise<readonly WaitingMint[]>
  /** Returns the funds that waiting mints need. */
  fundsOf: (mints: readonly WaitingMint[], fees: Fees, data: NetworkFees['data']) => Promise<WaitingFunds>
  now: () => number
}): Operators {
  const { network, signers, now } = options
  let lastStates: readonly OperatorState[] = []
  let fetchedAt = Number.NEGATIVE_INFINITY
  let problem: string | null = null
  let fetching: Promise<readonly OperatorState[]> | null = null

  const readUnsigned = () => Promise.all([options.listUnsignedMints(), readDataFee(network.request)])
  /**
   * Waiting NFTs are cached separately, because counting them takes longer than checking the signers. The needed funds
   * aren't cached, because they depend on the fees.
   */
  const recentUnsigned = rememberFor(FRESH_WITH_LOW_FUNDS_MS, readUnsigned, now)
  const fundsOf = async ([mints, data]: Awaited<ReturnType<typeof readUnsigned>>, fees: Fees) =>
    await options.fundsOf(mints, fees, data)

  const fetchStates = async (fees: Fees): Promise<readonly OperatorState[]> => {
    const factory = await options.factory()
    lastStates = await Promise.all(
      signers.map(async ({ address }) => {
        // Read the pending transactions before the balance. Otherwise, a transaction that is mined in between would be
        // missing from the list although the balance still includes its cost.
        const pending = await options.readPendingCalls(address, fees)
        const nextNonce = await network.publicNetwork.nextNonce(address)
        const balance = await network.publicNetwork.balance(address)
        const isAuthorized = await isOperator(network, factory, address)
        return { address, nextNonce, balance, isAuthorized, pending, ...computeDebt(pending, nextNonce) }
      }),
    )
    fetchedAt = now()
    return lastStates
  }

  const readStates = async (fees: Fees): Promise<readonly OperatorState[]> => {
    const hasLowFunds = lastStates.some(
      ({ balance, isAuthorized }) => isAuthorized && balance < WELL_FUNDED_REQUESTS * minSignerFunds(fees),
    )
    const freshMs = hasLowFunds ? FRESH_WITH_LOW_FUNDS_MS : STATES_FRESH_MS
    const isFresh = now() >= fetchedAt && now() - fetchedAt < freshMs && problem === null
    if (!isFresh) {
      fetching ??= fetchStates(fees).finally(() => {
        fetching = null
      })
      await fetching
    }
    // Assign all values at once, so that no caller sees the problem before the needed funds are computed.
    const lacks = describeOperatorsProblem(network, lastStates, fees) !== null
    problem = lacks
      ? describeOperatorsProblem(network, lastStates, fees, await fundsOf(await recentUnsigned(), fees))
      : null
    return lastStates
  }

  const outage = () => {
    const problems = signers.map((signer) => signer.problem?.() ?? null)
    return problems.includes(null) ? null : (problems[0] ?? null)
  }

  return {
    readStates,
    async listSigningOperators(fees) {
      const states = await readStates(fees)
      if (problem !== null) throw new GdnError('pending', problem)
      const unavailable = outage()
      if (unavailable !== null) throw new GdnError('unreachable', unavailable)
      const operators: SigningOperator[] = []
      for (const signer of signers) {
        const state = states.find(({ address }) => address === signer.address)
        if (state === undefined || !canSign(state, fees) || (signer.problem?.() ?? null) !== null) continue
        const hasLowFunds = state.balance < WELL_FUNDED_REQUESTS * minSignerFunds(fees)
        // A signer with ample funds can ignore transactions that were signed after the check. A transaction that was
        // mined after the check still counts, because the balance was read before it.
        const later = hasLowFunds ? await options.readPendingCalls(signer.address, fees) : []
        const signed = new Map([...state.pending, ...later].map((call) => [call.nonce, call]))
        const { owed } = computeDebt([...signed.values()], state.nextNonce)
        const free = state.balance - owed
        if (free >= minSignerFunds(fees)) operators.push({ signer, gas: free / fees.maxFeePerGas })
      }
      return operators
    },
    async shortage(fees) {
      if (problem === null) return null
      const waiting = await fundsOf(await readUnsigned(), fees)
      // Read the signers after the waiting NFTs. An NFT that is signed in between then counts twice instead of not at
      // all.
      const states = (await fetchStates(fees)).filter(({ isAuthorized }) => isAuthorized)
      if (states.some((state) => canSign(state, fees))) {
        problem = null
        return null
      }
      const needs = states.map((state) => ({
        signer: state.address,
        balance: state.balance,
        needed: state.owed + waiting.wei,
        reserve: waiting.reserve,
        waitingNfts: waiting.nfts,
      }))
      const lack = ({ needed, balance }: Shortage) => needed - balance
      return needs.reduce<Shortage | null>(
        (least, need) => (least === null || lack(need) < lack(least) ? need : least),
        null,
      )
    },
    findBestFunded() {
      const [first = null, ...otherStates] = lastStates.filter(({ isAuthorized }) => isAuthorized)
      const free = ({ balance, owed }: OperatorState) => balance - owed
      return otherStates.reduce((most, state) => (most !== null && free(state) > free(most) ? state : most), first)
    },
    get problem() {
      return problem
    },
    get pendingProblem() {
      return lastStates.some(({ isAuthorized, balance, due }) => isAuthorized && balance < due) ? problem : null
    },
    get outage() {
      return outage()
    },
    get lastStates() {
      return lastStates
    },
  }
}

type Funds = Debt & Pick<OperatorState, 'address' | 'balance'>

const canSign = (state: Pick<OperatorState, 'isAuthorized' | 'balance' | 'due'>, fees: Fees) =>
  state.isAuthorized && state.balance >= computeMinBalance(state, fees)

/**
 * Returns the balance in wei that a signer needs to sign: for its next pending transaction or for a new one, whichever
 * is higher.
 */
export function computeMinBalance({ due }: Pick<Funds, 'due'>, fees: Fees): bigint {
  const least = minSignerFunds(fees)
  return due > least ? due : least
}

/**
 * Returns the funds that a signer lacks, as a sentence; null if it can pay.
 *
 * @param waiting the funds that NFTs without a transaction need in addition to pending transactions
 */
export const describeSignerShortage = (
  { blockchain, chainId }: Pick<WatchedNetwork, 'blockchain' | 'chainId'>,
  { address, balance, due, owed, raised, held }: Funds,
  fees: Fees,
  waiting?: WaitingFunds,
): string | null => {
  const needed = computeMinBalance({ due }, fees)
  const payer = { role: 'signer', address, blockchain, coin: findCoinSymbol(chainId) } as const
  if (waiting === undefined) return describeMissingFunds(payer, balance, needed)
  // Additional funds would not help NFTs and transactions that wait because of the limits of their runs.
  const isHeld = waiting.nfts === 0 && waiting.held + held > 0 && balance >= (raised === 0 ? due : owed)
  if (isHeld) return describeLimitWait(payer, balance, needed, { nfts: waiting.held, transactions: held })
  const all = { nfts: waiting.nfts, pending: raised, wei: owed + (waiting.nfts === 0 ? 0n : waiting.wei) }
  return describeMissingFunds(payer, balance, needed, all)
}

function describeOperatorsProblem(
  network: WatchedNetwork,
  states: readonly OperatorState[],
  fees: Fees,
  waiting?: WaitingFunds,
): string | null {
  if (states.some((state) => canSign(state, fees))) return null
  const { blockchain } = network
  const authorized = states.filter((state) => state.isAuthorized)
  if (authorized.length === 0) {
    return `the factory of ${blockchain} has authorized none of the signers: run \`gdn chain setup ${blockchain}\``
  }
  return authorized.map((state) => describeSignerShortage(network, state, fees, waiting)).join('; ')
}
