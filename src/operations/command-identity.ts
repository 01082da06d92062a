import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'

/**
 * Returns the identity of a single command: a hash of its request, without the API key and anything else that differs
 * between attempts. Ignores the case of EVM addresses. The format, `v1`, must never change.
 */
export function commandIdentity(content: unknown): string {
  const hash = createHash('sha256')
    .update(canonicalJson(lowerAddresses(content)))
    .digest('hex')
  return `v1:${hash}`
}

/**
 * Converts the addresses of the request itself to lower case. Text in its metadata that looks like an address is
 * unchanged.
 */
function lowerAddresses(content: unknown): unknown {
  if (content === null || typeof content !== 'object' || Array.isArray(content)) return content
  return Object.fromEntries(
    Object.entries(content).map(([name, value]): [string, unknown] => [
      name,
      typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value) ? value.toLowerCase() : value,
    ]),
  )
}
