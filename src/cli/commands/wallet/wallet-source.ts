import type * as z from 'zod'
import type { getpresignedurl } from '../../../api/endpoints/getpresignedurl.ts'
import { createTransport } from '../../../client/create-transport.ts'
import { readProxies } from '../../../config/proxy.ts'
import { messageOf } from '../../../core/errors.ts'
import type { WalletSource } from '../../../wallet/generate.ts'
import { checkSignedUrl } from '../../../wallet/signed-url.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { VERSION } from '../../version.ts'

/** The timeout of a wallet request, in milliseconds. It is long, because the response can't be requested again. */
const RESPONSE_TIMEOUT_MS = 120_000

type Request = z.output<typeof getpresignedurl.request>

/**
 * Returns a validated signed URL from the server. The request has no effect, so it is retried after transient failures.
 */
export async function requestSignedUrl(deps: Deps, { client, settings }: Connection, request: Request): Promise<URL> {
  const { response } = await client.call('getpresignedurl', request, { signal: deps.signals.signal })
  return checkSignedUrl(response.url, { baseUrl: client.baseUrl, walletUrl: settings.walletUrl })
}

/** Generates wallets through signed URLs of the server. Calls each URL once, without the API key. */
export async function walletSource(
  deps: Deps,
  connection: Connection,
  request: Request,
): Promise<WalletSource & { close(): Promise<void> }> {
  const { io, env, signals } = deps
  const proxy = connection.server.isLoopback ? undefined : readProxies(env)
  const transport = await createTransport('single', { proxy })
  return {
    signedUrl: () => requestSignedUrl(deps, connection, request),
    async call(url) {
      const started = performance.now()
      // The query and the response body are secret, so omit them.
      const debug = (outcome: string) =>
        io.debug(
          safe(`POST ${url.origin}${url.pathname} -> ${outcome} in ${Math.round(performance.now() - started)} ms`),
        )
      try {
        const response = await transport.request({
          method: 'POST',
          url: url.href,
          headers: { 'user-agent': `gdn/${VERSION}`, accept: 'application/json' },
          body: new Uint8Array(),
          timeoutMs: RESPONSE_TIMEOUT_MS,
          // Don't abort the request on the first Ctrl-C, because the response is the only copy of a key.
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
