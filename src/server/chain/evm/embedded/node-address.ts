import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

export interface NodeAddress {
  host: string
  /** The port; 0 for any free port. */
  port: number
}

/**
 * Ports that no browser connects to ("port blocking" in the Fetch standard). Anvil accepts any Host header, and
 * WebSockets from any origin. A page that found the port could call `anvil_setBalance`, directly or by DNS rebinding.
 */
const BLOCKED_BY_BROWSERS = [6666, 6665, 6667, 6668, 6669, 6697, 6679, 6566, 10080, 4190]

/**
 * Returns an address for an embedded node that a web page can neither reach nor guess. On Linux and Windows, all of
 * 127.0.0.0/8 is loopback. On other systems, only 127.0.0.1 is loopback. If all of the ports above are taken, any free
 * port is used.
 */
export async function chooseNodeAddress(): Promise<NodeAddress> {
  const hidden = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`
  for (const host of [hidden, '127.0.0.1']) {
    for (const port of BLOCKED_BY_BROWSERS) {
      const outcome = await tryListening({ host, port })
      if (outcome === 'free') return { host, port }
      if (outcome === 'no such address') break
    }
  }
  return { host: '127.0.0.1', port: 0 }
}

async function tryListening(address: NodeAddress): Promise<'free' | 'taken' | 'no such address'> {
  const server = createServer()
  try {
    server.listen({ ...address, exclusive: true })
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return 'free'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EADDRINUSE' ? 'taken' : 'no such address'
  }
}
