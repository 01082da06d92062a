import { resolve } from 'node:path'
import { env } from 'node:process'
import type { ApiVersion } from '../api/versions.ts'
import type { ApiClient } from '../client/api-client.ts'
import type { IdentifiedBackend } from '../client/backend.ts'
import { checkKey, parseBaseUrl } from '../client/base-url.ts'
import type { Transport } from '../client/transport.ts'
import { paceDirectories, stateDirectory } from '../config/paths.ts'
import { readProxies } from '../config/proxy.ts'
import { GdnError } from '../core/errors.ts'
import { isLoopbackUrl } from '../core/parse-url.ts'
import { Secret } from '../core/secret.ts'
import { VERSION } from '../core/version.ts'
import type { ClientOptions } from './types.ts'

const USER_AGENT = `gdn/${VERSION}`

/** A backend, and a client that sends requests only to it. */
export interface IdentifiedClient {
  readonly client: ApiClient
  readonly backend: IdentifiedBackend
}

/** A server, its API key, and the client that sends requests to the server. */
export interface ClientConnection {
  readonly baseUrl: string
  readonly apiKey: Secret
  readonly stateDir: string
  readonly origin: string
  readonly apiVersion: ApiVersion
  /** Returns the client, which is loaded with the first request. */
  client(): Promise<ApiClient>
  /**
   * Identifies the backend at the base URL, and returns it with a client whose requests fail if another backend listens
   * there.
   *
   * @throws GdnError `unreachable`, `bad_answer`
   */
  identify(): Promise<IdentifiedClient>
  close(): Promise<void>
}

function keyFor(origin: string, key: string | undefined): Secret {
  if (key === undefined || key === '') {
    throw new GdnError('unauthorized', `there is no API key for ${origin}`, { hint: 'Set apiKey, or GDN_API_KEY.' })
  }
  const secret = new Secret(key)
  checkKey(secret)
  return secret
}

const CONNECTION_HINT = 'Set baseUrl and apiKey, or GDN_BASE_URL and GDN_API_KEY.'

/**
 * Opens a connection. Sends no request yet.
 *
 * @throws GdnError `invalid_config` for an invalid URL or key; `unauthorized` without a key
 */
export function openConnection({ baseUrl, apiKey, stateDir, apiVersion = '1.1' }: ClientOptions): ClientConnection {
  const address = baseUrl ?? env.GDN_BASE_URL
  if (address === undefined || address === '') {
    throw new GdnError('invalid_config', 'no server is configured', { hint: CONNECTION_HINT })
  }
  const url = parseBaseUrl(address, { hasKey: true, allowHttp: false })
  const { origin } = new URL(url)
  const isLocal = isLoopbackUrl(new URL(url))
  const secret = keyFor(origin, apiKey ?? env.GDN_API_KEY)
  const proxy = isLocal ? undefined : readProxies(env)
  let transport: Promise<Transport> | undefined
  let client: Promise<ApiClient> | undefined
  let pace: ReturnType<typeof import('./sending.ts').createSharedPace> | undefined

  async function open(guard: (transport: Transport) => Transport = (unguarded) => unguarded): Promise<ApiClient> {
    const { createClient, createPacer, createSharedPace, createTransport } = await import('./sending.ts')
    transport ??= createTransport('single', { proxy })
    // If SQLite isn't available, only the requests of this process share a rate limit.
    pace ??= createSharedPace({ folders: paceDirectories(env), origin, apiKey: secret })
    const opened: ApiClient = createClient({
      baseUrl: url,
      apiKey: secret,
      transport: guard(await transport),
      userAgent: USER_AGENT,
      pacer: createPacer({
        rate: null,
        observed: (endpoint) => opened.observedRateLimit(endpoint),
        shared: pace,
      }),
      apiVersion,
    })
    return opened
  }

  async function identify(): Promise<IdentifiedClient> {
    const { createTransport, KnownBackends } = await import('./sending.ts')
    transport ??= createTransport('single', { proxy })
    const backends = new KnownBackends(USER_AGENT)
    const signal = new AbortController().signal
    const identity = await backends.identify(await transport, url, { how: 'patiently', signal })
    return {
      client: await open((unguarded) => backends.guard(unguarded, url, { isLocal })),
      backend: { url, ...identity, silence: null, isLocal },
    }
  }

  return {
    baseUrl: url,
    apiKey: secret,
    stateDir: stateDir === undefined ? stateDirectory(env) : resolve(stateDir),
    origin,
    apiVersion,
    client: () => (client ??= open()),
    identify,
    close: async () => {
      const [opened, shared] = [transport, pace]
      transport = undefined
      client = undefined
      pace = undefined
      await (await opened)?.close()
      await shared?.close()
    },
  }
}
