import { useEffect, useState } from 'preact/hooks'
import { routeOf } from './routes.ts'

interface KeptState {
  y?: number
}

const listeners = new Set<() => void>()
let isReturnVisit = false

/** Returns whether the page was reached with Back, Forward or a reload. If so, its state is restored. */
export const isReturning = () => isReturnVisit

/** Returns the scroll position of a restored page; 0 for other pages. */
export const keptScroll = (): number => (isReturnVisit ? ((history.state as KeptState | null)?.y ?? 0) : 0)

function notifyChange(isReturn: boolean): void {
  isReturnVisit = isReturn
  for (const listener of listeners) listener()
}

/** Navigates to another page of the explorer, like a click on a link. */
export function go(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path)
  else {
    keepScroll()
    history.pushState(null, '', path)
  }
  notifyChange(false)
}

function keepScroll(): void {
  history.replaceState({ ...(history.state as KeptState | null), y: scrollY }, '')
}

/** Returns the URL of a clicked link within the explorer; null if the browser should handle the click. */
function linkTarget(event: MouseEvent): URL | null {
  if (event.defaultPrevented || event.button !== 0) return null
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return null
  const link = event.target instanceof Element ? event.target.closest('a') : null
  if (link === null || link.hasAttribute('download') || (link.target !== '' && link.target !== '_self')) return null
  const url = new URL(link.href, location.href)
  if (url.origin !== location.origin || routeOf(url).page === 'unknown') return null
  return url
}

let scrollTimer: ReturnType<typeof setTimeout> | undefined

/** Starts handling the links and the history of the page. */
export function startNavigation(): void {
  history.scrollRestoration = 'manual'
  document.addEventListener('click', (event) => {
    const url = linkTarget(event)
    if (url === null) return
    event.preventDefault()
    if (url.href !== location.href) go(url.pathname + url.search)
    else scrollTo({ top: 0 })
  })
  addEventListener('popstate', () => notifyChange(true))
  addEventListener(
    'scroll',
    () => {
      clearTimeout(scrollTimer)
      scrollTimer = setTimeout(keepScroll, 200)
    },
    { passive: true },
  )
  addEventListener('pagehide', keepScroll)
  // A reload also restores the page.
  const [entry] = performance.getEntriesByType('navigation')
  isReturnVisit = entry instanceof PerformanceNavigationTiming && entry.type !== 'navigate'
}

/** Returns the path and query of the page, and updates them on navigation. */
export function useAddress(): string {
  const read = () => location.pathname + location.search
  const [address, setAddress] = useState(read)
  useEffect(() => {
    const listener = () => {
      clearTimeout(scrollTimer)
      setAddress(read())
    }
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, [])
  return address
}
