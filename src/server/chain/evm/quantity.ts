import { GdnError } from '../../../core/errors.ts'

/** Matches a hex number of at most 256 bits, like all numbers on chain. */
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/

/**
 * Parses a JSON-RPC quantity in hex. Rejects other forms, because BigInt would take a minute to parse a decimal of
 * several megabytes, and would block the event loop.
 *
 * @throws GdnError `unreachable`
 */
export function readQuantity(value: unknown): bigint {
  if (typeof value === 'string' && QUANTITY.test(value)) return BigInt(value)
  throw new GdnError('unreachable', 'a node returned an invalid number', {
    hint: 'Try again, or configure another RPC URL.',
  })
}
