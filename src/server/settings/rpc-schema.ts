import * as z from 'zod'
import { parseUrl, WEB_URL_PATTERN } from '../../core/parse-url.ts'
import { refuseProblems } from './secret-schema.ts'

const MAX_RPC_URLS = 8

const rpcUrlSchema = z.string().check(refuseProblems(urlProblem)).meta({ pattern: WEB_URL_PATTERN })

export const rpcUrlsSchema = z
  .array(rpcUrlSchema)
  .min(1, { error: 'must have at least one URL' })
  .max(MAX_RPC_URLS, { error: `must have at most ${MAX_RPC_URLS} URLs` })
  .describe('JSON-RPC URLs of nodes of the network, in order of preference')

export const webUrlSchema = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })

export const testNetworkSchema = z
  .boolean({ error: 'must be true or false' })
  .default(false)
  .describe("Whether the network's coins have no value, so that commands spend them without a prompt")

export const secondsSchema = z
  .number({ error: 'must be a number of seconds' })
  .min(0.1, { error: 'must be at least 0.1 seconds' })
  .max(3600, { error: 'must be at most 3600 seconds' })

const requestRateSchema = z
  .number({ error: 'must be a number of requests' })
  .gt(0, { error: 'must be above 0' })
  .max(10_000, { error: 'must be at most 10000' })

export const RATE_LIMIT_DESCRIPTION =
  'Maximum requests per second to each provider: one number for all, or a number for each host of rpc_urls'

export const requestsPerSecondSchema = z.union([requestRateSchema, z.record(z.string(), requestRateSchema)], {
  error: 'must be a number above 0 and at most 10000, or a mapping from hosts in rpc_urls to numbers',
})

interface RateLimitedEntry {
  rpc_urls: string[]
  requests_per_second?: z.output<typeof requestsPerSecondSchema> | undefined
}

/** Rejects limits for hosts that aren't in `rpc_urls`, because such hosts are probably misspelled. */
export function refuseUnknownHosts(context: z.core.ParsePayload<RateLimitedEntry>): void {
  const { requests_per_second: limit, rpc_urls: urls } = context.value
  const hosts = urls.map((url) => parseUrl(url)?.host ?? '')
  for (const host of typeof limit === 'object' ? Object.keys(limit) : []) {
    if (hosts.includes(host)) continue
    const message = `is not a host of rpc_urls: the hosts are ${hosts.join(', ')}`
    context.issues.push({ code: 'custom', message, input: limit, path: ['requests_per_second', host] })
  }
}

function urlProblem(text: string): string | null {
  const url = parseUrl(text)
  if (url === null) return 'is not a URL'
  const { protocol, username, password } = url
  if (protocol !== 'http:' && protocol !== 'https:') return 'must be an http or https URL'
  if (username !== '' || password !== '') return 'must not have a user name or password, which would not be sent'
  return null
}
