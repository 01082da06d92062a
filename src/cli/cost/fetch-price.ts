import { createTransport } from '../../client/create-transport.ts'
import { readProxies } from '../../config/proxy.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { debugExchanges } from '../connect/debug-exchange.ts'
import type { Deps } from '../deps.ts'
import { VERSION } from '../version.ts'
import { type Money, type PriceSource, readPriceAt } from './price.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024

/** Requests the price of a coin once. Errors show only the host of the URL, because the URL may contain an API key. */
export async function fetchPrice({ env, io, signals }: Deps, source: PriceSource, coin: string | null): Promise<Money> {
  const fillTemplate = (text: string) => {
    if (coin !== null) return text.replaceAll('{coin}', coin)
    if (!text.includes('{coin}')) return text
    throw new GdnError('invalid_config', 'price_url contains {coin}, but the coin symbol of this network is unknown', {
      hint: 'Set --price to the price of one coin.',
    })
  }
  const url = fillTemplate(source.url)
  const { host } = new URL(url)
  const transport = await createTransport('single', { proxy: readProxies(env), onExchange: debugExchanges(io) })
  try {
    const headers = { accept: 'application/json', 'user-agent': `gdn/${VERSION}` }
    const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }
    const { status, body } = await transport
      .request({ method: 'GET', url, headers, ...limits, signal: signals.signal })
      .catch((cause: unknown) => {
        signals.signal.throwIfAborted()
        throw new GdnError('unreachable', `the price at ${host} can't be read: ${messageOf(cause)}`, { cause })
      })
    if (status !== 200) throw new GdnError('bad_answer', `the price at ${host} can't be read: HTTP ${status}`)
    return { amount: readPriceAt(parseJson(body), fillTemplate(source.path), host), currency: source.currency }
  } finally {
    await transport.close()
  }
}
