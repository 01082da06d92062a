import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { GdnError } from '../core/errors.ts'
import { ADDRESS_ENDING, filesEnding, KEYSTORE_ENDING } from './folder.ts'
import { readName } from './names.ts'

const USUAL = 'wallet'
const PLACE = { flag: '--name' }

/**
 * Returns the names of wallets to generate: the given name, that name with numbers for several wallets, or the next
 * free numbers.
 *
 * @param count undefined: one wallet with the name itself
 * @throws GdnError `usage` for an invalid name
 */
export function newNames(folder: string, typed: string | undefined, count: number | undefined): string[] {
  const amount = count ?? 1
  if (typed !== undefined) {
    const base = readName(typed, PLACE)
    if (count === undefined) return [base]
    return Array.from({ length: amount }, (_, i) => readName(`${base}-${i + 1}`, PLACE))
  }
  const taken = new Set([...filesEnding(folder, KEYSTORE_ENDING), ...filesEnding(folder, ADDRESS_ENDING)])
  const names: string[] = []
  for (let n = 1; names.length < amount; n++) if (!taken.has(`${USUAL}-${n}`)) names.push(`${USUAL}-${n}`)
  return names
}

/** @throws GdnError `invalid_input` if a wallet or an address has that name */
export function refuseTaken(folder: string, name: string): void {
  for (const ending of [KEYSTORE_ENDING, ADDRESS_ENDING]) {
    const path = join(folder, name + ending)
    if (existsSync(path)) throw nameTaken(name, path)
  }
}

export const nameTaken = (name: string, path: string) =>
  new GdnError('invalid_input', `@${name} exists already: ${path}`, {
    place: PLACE,
    hint: 'Choose another name. Existing files are never overwritten.',
  })
