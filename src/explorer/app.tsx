import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { get, post } from './api.ts'
import { listenTo, stopListening, useLiveState } from './live.ts'
import { isReturning, keptScroll, useAddress } from './navigate.ts'
import { Activity } from './pages/activity.tsx'
import { Collection } from './pages/collection.tsx'
import { Go } from './pages/go.tsx'
import { Home } from './pages/home.tsx'
import { Login } from './pages/login.tsx'
import { Nft } from './pages/nft.tsx'
import { Owner } from './pages/owner.tsx'
import { Run } from './pages/run.tsx'
import { Runs } from './pages/runs.tsx'
import { Search } from './pages/search.tsx'
import { Icon } from './parts/icon.tsx'
import { Empty } from './parts/notice.tsx'
import { SearchBox } from './parts/search-box.tsx'
import { ThemeSwitch } from './parts/theme-switch.tsx'
import { type Route, routeOf } from './routes.ts'
import { canView, useSession } from './session.ts'

/** Returns the query that adds the events of a route to the overview. */
function buildEventsQuery(route: Route): string {
  switch (route.page) {
    case 'run':
    case 'collection':
    case 'nft':
      return `?${route.page}=${encodeURIComponent(route.id)}`
    default:
      return ''
  }
}

function CurrentPage({ route }: { route: Route }) {
  switch (route.page) {
    case 'home':
      return <Home />
    case 'collection':
      return <Collection key={route.id} id={route.id} />
    case 'nft':
      return <Nft key={route.id} id={route.id} />
    case 'owner':
      return <Owner key={route.address} address={route.address} />
    case 'runs':
      return <Runs />
    case 'run':
      return <Run key={route.id} id={route.id} />
    case 'activity':
      return <Activity />
    case 'search':
      return <Search q={route.q} />
    case 'go':
      return <Go q={route.q} />
    case 'unknown':
      return (
        <Empty icon="search" title="This page does not exist">
          <a href="/">Go to the home page</a>
        </Empty>
      )
  }
}

/** Restores the scroll position as soon as the page is long enough. */
function restoreScroll(wanted: number): () => void {
  const end = performance.now() + 3000
  let frame = 0
  const stop = () => {
    cancelAnimationFrame(frame)
    for (const name of ['wheel', 'touchstart', 'keydown', 'pointerdown']) removeEventListener(name, stop)
  }
  const attempt = () => {
    const canReach = document.documentElement.scrollHeight - innerHeight >= wanted - 1
    if (canReach) scrollTo({ top: wanted, behavior: 'instant' })
    if (canReach || performance.now() > end) stop()
    else frame = requestAnimationFrame(attempt)
  }
  for (const name of ['wheel', 'touchstart', 'keydown', 'pointerdown']) addEventListener(name, stop, { passive: true })
  attempt()
  return stop
}

export function App() {
  const address = useAddress()
  const route = routeOf(new URL(address, location.origin))
  const { session, error, set } = useSession()
  const sees = session !== undefined && canView(session)
  const events = buildEventsQuery(route)
  useEffect(() => {
    if (sees) listenTo(events)
    else stopListening()
  }, [sees, events])

  const main = useRef<HTMLElement>(null)
  const place = address.split('?', 1)[0]
  const isFirst = useRef(true)
  useLayoutEffect(() => {
    const wanted = keptScroll()
    if (isReturning() && wanted > 0) return restoreScroll(wanted)
    if (!isFirst.current) {
      scrollTo({ top: 0, behavior: 'instant' })
      // Focus the main element, so that screen readers notice that the page has changed.
      main.current?.focus({ preventScroll: true })
    }
    return undefined
  }, [place])
  useEffect(() => {
    isFirst.current = false
  }, [])

  const logOut = async () => {
    await post('logout', {})
    set(await get('session'))
  }
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <header class="head">
        <div class="head-in">
          <a class="brand" href="/" aria-label="gdn explorer, home">
            <Brand />
            <span>gdn</span>
          </a>
          {sees && <SearchBox />}
          <div class="head-tools">
            {sees && <LiveIndicator />}
            <ThemeSwitch />
            {session?.account != null && (
              <button
                type="button"
                class="icon-button"
                onClick={logOut}
                aria-label={`Log out${session.account.email === null ? '' : ` ${session.account.email}`}`}
                title={session.account.email ?? 'Log out'}
              >
                <Icon name="out" size={19} />
              </button>
            )}
          </div>
          <nav class="nav" aria-label="Explorer">
            {sees && <NavLinks page={route.page} />}
            <a href="/docs">API</a>
          </nav>
        </div>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {session === undefined ? (
          error !== undefined && (
            <Empty icon="alert" title="The server does not respond">
              <p role="status">Retrying…</p>
            </Empty>
          )
        ) : sees ? (
          <CurrentPage route={route} />
        ) : (
          <Login onLogin={set} />
        )}
      </main>
      {sees && <OutageNotice />}
    </>
  )
}

const Brand = () => (
  <svg class="mark" width="26" height="26" viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="9" />
    <path d="M16 7l7.8 4.5v9L16 25l-7.8-4.5v-9zM16 16v9M16 16l7.8-4.5M16 16l-7.8-4.5" />
  </svg>
)

const NAV_LINKS = [
  { href: '/', words: 'Collections', pages: ['home', 'collection', 'nft', 'owner'] },
  { href: '/runs', words: 'Runs', pages: ['runs', 'run'] },
  { href: '/activity', words: 'Activity', pages: ['activity'] },
]

const NavLinks = ({ page }: { page: Route['page'] }) => (
  <>
    {NAV_LINKS.map(({ href, words, pages }) => (
      <a
        key={href}
        href={href}
        class={pages.includes(page) ? 'here' : ''}
        aria-current={location.pathname === href ? 'page' : undefined}
      >
        {words}
      </a>
    ))}
  </>
)

const STATE_LABELS = { live: 'Live', connecting: 'Live', lost: 'Offline' } as const

function LiveIndicator() {
  const state = useLiveState()
  return (
    <span class={`live ${state}`} title={state === 'live' ? 'The page updates live' : 'Waiting for the server'}>
      <span class="dot" aria-hidden="true" />
      <span class="live-word">{STATE_LABELS[state]}</span>
    </span>
  )
}

function OutageNotice() {
  const state = useLiveState()
  return (
    <div class="outage" role="status" hidden={state !== 'lost'}>
      {state === 'lost' && (
        <>
          <Icon name="alert" size={18} />
          {navigator.onLine ? 'The server does not respond.' : 'This device is offline.'} Retrying…
        </>
      )}
    </div>
  )
}
