import { GdnError, type Place } from '../core/errors.ts'

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/
/** Names that Windows keeps for devices, whatever follows a dot. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/

/** What is wrong with the name of a wallet, or null. It becomes the name of a file, on any system. */
export function nameProblem(name: string): string | null {
  if (NAME.test(name) && !name.endsWith('.') && !DEVICE.test(name)) return null
  return 'must be 1 to 63 of a-z, 0-9, ".", "_" and "-", beginning with a letter or digit'
}

/** Whether a value is the name of a wallet in place of an address. No address begins like it. */
export const isName = (value: string): boolean => value.startsWith('@')

/** The name that is typed as `@alice`, or as `alice`. */
export function readName(typed: string, place: Place): string {
  const name = isName(typed) ? typed.slice(1) : typed
  const problem = nameProblem(name)
  if (problem === null) return name
  const lower = name.toLowerCase()
  throw new GdnError('usage', `the name of a wallet ${problem}`, {
    place,
    ...(nameProblem(lower) === null ? { hint: `@${lower}` } : {}),
  })
}
