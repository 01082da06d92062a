import { messageOf } from '../../../core/errors.ts'

/** Whoever asks whether a network is there gets an answer that isn't older, but for what the network takes. */
const FRESH_MS = 3_000
/** A network that is asked for so long counts as away before it has failed. */
const SILENT_MS = 10_000

export interface NetworkWatch {
  /** Finds out how things are; what keeps it from knowing is what is seen. */
  look(): void
  /** Why nothing can be done there, as it was seen last; null where it can. */
  seen(): Promise<string | null>
}

/** What was seen last of a network, looked at by one at a time. */
export function watchNetwork(ask: () => Promise<string | null>): NetworkWatch {
  let last: { reason: string | null; at: number } | null = null
  let asking: { since: number; seen: Promise<string | null> } | null = null
  const begin = () => {
    const seen = ask()
      .catch((error: unknown) => messageOf(error))
      .then((reason) => {
        last = { reason, at: performance.now() }
        asking = null
        return reason
      })
    asking = { since: performance.now(), seen }
    return asking
  }
  return {
    look() {
      asking ??= begin()
    },
    async seen() {
      const now = performance.now()
      if (last === null) return await (asking ?? begin()).seen
      if (asking !== null && now - asking.since > SILENT_MS) return 'no node answers'
      if (now - last.at > FRESH_MS) asking ??= begin()
      return last.reason
    },
  }
}
