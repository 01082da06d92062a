import { messageOf } from '../../../core/errors.ts'

/**
 * Maximum age of a result in milliseconds. If the last result is older, the next caller starts another check, but
 * doesn't wait for it.
 */
const RESULT_FRESH_MS = 3_000
/**
 * Maximum wait for the first result in milliseconds. The limit lets a backend with a slow network use its other
 * networks and the database.
 */
const FIRST_WITHIN_MS = 1_500
/** Time in milliseconds after which a check counts as "no response", even before it fails. */
const SILENT_MS = 10_000

/** The reason why a network can't be used. */
export interface NetworkProblem {
  reason: string
  /** Whether the network is unreachable or is the wrong network. If so, other processes can't use it either. */
  isSilent: boolean
}

const UNKNOWN: NetworkProblem = { reason: 'no node has responded yet', isSilent: true }
const UNREACHABLE_NETWORK: NetworkProblem = { reason: 'no node responds', isSilent: true }

export interface NetworkWatch {
  /** Starts a check unless one is in flight. If the check fails, its error becomes the result. */
  startCheck(): void
  /** Returns the last result; null if the network is usable. */
  seen(): Promise<NetworkProblem | null>
  /** Returns why no node responded to the last check; null if a node did. */
  silenceReason(): string | null
  /**
   * Returns whether a request would probably be slow, because the current or the last check got no response in time.
   */
  isHanging(): boolean
}

/**
 * Caches the last result for a network, with one check at a time.
 *
 * @param ask returns the reason why work on the network is impossible, or null; rejects if that can't be determined
 * @param onSeen called with each result
 */
export function watchNetwork(
  ask: () => Promise<string | null>,
  onSeen: (networkProblem: NetworkProblem | null) => void = () => {},
): NetworkWatch {
  let last: { found: NetworkProblem | null; at: number } | null = null
  let currentCheck: { since: number; seen: Promise<NetworkProblem | null> } | null = null
  /** Whether the last check took longer than {@link SILENT_MS} to fail. */
  let hasLastCheckHung = false
  const isOverdue = () => currentCheck !== null && performance.now() - currentCheck.since > SILENT_MS
  const begin = () => {
    const seen = ask()
      .then(
        (reason) => (reason === null ? null : { reason, isSilent: false }),
        (error: unknown) => ({ reason: messageOf(error), isSilent: true }),
      )
      .then((networkProblem) => {
        last = { found: networkProblem, at: performance.now() }
        hasLastCheckHung = networkProblem?.isSilent === true && isOverdue()
        currentCheck = null
        onSeen(networkProblem)
        return networkProblem
      })
    currentCheck = { since: performance.now(), seen }
    return currentCheck
  }
  const unknown = () => new Promise<NetworkProblem>((resolve) => setTimeout(resolve, FIRST_WITHIN_MS, UNKNOWN).unref())
  return {
    startCheck() {
      currentCheck ??= begin()
    },
    async seen() {
      const now = performance.now()
      if (last === null) return await Promise.race([(currentCheck ?? begin()).seen, unknown()])
      if (isOverdue()) return UNREACHABLE_NETWORK
      if (now - last.at > RESULT_FRESH_MS) currentCheck ??= begin()
      return last.found
    },
    silenceReason() {
      if (isOverdue()) return UNREACHABLE_NETWORK.reason
      return last?.found?.isSilent === true ? last.found.reason : null
    },
    isHanging() {
      if (hasLastCheckHung && last !== null && performance.now() - last.at > RESULT_FRESH_MS) currentCheck ??= begin()
      return hasLastCheckHung || isOverdue()
    },
  }
}
