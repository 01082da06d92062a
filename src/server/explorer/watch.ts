import { changeMarker } from '../store/change-marker.ts'
import { findSeenCollection, showCollection } from './collections.ts'
import type { ExplorerDeps, Viewer } from './explorer.ts'
import { showNft } from './nfts.ts'
import { showOverview } from './overview.ts'
import { showRun } from './runs.ts'

/** The subjects that can be watched in addition to the overview, by event name. */
const SUBJECTS = {
  run: showRun,
  nft: showNft,
  async collection(explorer: ExplorerDeps, viewer: Viewer, id: string) {
    const collection = await findSeenCollection(explorer, viewer, id, null)
    return collection === null ? null : await showCollection(explorer, collection)
  },
} as const

export type WatchSubject = keyof typeof SUBJECTS
export const SUBJECT_NAMES = Object.keys(SUBJECTS) as WatchSubject[]

export interface WatchListener {
  viewer: Viewer
  subjects: Partial<Record<WatchSubject, string>>
  /** Sends an event. Called immediately after the listener is added, and whenever the data changes. */
  send(event: string, json: string): void
  /** Ends the stream. */
  end(): void
}

export interface Watch {
  /** Adds a listener until `removeListener` is called. Returns false if there are too many listeners. */
  addListener(listener: WatchListener): boolean
  removeListener(listener: WatchListener): void
  /** Ends all streams permanently. */
  close(): void
}

export interface WatchOptions {
  onError: (error: unknown) => void
  everyMs?: number
  /** Maximum number of listeners per account, and in total. */
  limits?: { perAccount: number; total: number }
}

/**
 * Inverse of the maximum fraction of time that is spent on polls. However, at least one poll happens every {@link
 * LONGEST_WAIT_MS}.
 */
const POLL_REST_FACTOR = 20
const MAX_WAIT_MS = 5000

/**
 * Notifies listeners of changes, with one database poll per second for all of them. A poll first checks whether
 * anything was written. If so, it reads each watched item once per account. A new listener gets its data immediately,
 * without an extra poll for the other listeners.
 */
export function createWatch(
  explorer: ExplorerDeps,
  { onError, everyMs = 1000, limits = { perAccount: 100, total: 500 } }: WatchOptions,
): Watch {
  const listeners = new Set<WatchListener>()
  /** The last data sent to each listener, by event. */
  const sentItems = new WeakMap<WatchListener, Map<string, string>>()
  let marker: string | null = null
  let isPolling = false
  let isRequestedAgain = false
  /** Time of the next poll for all listeners. */
  let next = 0
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const readItem = async (key: string, { viewer, subjects }: WatchListener): Promise<string | null> => {
    if (key === 'overview') return JSON.stringify(await showOverview(explorer, viewer))
    const id = subjects[key as WatchSubject] ?? ''
    const item = await SUBJECTS[key as WatchSubject](explorer, viewer, id)
    return item === null ? null : JSON.stringify(item)
  }

  const notifyAll = async (to: readonly WatchListener[]) => {
    const reads = new Map<string, Promise<string | null>>()
    const failures: unknown[] = []
    // Ignore an item that can't be read, so that the other items are still sent.
    const handleFailure = (error: unknown) => {
      failures.push(error)
      return null
    }
    for (const listener of to) {
      for (const event of ['overview', ...SUBJECT_NAMES.filter((name) => listener.subjects[name] !== undefined)]) {
        const id = event === 'overview' ? '' : listener.subjects[event as WatchSubject]
        const key = JSON.stringify([listener.viewer.accountId, event, id])
        const begun = reads.get(key) ?? readItem(event, listener).catch(handleFailure)
        reads.set(key, begun)
        const json = await begun
        const before = sentItems.get(listener)
        if (json === null || before === undefined || before.get(event) === json) continue
        before.set(event, json)
        listener.send(event, json)
      }
    }
    if (failures.length > 0) throw failures[0]
  }

  const poll = async () => {
    if (isPolling) {
      isRequestedAgain = true
      return
    }
    isPolling = true
    const since = performance.now()
    const isForAll = since >= next
    try {
      const present = `${await changeMarker(explorer.db)} ${explorer.slow.updateCount}`
      const hasChanged = isForAll && (present !== marker || explorer.slow.isDue())
      if (isForAll) marker = present
      await notifyAll([...listeners].filter((listener) => hasChanged || sentItems.get(listener)?.size === 0))
    } catch (error) {
      marker = null
      if (!closed) onError(error)
    } finally {
      isPolling = false
      const end = performance.now()
      if (isForAll) next = end + Math.max(everyMs, Math.min(MAX_WAIT_MS, (end - since) * POLL_REST_FACTOR))
      clearTimeout(timer)
      if (!closed && listeners.size > 0) timer = setTimeout(poll, isRequestedAgain ? 0 : Math.max(0, next - end))
      isRequestedAgain = false
    }
  }

  return {
    addListener(listener) {
      const listenersOfAccount = [...listeners].filter((other) => other.viewer.accountId === listener.viewer.accountId)
      if (closed || listeners.size >= limits.total || listenersOfAccount.length >= limits.perAccount) return false
      listeners.add(listener)
      sentItems.set(listener, new Map())
      void poll()
      return true
    },
    removeListener(listener) {
      listeners.delete(listener)
      if (listeners.size === 0) clearTimeout(timer)
    },
    close() {
      closed = true
      clearTimeout(timer)
      for (const listener of [...listeners]) listener.end()
      listeners.clear()
    },
  }
}
