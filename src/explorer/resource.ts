import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { BoundedMap } from '../core/bounded-map.ts'
import { ApiError, get } from './api.ts'
import { useReconnect } from './live.ts'

/** Cached responses, by path. */
const cachedResponses = new BoundedMap<unknown>(60)

/** Clears the cache, so that the next account doesn't see the previous account's data. */
export const clearCache = () => cachedResponses.clear()

export interface Resource<Answer> {
  /** The data. Data that was loaded before is available immediately. */
  data: Answer | undefined
  error: ApiError | undefined
  reload: () => void
  /** Replaces the data with data from another source, such as an event. */
  set: (answer: Answer) => void
}

/** Loads the data at a path below `/explorer/`. Reloads it after an outage. */
export function useResource<Answer>(path: string): Resource<Answer> {
  const [, draw] = useState(0)
  const state = useRef<{ path: string; error: ApiError | undefined; request: AbortController | undefined }>({
    path,
    error: undefined,
    request: undefined,
  })
  const reload = useCallback(() => {
    const { current } = state
    current.request?.abort()
    const request = new AbortController()
    Object.assign(current, { path, request })
    get<Answer>(path, request.signal).then(
      (answer) => {
        if (request.signal.aborted) return
        cachedResponses.set(path, answer)
        current.error = undefined
        draw((n) => n + 1)
      },
      (error: unknown) => {
        if (request.signal.aborted) return
        current.error = error instanceof ApiError ? error : new ApiError(0, String(error))
        draw((n) => n + 1)
      },
    )
  }, [path])
  useEffect(() => {
    state.current.error = undefined
    reload()
    return () => state.current.request?.abort()
  }, [reload])
  useReconnect(reload)
  const set = useCallback(
    (answer: Answer) => {
      state.current.request?.abort()
      state.current.error = undefined
      cachedResponses.set(path, answer)
      draw((n) => n + 1)
    },
    [path],
  )
  const error = state.current.path === path ? state.current.error : undefined
  return { data: cachedResponses.get(path) as Answer | undefined, error, reload, set }
}
