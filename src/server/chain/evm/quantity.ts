import { GdnError } from '../../../core/errors.ts'

/** Maximum length: numbers of a chain have at most 256 bits. */
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/

/**
 * Parses a JSON-RPC quantity. Anything else isn't parsed: BigInt would need a minute for a decimal of some megabytes,
 * and would block the event loop.
 *
 * @throws GdnError `unreachable`
 */
export function readQuantity(value: unknown): bigint {
  if (typeof value === 'string' && QUANTITY.test(value)) return BigInt(value)
  throw new GdnError('unreachable', 'a node returned an invalid number', {
    hint: 'Try again, or configure another RPC URL.',
  })
}
