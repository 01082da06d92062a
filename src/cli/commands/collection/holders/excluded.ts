import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { evmAddressProblem } from '../../../../api/address.ts'
import { GdnError, messageOf, systemCode } from '../../../../core/errors.ts'
import { fileError } from '../../../../core/file-error.ts'
import { quoted } from '../../../../core/quoted.ts'
import type { Deps } from '../../../deps.ts'
import { wrongAddress } from '../../../flag-errors.ts'

const FLAG = '--exclude'

/**
 * Returns the addresses of `--exclude` as 40 hex digits in lower case. Each value is an address, a name such as
 * `@alice`, or a file with one address per line, or with addresses in the first column of CSV.
 *
 * @throws GdnError `usage` for a wrong address, with its line and column
 */
export async function excludedAddresses(
  { addresses }: Pick<Deps, 'addresses'>,
  given: readonly string[],
): Promise<Set<string>> {
  const found = new Set<string>()
  const add = (address: string) => found.add(address.slice(2).toLowerCase())
  for (const value of given) {
    if (value.startsWith('@')) add((await addresses()).resolve(value, { flag: FLAG }))
    else if (/^0x/i.test(value)) {
      const problem = evmAddressProblem(value)
      if (problem !== null) throw wrongAddress(value, problem, FLAG)
      add(value)
    } else for await (const address of addressesIn(value)) add(address)
  }
  return found
}

async function* addressesIn(file: string): AsyncGenerator<string> {
  let line = 0
  const input = createReadStream(file)
  try {
    for await (const raw of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      line += 1
      const text = (line === 1 ? raw.replace(/^\uFEFF/, '') : raw).trim()
      const cell = /^"?([^",;\t]*)/.exec(text)?.[1]?.trim() ?? ''
      if (cell === '' || (line === 1 && !/^0x/i.test(cell))) continue
      const problem = evmAddressProblem(cell)
      if (problem === null) yield cell
      else {
        throw new GdnError('usage', `"${cell.slice(0, 60)}" ${problem}`, {
          place: { file, line, column: raw.indexOf(cell) + 1 },
        })
      }
    }
  } catch (error) {
    if (error instanceof GdnError || systemCode(error) === undefined) throw error
    const place = { flag: FLAG }
    if (systemCode(error) === 'ENOENT')
      throw new GdnError('usage', `${quoted(file)} is neither an address nor a file`, { place })
    throw fileError(error) ?? new GdnError('usage', `can't read ${quoted(file)}: ${messageOf(error)}`, { place })
  } finally {
    input.destroy()
  }
}
