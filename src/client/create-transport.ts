import type { ProxyOptions } from './pool-transport.ts'
import type { Transport } from './transport.ts'

export type TransportKind = 'single' | 'bulk'

/**
 * The transport for a command that makes a few requests (`single`) or many (`bulk`). Loads only what it needs: undici
 * costs a single command half of its time. A proxy always takes undici.
 *
 * @example
 * const transport = await createTransport('single')
 */
export async function createTransport(kind: TransportKind, options: { proxy?: ProxyOptions } = {}): Promise<Transport> {
  if (kind === 'single' && options.proxy === undefined) {
    const { createLightTransport } = await import('./light-transport.ts')
    return createLightTransport()
  }
  const { createPoolTransport } = await import('./pool-transport.ts')
  return createPoolTransport(options)
}
