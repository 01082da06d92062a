import type { ProxyOptions } from './pool-transport.ts'
import type { Transport } from './transport.ts'
import type { OnExchange } from './watched-transport.ts'

export type TransportKind = 'single' | 'bulk'

export interface TransportOptions {
  proxy?: ProxyOptions | undefined
  /** Called after every exchange. Used for `--debug`. */
  onExchange?: OnExchange | undefined
}

/**
 * Creates the transport for a command that sends a few requests (`single`), or possibly many (`bulk`). Loads undici
 * only once there are many, or for a proxy, because loading it takes half of the run time of a short command.
 *
 * @example
 * const transport = await createTransport('single')
 */
export async function createTransport(
  kind: TransportKind,
  { proxy, onExchange }: TransportOptions = {},
): Promise<Transport> {
  const transport = await bareTransport(kind, proxy)
  if (onExchange === undefined) return transport
  const { watched } = await import('./watched-transport.ts')
  return watched(transport, onExchange)
}

async function bareTransport(kind: TransportKind, proxy: ProxyOptions | undefined): Promise<Transport> {
  if (proxy !== undefined) return await loadPool(proxy)
  const { createLightTransport } = await import('./light-transport.ts')
  if (kind === 'single') return createLightTransport()
  return growingTransport(createLightTransport())
}

/** Number of requests before undici is loaded. Loading it takes as long as hundreds of small requests. */
const FEW_REQUESTS = 100

/** Passes the first `few` requests to one transport, and all others to another, which is created when it is needed. */
export function growingTransport(
  first: Transport,
  few = FEW_REQUESTS,
  create: () => Promise<Transport> = loadPool,
): Transport {
  let left = few
  let other: Promise<Transport> | undefined
  const listeners: (() => void)[] = []
  const grow = async () => {
    const created = await create()
    for (const listener of listeners) created.onDisconnect?.(listener)
    return created
  }
  return {
    async request(request) {
      if (left > 0) {
        left--
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

async function loadPool(proxy?: ProxyOptions): Promise<Transport> {
  const { createPoolTransport } = await import('./pool-transport.ts')
  return createPoolTransport({ proxy })
}
