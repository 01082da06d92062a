import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { GdnError } from '../core/errors.ts'
import { KEYSTORE_EXTENSION } from './folder.ts'
import { readName } from './names.ts'

const NAME_PREFIX = 'wallet'
const NAME_FLAG_PLACE = { flag: '--name' }

/**
 * Returns the names of the wallets to generate. These are the given name, the given name with numbers if there is a
 * count, or default names with the next free numbers.
 *
 * @param takenNames all names of wallets and addresses
 * @param count the number of wallets. If undefined, one wallet gets the name without a number
 * @throws GdnError `usage` for an invalid name
 */
export function newNames(
  takenNames: ReadonlySet<string>,
  typed: string | undefined,
  count: number | undefined,
): string[] {
  const amount = count ?? 1
  if (typed !== undefined) {
    const base = readName(typed, NAME_FLAG_PLACE)
    if (count === undefined) return [base]
    return Array.from({ length: amount }, (_, i) => readName(`${base}-${i + 1}`, NAME_FLAG_PLACE))
  }
  const names: string[] = []
  for (let n = 1; names.length < amount; n++)
    if (!takenNames.has(`${NAME_PREFIX}-${n}`)) names.push(`${NAME_PREFIX}-${n}`)
  return names
}

/** @throws GdnError `invalid_input` if a keystore has the name */
export function refuseKeystore(folder: string, name: string): void {
  const path = join(folder, name + KEYSTORE_EXTENSION)
  if (existsSync(path)) throw nameTakenError(name, path)
}

/**
 * Rejects a name that a keystore, a saved address or a group has.
 *
 * @param saved the saved address or the group that has the name, or null
 * @throws GdnError `invalid_input`
 */
export function refuseTaken(folder: string, name: string, saved: string | null): void {
  refuseKeystore(folder, name)
  if (saved !== null) throw nameTakenError(name, saved)
}

/** @param holder the keystore or the address that has the name */
export const nameTakenError = (name: string, holder: string) =>
  new GdnError('invalid_input', `@${name} already exists: ${holder}`, {
    hint: 'Choose another name. Wallets and addresses are never overwritten.',
  })
