import type { Transport } from './transport.ts'

/** Number of requests before undici is loaded. Loading undici takes as long as hundreds of small requests. */
const MAX_LIGHT_REQUESTS = 100

/**
 * Returns a transport that passes the first `few` requests to `first`, and all others to a second transport. The second
 * transport is created when it is needed.
 */
export function growingTransport(first: Transport, few = MAX_LIGHT_REQUESTS, create = loadPool): Transport {
  let remaining = few
  let other: Promise<Transport> | undefined
  const listeners: (() => void)[] = []
  const grow = async () => {
    const created = await create()
    for (const listener of listeners) created.onDisconnect?.(listener)
    return created
  }
  return {
    async request(request) {
      if (remaining > 0) {
        remaining--
        return await first.request(request)
      }
      other ??= grow()
      return await (await other).request(request)
    },
    onDisconnect(listener) {
      listeners.push(listener)
      first.onDisconnect?.(listener)
    },
    async close() {
      await Promise.all([first.close(), other?.then((created) => created.close())])
    },
  }
}

async function loadPool(): Promise<Transport> {
  const { createPoolTransport } = await import('./pool-transport.ts')
  return createPoolTransport()
}
