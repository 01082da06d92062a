import { messageOf } from '../../../core/errors.ts'

/** Whoever asks whether a network is there gets an answer that isn't older, but for what the network takes. */
const FRESH_MS = 3_000
/** Whoever asks before anything was seen waits no longer: other networks may be there, and the database is. */
const FIRST_WITHIN_MS = 1_500
/** A network that is asked for so long counts as away before it has failed. */
const SILENT_MS = 10_000

/** What keeps a network from being worked on. */
export interface Hindrance {
  reason: string
  /** It can't be asked at all, or is another than was meant: nothing that this process does helps anybody there. */
  silent: boolean
}

const UNKNOWN: Hindrance = { reason: 'no node has answered yet', silent: true }
const SILENT: Hindrance = { reason: 'no node answers', silent: true }

export interface NetworkWatch {
  /** Finds out how things are; what keeps it from knowing is what is seen. */
  look(): void
  /** As it was seen last; null where nothing is in the way. */
  seen(): Promise<Hindrance | null>
  /** Whether whoever asks it now would wait for long: it has not answered the last one who asked. */
  hangs(): boolean
}

/**
 * What was seen last of a network, looked at by one at a time.
 *
 * @param ask tells what is in the way there, and rejects where that can't be found out
 */
export function watchNetwork(ask: () => Promise<string | null>): NetworkWatch {
  let last: { found: Hindrance | null; at: number } | null = null
  let asking: { since: number; seen: Promise<Hindrance | null> } | null = null
  /** Nobody has answered for so long as it was asked last. */
  let hung = false
  const isSilent = () => asking !== null && performance.now() - asking.since > SILENT_MS
  const begin = () => {
    const seen = ask()
      .then(
        (reason) => (reason === null ? null : { reason, silent: false }),
        (error: unknown) => ({ reason: messageOf(error), silent: true }),
      )
      .then((found) => {
        last = { found, at: performance.now() }
        hung = found?.silent === true && isSilent()
        asking = null
        return found
      })
    asking = { since: performance.now(), seen }
    return asking
  }
  const unknown = () => new Promise<Hindrance>((tell) => setTimeout(tell, FIRST_WITHIN_MS, UNKNOWN).unref())
  return {
    look() {
      asking ??= begin()
    },
    async seen() {
      const now = performance.now()
      if (last === null) return await Promise.race([(asking ?? begin()).seen, unknown()])
      if (isSilent()) return SILENT
      if (now - last.at > FRESH_MS) asking ??= begin()
      return last.found
    },
    hangs() {
      if (hung && last !== null && performance.now() - last.at > FRESH_MS) asking ??= begin()
      return hung || isSilent()
    },
  }
}
