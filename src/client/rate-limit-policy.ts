/** The rate limit that a server states for an endpoint. Null means no limit. */
export interface ObservedRateLimit {
  perSecond: number | null
}

/** Maximum length of the header. The time to parse a hostile header grows with the square of its length. */
const MAX_LENGTH = 2000

const ITEM = /^\s*(?:"((?:[^"\\]|\\.)*)"|([A-Za-z*][\w.:*/-]*))\s*((?:;[^,]*)?)$/

/**
 * Parses `RateLimit-Policy: "createnft";q=2;w=1` (IETF draft-ietf-httpapi-ratelimit-headers, a list of structured
 * fields). Uses the items whose name is the endpoint, or all items if there are none. The strictest item applies. An
 * item without a quota means no limit. Returns null if the header is missing or unusable.
 */
export function parseRateLimitPolicy(header: string | undefined, endpoint: string): ObservedRateLimit | null {
  if (header === undefined || header.length > MAX_LENGTH) return null
  const items = splitList(header).flatMap((text) => parseItem(text))
  const own = items.filter(({ name }) => name === endpoint)
  const rates = (own.length > 0 ? own : items).map(({ perSecond }) => perSecond)
  if (rates.length === 0) return null
  const limits = rates.filter((rate) => rate !== null)
  return { perSecond: limits.length === 0 ? null : Math.min(...limits) }
}

function splitList(header: string): string[] {
  return header.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? []
}

function parseItem(text: string): { name: string; perSecond: number | null }[] {
  const match = ITEM.exec(text)
  if (match === null) return []
  const name = match[1] ?? match[2] ?? ''
  const quota = parameter(match[3] ?? '', 'q')
  if (quota === null) return [{ name, perSecond: null }]
  const window = parameter(match[3] ?? '', 'w')
  return window === null || window === 0 ? [] : [{ name, perSecond: quota / window }]
}

function parameter(parameters: string, name: string): number | null {
  const match = new RegExp(`;\\s*${name}=(\\d{1,9})\\s*(?:;|$)`).exec(parameters)
  return match === null ? null : Number(match[1])
}
