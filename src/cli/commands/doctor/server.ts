import * as z from 'zod'
import { createTransport } from '../../../client/create-transport.ts'
import { unreachableError } from '../../../client/network-error.ts'
import { TransportError } from '../../../client/transport.ts'
import { readProxies } from '../../../config/proxy.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { parseJson } from '../../../core/json.ts'
import { probePermissions, verifyKey } from '../../connect/check-key.ts'
import { debugExchanges } from '../../connect/debug-exchange.ts'
import type { Deps } from '../../deps.ts'
import { VERSION } from '../../version.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { readinessFindings } from './readiness.ts'

const TIMEOUT_MS = 10_000
/** Maximum clock difference that is harmless. Signed URLs and rate limits depend on the clock. */
const MAX_SKEW_MS = 60_000

/**
 * Checks that the server responds and that its clock matches this machine's clock. Also checks what the API key
 * permits.
 */
export async function checkServer(deps: Deps, settings: Settings): Promise<Finding[]> {
  let server: Server
  try {
    server = await settings.server()
  } catch (error) {
    return [fail('server', error)]
  }
  const { findings, isReachable } = await checkReachable(deps, server)
  return isReachable ? [...findings, await checkKey(deps, settings, server)] : findings
}

/** Checks whether the server is reachable, which any response shows. The requests contain no key. */
async function checkReachable(
  { env, io, now, signals }: Deps,
  server: Server,
): Promise<{ findings: Finding[]; isReachable: boolean }> {
  const proxy = server.isLoopback ? undefined : readProxies(env)
  const url = `${server.baseUrl}/healthz`
  const transport = await createTransport('single', { proxy, onExchange: debugExchanges(io) })
  const ask = (path: string) =>
    transport.request({
      method: 'GET',
      url: `${server.baseUrl}${path}`,
      headers: { 'user-agent': `gdn/${VERSION}`, accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      signal: signals.signal,
    })
  const begun = now()
  try {
    const { headers, body } = await ask('/healthz')
    const ended = now()
    const responds = ok('server', `${server.origin} responds in ${ended - begun} ms`)
    const work = await ask('/readyz').then(
      ({ body }) => readinessFindings('backend', body, null),
      () => [],
    )
    return {
      findings: [
        responds,
        ...compareClocks(headers.date, (begun + ended) / 2, server),
        ...checkVersion(body, server),
        ...work,
      ],
      isReachable: true,
    }
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    return { findings: [fail('server', unreachableError(url, error))], isReachable: false }
  } finally {
    await transport.close()
  }
}

const healthSchema = z.object({ version: z.string(), backend_id: z.string() })

/**
 * Compares the version of a gdn backend with the version of this process. Skips the backend of `gdn local start`,
 * because another check covers it.
 */
function checkVersion(body: Uint8Array, { origin, source }: Server): Finding[] {
  const { data } = healthSchema.safeParse(parseJson(body))
  if (data === undefined || data.version === VERSION || source === 'local') return []
  return [
    warn(
      'server',
      `${origin} runs gdn ${data.version}, but this machine runs gdn ${VERSION}`,
      'Use the same version on both sides. Run `gdn --version` to show the version on this machine.',
    ),
  ]
}

/**
 * Compares the server's clock, from the Date header, with this machine's clock. The header has a resolution of one
 * second.
 */
export function compareClocks(date: string | undefined, now: number, { origin, isLoopback }: Server): Finding[] {
  const serverTime = Date.parse(date ?? '')
  if (Number.isNaN(serverTime) || isLoopback) return []
  const skew = now - serverTime - 500
  if (Math.abs(skew) < MAX_SKEW_MS) return [ok('clock', `agrees with ${origin}`)]
  const minutes = Math.round(Math.abs(skew) / 60_000)
  const by = minutes === 1 ? 'a minute' : `${minutes} minutes`
  return [
    warn(
      'clock',
      `this machine is ${by} ${skew > 0 ? 'ahead of' : 'behind'} ${origin}`,
      'Set the clock, or let NTP set it.',
    ),
  ]
}

async function checkKey(deps: Deps, settings: Settings, server: Server): Promise<Finding> {
  try {
    const { client } = await deps.connect(settings)
    const { signal } = deps.signals
    await verifyKey(client, signal)
    const permissions = [...(await probePermissions(client, signal))]
    const namesWith = (value: boolean | null) => permissions.flatMap(([name, can]) => (can === value ? [name] : []))
    const [yes, no, unclear] = [namesWith(true), namesWith(false), namesWith(null)]
    const parts = [
      `works at ${server.origin}`,
      ...(yes.length === 0 ? [] : [`seems to permit ${yes.join(', ')}`]),
      ...(no.length === 0 ? [] : [`seems not to permit ${no.join(', ')}`]),
      ...(unclear.length === 0 ? [] : [`unclear: ${unclear.join(', ')}`]),
    ]
    return ok('API key', parts.join('; '))
  } catch (error) {
    return fail('API key', error)
  }
}
