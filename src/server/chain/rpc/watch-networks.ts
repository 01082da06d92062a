import { maskAmounts } from '../../../core/mask-amounts.ts'
import type { Log } from '../../log.ts'
import { type NetworkProblem, watchNetwork } from './watch-network.ts'

/** Interval in milliseconds between checks of networks and signers, even while nothing is signed. */
const CHECK_INTERVAL_MS = 15_000
/** Interval in milliseconds while a problem exists, so that a recovery is noticed soon. */
const RECOVERY_CHECK_INTERVAL_MS = 3_000

export interface WatchedNetwork<Name> {
  blockchain: Name
  /** Returns the reason why the network can't be used, or null; rejects if that can't be determined. */
  ask(): Promise<string | null>
  /** Returns the problem that the last check found; null if it found none. */
  problem(): string | null
}

export interface NetworksWatch<Name> {
  /** Returns the networks that can't be used, with the reason, as of the last check. */
  unreachable(): Promise<({ blockchain: Name } & NetworkProblem)[]>
  /** Returns whether a request to this network would probably be slow. */
  isHanging(blockchain: Name): boolean
  /** Returns why no node of this network responds; null if a node does. */
  silenceReason(blockchain: Name): string | null
  stop(): void
}

/**
 * Checks networks periodically until `stop` is called. Logs when a network can't be used, when its transactions wait
 * for funds or an authorization, and when the network can be used again. A check in flight when `stop` is called isn't
 * logged.
 */
export function watchNetworks<Name>(networks: readonly WatchedNetwork<Name>[], log: Log): NetworksWatch<Name> {
  let isStopped = false
  const watches = networks.map(({ blockchain, ask, problem }) => {
    const logChange = logChanges(blockchain, log)
    const watch = watchNetwork(ask, (networkProblem) => {
      if (!isStopped) logChange(networkProblem)
    })
    return { blockchain, problem, watch }
  })
  let turns = 0
  const startChecks = () => {
    const isFullCheck = turns++ % (CHECK_INTERVAL_MS / RECOVERY_CHECK_INTERVAL_MS) === 0
    for (const { problem, watch } of watches) if (isFullCheck || problem() !== null) watch.startCheck()
  }
  const looking = setInterval(startChecks, RECOVERY_CHECK_INTERVAL_MS).unref()
  startChecks()
  return {
    async unreachable() {
      const checks = await Promise.all(
        watches.map(async ({ blockchain, watch }) => ({ blockchain, networkProblem: await watch.seen() })),
      )
      return checks.flatMap(({ blockchain, networkProblem }) =>
        networkProblem === null ? [] : [{ blockchain, ...networkProblem }],
      )
    },
    isHanging: (blockchain) => watches.find((entry) => entry.blockchain === blockchain)?.watch.isHanging() === true,
    silenceReason: (blockchain) =>
      watches.find((entry) => entry.blockchain === blockchain)?.watch.silenceReason() ?? null,
    stop() {
      isStopped = true
      clearInterval(looking)
    },
  }
}

/** Returns a function that logs a state only if it differs from the last one. */
function logChanges(blockchain: unknown, log: Log): (networkProblem: NetworkProblem | null) => void {
  let state: string | null = null
  return (networkProblem) => {
    const newState = networkProblem === null ? null : maskAmounts(networkProblem.reason)
    if (newState === state) return
    state = newState
    if (networkProblem === null) log.warn({ blockchain }, 'the network is available again')
    else {
      const message = networkProblem.isSilent ? 'the network is unavailable, and its work is delayed' : 'waiting'
      log.warn({ blockchain, reason: networkProblem.reason }, message)
    }
  }
}
