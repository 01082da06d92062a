import { useEffect, useState } from 'preact/hooks'
import type { CollectionDetails, NftDetails, Overview, RunDetails } from '../server/explorer/types.ts'

/** The data of each event, by event name. */
export interface Events {
  overview: Overview
  run: RunDetails
  collection: CollectionDetails
  nft: NftDetails
}

export type LiveState = 'connecting' | 'live' | 'lost'

const EVENT_NAMES = ['overview', 'run', 'collection', 'nft'] as const
const FIRST_WAIT_MS = 500
const MAX_WAIT_MS = 8000
/** Time in milliseconds after which an interruption is shown. */
const LOST_DELAY_MS = 1500

let eventSource: EventSource | undefined
let eventsQuery = ''
let waitMs = FIRST_WAIT_MS
let reconnectTimer: ReturnType<typeof setTimeout> | undefined
let lostTimer: ReturnType<typeof setTimeout> | undefined
let state: LiveState = 'connecting'
let hasBeenLost = false
let isListening = false
let lastOverview: Overview | undefined

const stateListeners = new Set<(state: LiveState) => void>()
const reconnectListeners = new Set<() => void>()
const lossListeners = new Set<() => void>()
const eventListeners = new Map<string, Set<(data: never) => void>>()

function setState(next: LiveState): void {
  if (next === state) return
  state = next
  for (const listener of stateListeners) listener(next)
}

function openStream(): void {
  clearTimeout(reconnectTimer)
  eventSource?.close()
  const opened = new EventSource(`/explorer/events${eventsQuery}`)
  eventSource = opened
  opened.addEventListener('open', () => {
    waitMs = FIRST_WAIT_MS
    clearTimeout(lostTimer)
    lostTimer = undefined
    setState('live')
    if (!hasBeenLost) return
    hasBeenLost = false
    for (const listener of reconnectListeners) listener()
  })
  opened.addEventListener('error', () => {
    opened.close()
    if (eventSource === opened) handleLoss()
  })
  for (const name of EVENT_NAMES) {
    opened.addEventListener(name, ({ data }: MessageEvent<string>) => {
      const payload = JSON.parse(data)
      if (name === 'overview') lastOverview = payload
      for (const listener of eventListeners.get(name) ?? []) listener(payload as never)
    })
  }
}

function handleLoss(): void {
  hasBeenLost = true
  lostTimer ??= setTimeout(() => setState('lost'), LOST_DELAY_MS)
  // Let the listeners determine the reason, because an invalid key also closes the event stream.
  for (const listener of lossListeners) listener()
  clearTimeout(reconnectTimer)
  reconnectTimer = setTimeout(openStream, waitMs)
  waitMs = Math.min(MAX_WAIT_MS, waitMs * 2)
}

function closeStream(): void {
  clearTimeout(reconnectTimer)
  clearTimeout(lostTimer)
  lostTimer = undefined
  eventSource?.close()
  eventSource = undefined
}

// Browsers permit only six connections per server, so hidden pages close their connection.
function followVisibility(): void {
  if (!isListening) return
  if (document.visibilityState === 'hidden') {
    hasBeenLost = eventSource !== undefined
    closeStream()
  } else if (eventSource === undefined) openStream()
}
document.addEventListener('visibilitychange', followVisibility)
addEventListener('online', () => {
  if (isListening && state !== 'live') openStream()
})
addEventListener('pagehide', closeStream)
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) followVisibility()
})

/** Subscribes to the overview. A query adds the events of one item. */
export function listenTo(query: string): void {
  if (isListening && query === eventsQuery && eventSource !== undefined) return
  eventsQuery = query
  isListening = true
  if (document.visibilityState !== 'hidden') openStream()
}

export function stopListening(): void {
  isListening = false
  lastOverview = undefined
  hasBeenLost = false
  closeStream()
  setState('connecting')
}

function addListener<Value>(set: Set<Value>, value: Value): () => void {
  set.add(value)
  return () => set.delete(value)
}

export const onConnectionLoss = (listener: () => void) => addListener(lossListeners, listener)

/** Calls the listener when the connection is restored, because the page may then be out of date. */
export function useReconnect(listener: () => void): void {
  useEffect(() => addListener(reconnectListeners, listener))
}

/** Calls the listener for each event with this name. */
export function useEvent<Name extends keyof Events>(name: Name, listener: (data: Events[Name]) => void): void {
  useEffect(() => {
    const listeners = eventListeners.get(name) ?? new Set()
    eventListeners.set(name, listeners)
    return addListener(listeners, listener)
  })
}

export function useLiveState(): LiveState {
  const [shown, setShown] = useState(state)
  useEffect(() => {
    setShown(state)
    return addListener(stateListeners, setShown)
  }, [])
  return shown
}

/** Returns the current overview; undefined until it is loaded. */
export function useOverview(): Overview | undefined {
  const [shown, setShown] = useState(lastOverview)
  useEvent('overview', setShown)
  return shown ?? lastOverview
}
