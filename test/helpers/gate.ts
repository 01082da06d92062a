import { once } from 'node:events'

/** A point where code waits until the test opens it. It reports when it was reached. */
export function gate() {
  const events = new EventTarget()
  const reached = once(events, 'reached')
  const opened = once(events, 'open')
  const pass = async () => {
    events.dispatchEvent(new Event('reached'))
    await opened
  }
  return { reached, open: () => events.dispatchEvent(new Event('open')), pass }
}
