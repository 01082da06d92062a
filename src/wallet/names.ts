import { GdnError, type Place } from '../core/errors.ts'

const NAME_PATTERN = /^[a-z0-9][a-z0-9._-]{0,62}$/
/** Device names that Windows reserves, with any extension. */
const DEVICE_NAME = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/

/**
 * Returns the reason why the name of a wallet is invalid, or null if it is valid. The name becomes a file name, which
 * must be valid on all systems.
 */
export function nameProblem(name: string): string | null {
  if (NAME_PATTERN.test(name) && !name.endsWith('.') && !DEVICE_NAME.test(name)) return null
  return 'must be 1 to 63 characters long, contain only a-z, 0-9, ".", "_" and "-", and begin with a letter or digit'
}

/** Returns whether a value is the name of a wallet instead of an address. No address begins with `@`. */
export const isValidName = (value: string): boolean => value.startsWith('@')

/**
 * Returns a name without the `@`. Users may type `@alice` or `alice`.
 *
 * @throws GdnError `usage` if the name is invalid
 */
export function readName(typed: string, place: Place, kind: 'wallet' | 'group' = 'wallet'): string {
  const name = isValidName(typed) ? typed.slice(1) : typed
  const problem = nameProblem(name)
  if (problem === null) return name
  const lower = name.toLowerCase()
  throw new GdnError('usage', `the name of a ${kind} ${problem}`, {
    place,
    ...(nameProblem(lower) === null ? { hint: `Use @${lower}.` } : {}),
  })
}
