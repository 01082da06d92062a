import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { isLoopbackAddress } from './hosts.ts'

interface Listening {
  listen(options: { host: string; port: number }): Promise<string>
  server: { address(): unknown }
}

/**
 * Listens on an address. Returns the server's URL, and whether other machines can reach it.
 *
 * @throws GdnError `port_in_use`, `usage`
 */
export async function listen(
  app: Listening,
  { host, port, scheme }: { host: string; port: number; scheme: 'http' | 'https' },
): Promise<{ url: string; exposed: boolean }> {
  try {
    await app.listen({ host, port })
  } catch (cause) {
    const code = systemCode(cause)
    if (code === 'EADDRINUSE') {
      throw new GdnError('port_in_use', `another program uses port ${port} on ${host}`, {
        hint: 'Choose another port with --port, or --port 0 for any free port.\nFor commands, set the same port in GDN_BASE_URL or --base-url.',
        place: { flag: '--port' },
        cause,
      })
    }
    const reason = code === 'EACCES' ? 'requires permissions that this user lacks' : `failed: ${messageOf(cause)}`
    throw new GdnError('usage', `listening on ${host}:${port} ${reason}`, {
      hint: 'Check --host and --port.',
      cause,
    })
  }
  const bound = app.server.address() as { address: string; port: number }
  const name = host.includes(':') ? `[${host}]` : host
  return { url: `${scheme}://${name}:${bound.port}`, exposed: !isLoopbackAddress(bound.address) }
}
