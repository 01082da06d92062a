import type { ProxyOptions } from './pool-transport.ts'
import type { Transport } from './transport.ts'
import type { OnExchange } from './watch-transport.ts'

export type TransportKind = 'single' | 'bulk'

export interface TransportOptions {
  proxy?: ProxyOptions | undefined
  /** Called after every exchange. Used for `--debug`. */
  onExchange?: OnExchange | undefined
}

/**
 * Creates the transport for a command that sends a few requests (`single`), or possibly many (`bulk`). Loads undici
 * only after many requests or for a proxy, because loading undici takes half of a short command's run time.
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
  const { watchTransport } = await import('./watch-transport.ts')
  return watchTransport(transport, onExchange)
}

async function bareTransport(kind: TransportKind, proxy: ProxyOptions | undefined): Promise<Transport> {
  if (proxy !== undefined) {
    const { createPoolTransport } = await import('./pool-transport.ts')
    return createPoolTransport({ proxy })
  }
  const { createLightTransport } = await import('./light-transport.ts')
  if (kind === 'single') return createLightTransport()
  const { growingTransport } = await import('./growing-transport.ts')
  return growingTransport(createLightTransport())
}
