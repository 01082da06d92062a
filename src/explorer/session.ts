import { useCallback, useEffect, useState } from 'preact/hooks'
import type { ExplorerSession } from '../server/explorer/types.ts'
import { ApiError, get, onFailure } from './api.ts'
import { clearSources } from './gallery/kept-sources.ts'
import { onConnectionLoss } from './live.ts'
import { clearCache } from './resource.ts'

const RETRY_MS = 2000

export interface SessionState {
  session: ExplorerSession | undefined
  /** The error if the session can't be loaded. */
  error: ApiError | undefined
  set: (session: ExplorerSession) => void
}

/** Returns the current session. Reloads it after an outage, and when the server rejects the key. */
export function useSession(): SessionState {
  const [session, setSession] = useState<ExplorerSession>()
  const [error, setError] = useState<ApiError>()
  const set = useCallback((next: ExplorerSession) => {
    clearCache()
    clearSources()
    setSession(next)
  }, [])
  useEffect(() => {
    let isAsking = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async () => {
      if (isAsking) return
      isAsking = true
      try {
        const next = await get<ExplorerSession>('session')
        setError(undefined)
        setSession((before) => {
          const isSame = before?.open === next.open && before?.account?.email === next.account?.email
          return isSame && before?.version === next.version ? before : next
        })
      } catch (cause) {
        setError(cause instanceof ApiError ? cause : new ApiError(0, String(cause)))
        timer = setTimeout(ask, RETRY_MS)
      } finally {
        isAsking = false
      }
    }
    void ask()
    const ends = [onFailure((failure) => failure.status === 401 && void ask()), onConnectionLoss(() => void ask())]
    return () => {
      clearTimeout(timer)
      for (const end of ends) end()
    }
  }, [])
  return { session, error, set }
}

/** Returns whether the viewer has access. */
export const canView = ({ open, account }: ExplorerSession) => open || account !== null
