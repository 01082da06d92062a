import { GdnError } from '../../../core/errors.ts'

/** 256 bits are the most that a number of a chain has. */
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/

/**
 * A number as JSON-RPC spells it. What else a node says in its place isn't tried: a decimal of some megabytes would keep
 * BigInt busy for a minute, and everybody waiting.
 *
 * @throws GdnError `unreachable`
 */
export function readQuantity(value: unknown): bigint {
  if (typeof value === 'string' && QUANTITY.test(value)) return BigInt(value)
  throw new GdnError('unreachable', 'a node answered something that is no number', {
    hint: 'try again, or give another RPC URL',
  })
}
