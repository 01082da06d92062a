import type * as z from 'zod'
import type { getpresignedurl } from '../../../api/endpoints/getpresignedurl.ts'
import { createTransport } from '../../../client/create-transport.ts'
import { proxyOf } from '../../../config/proxy.ts'
import { messageOf } from '../../../core/errors.ts'
import type { WalletSource } from '../../../wallet/generate.ts'
import { checkSignedUrl } from '../../../wallet/signed-url.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { VERSION } from '../../version.ts'

/** Longer than the timeout of other requests, because the response can't be requested again. */
const RESPONSE_TIMEOUT_MS = 120_000

type Request = z.output<typeof getpresignedurl.request>

/** Returns a validated signed URL from the server. The request has no effect, so transient failures are retried. */
export async function signedUrl(deps: Deps, { client, settings }: Connection, request: Request): Promise<URL> {
  const { response } = await client.call('getpresignedurl', request, { signal: deps.signals.signal })
  return checkSignedUrl(response.url, { baseUrl: client.baseUrl, walletUrl: settings.walletUrl })
}

/** Generates wallets with signed URLs of the server. Each URL is called once, without the API key. */
export async function walletSource(
  deps: Deps,
  connection: Connection,
  request: Request,
): Promise<WalletSource & { close(): Promise<void> }> {
  const { io, env, signals } = deps
  const proxy = connection.server.loopback ? undefined : proxyOf(env)
  const transport = await createTransport('single', { proxy })
  return {
    signedUrl: () => signedUrl(deps, connection, request),
    async call(url) {
      const started = performance.now()
      // Omits the query and the response body, because they are secret.
      const debug = (what: string) =>
        io.debug(safe(`POST ${url.origin}${url.pathname} -> ${what} in ${Math.round(performance.now() - started)} ms`))
      try {
        const response = await transport.request({
          method: 'POST',
          url: url.href,
          headers: { 'user-agent': `gdn/${VERSION}`, accept: 'application/json' },
          body: new Uint8Array(),
          timeoutMs: RESPONSE_TIMEOUT_MS,
          // The first Ctrl-C doesn't abort the request, because the response is the only copy of a key.
          signal: signals.again,
        })
        debug(`${response.status}, ${response.body.length} bytes`)
        return response
      } catch (error) {
        debug(messageOf(error))
        throw error
      }
    },
    close: () => transport.close(),
  }
}
