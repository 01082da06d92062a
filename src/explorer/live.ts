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
const LONGEST_WAIT_MS = 8000
/** Time in milliseconds after which an interruption is shown. */
const PATIENCE_MS = 1500

let source: EventSource | undefined
let about = ''
let wait = FIRST_WAIT_MS
let timer: ReturnType<typeof setTimeout> | undefined
let patience: ReturnType<typeof setTimeout> | undefined
let state: LiveState = 'connecting'
let hasBeenLost = false
let running = false
let last: Overview | undefined

const onState = new Set<(state: LiveState) => void>()
const onBack = new Set<() => void>()
const onLoss = new Set<() => void>()
const onEvent = new Map<string, Set<(data: never) => void>>()

function setState(next: LiveState): void {
  if (next === state) return
  state = next
  for (const listener of onState) listener(next)
}

function open(): void {
  clearTimeout(timer)
  source?.close()
  const opened = new EventSource(`/explorer/events${about}`)
  source = opened
  opened.addEventListener('open', () => {
    wait = FIRST_WAIT_MS
    clearTimeout(patience)
    patience = undefined
    setState('live')
    if (!hasBeenLost) return
    hasBeenLost = false
    for (const listener of onBack) listener()
  })
  opened.addEventListener('error', () => {
    opened.close()
    if (source === opened) handleLoss()
  })
  for (const name of EVENT_NAMES) {
    opened.addEventListener(name, ({ data }: MessageEvent<string>) => {
      const payload = JSON.parse(data)
      if (name === 'overview') last = payload
      for (const listener of onEvent.get(name) ?? []) listener(payload as never)
    })
  }
}

function handleLoss(): void {
  hasBeenLost = true
  patience ??= setTimeout(() => setState('lost'), PATIENCE_MS)
  // Let the listeners determine the reason, because an invalid key also closes the event stream.
  for (const listener of onLoss) listener()
  clearTimeout(timer)
  timer = setTimeout(open, wait)
  wait = Math.min(LONGEST_WAIT_MS, wait * 2)
}

function close(): void {
  clearTimeout(timer)
  clearTimeout(patience)
  patience = undefined
  source?.close()
  source = undefined
}

// Browsers permit only six connections per server, so hidden pages close their connection.
function follow(): void {
  if (!running) return
  if (document.visibilityState === 'hidden') {
    hasBeenLost = source !== undefined
    close()
  } else if (source === undefined) open()
}
document.addEventListener('visibilitychange', follow)
addEventListener('online', () => {
  if (running && state !== 'live') open()
})
addEventListener('pagehide', close)
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) follow()
})

/** Subscribes to the overview. A query adds the events of one item. */
export function listenTo(query: string): void {
  if (running && query === about && source !== undefined) return
  about = query
  running = true
  if (document.visibilityState !== 'hidden') open()
}

export function stopListening(): void {
  running = false
  last = undefined
  hasBeenLost = false
  close()
  setState('connecting')
}

function addListener<Value>(set: Set<Value>, value: Value): () => void {
  set.add(value)
  return () => set.delete(value)
}

export const onConnectionLoss = (listener: () => void) => addListener(onLoss, listener)

/** Calls the listener when the connection is restored, because the page may then be out of date. */
export function useBack(listener: () => void): void {
  useEffect(() => addListener(onBack, listener))
}

/** Calls the listener for each event with this name. */
export function useEvent<Name extends keyof Events>(name: Name, listener: (data: Events[Name]) => void): void {
  useEffect(() => {
    const listeners = onEvent.get(name) ?? new Set()
    onEvent.set(name, listeners)
    return addListener(listeners, listener)
  })
}

export function useLiveState(): LiveState {
  const [shown, setShown] = useState(state)
  useEffect(() => {
    setShown(state)
    return addListener(onState, setShown)
  }, [])
  return shown
}

/** Returns the current overview; undefined until it is loaded. */
export function useOverview(): Overview | undefined {
  const [shown, setShown] = useState(last)
  useEvent('overview', setShown)
  return shown ?? last
}
