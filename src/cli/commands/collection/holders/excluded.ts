import { existsSync } from 'node:fs'
import { evmAddressProblem } from '../../../../api/address.ts'
import { isEnsName } from '../../../../api/ens-name.ts'
import { flagError, GdnError, type Place } from '../../../../core/errors.ts'
import { quoted } from '../../../../core/quoted.ts'
import { decodeText } from '../../../../manifest/decode.ts'
import { ManifestError } from '../../../../manifest/manifest-error.ts'
import { type ListLine, readReceiverList } from '../../../../manifest/receiver-list.ts'
import { NO_MANIFEST_HINT, openManifestSource } from '../../../../manifest/source.ts'
import { isValidName } from '../../../../wallet/names.ts'
import type { Deps } from '../../../deps.ts'
import { type EnsContext, resolveEnsFields } from '../../../request/ens-names.ts'

const EXCLUDE_FLAG = '--exclude'
/** Placeholder for the address of a name. The name is resolved after its line is read. */
const PLACEHOLDER = `0x${'1'.repeat(40)}`

/**
 * Returns the addresses of `--exclude` as 40 hex digits in lower case, and prints their number. Each value is an
 * address, a name such as `@alice`, a group, an ENS name, or a list of receivers with addresses and names.
 *
 * @throws GdnError `usage` if an address or a name is invalid, with its line and column
 */
export async function excludedAddresses(
  deps: Pick<Deps, 'addresses' | 'env' | 'io' | 'signals'>,
  values: readonly string[],
  context: EnsContext,
): Promise<Set<string>> {
  const excluded = new Set<string>()
  const ensNames: { name: string; place: Place }[] = []
  const add = (value: string, address: string, place: Place) => {
    const problem = evmAddressProblem(address)
    if (problem !== null) throw new GdnError('usage', `${quoted(value)} ${problem}`, { place })
    excluded.add(address.slice(2).toLowerCase())
  }
  const addAny = async (value: string, place: Place) => {
    if (isEnsName(value)) ensNames.push({ name: value, place })
    else if (isValidName(value))
      for (const address of await resolveAddresses(deps, value, place)) add(value, address, place)
    else add(value, value, place)
  }
  for (const value of values) {
    if (isFile(value))
      for await (const line of readLines(value)) await addAny(line.text('receiver') ?? '', line.place('receiver'))
    else await addAny(value, { flag: EXCLUDE_FLAG })
  }
  const fields = Object.fromEntries(ensNames.map(({ name }, at) => [at, name]))
  const resolved = await resolveEnsFields(deps, context, fields, (at) => ensNames[Number(at)]?.place ?? {})
  for (const [at, address] of Object.entries(resolved))
    add(fields[at] ?? '', address, ensNames[Number(at)]?.place ?? {})
  const noun = excluded.size === 1 ? 'address' : 'addresses'
  if (values.length > 0) deps.io.note(`Excluded ${excluded.size} ${noun}.`)
  return excluded
}

/** Returns the address of a name such as `@alice`, or the addresses of a group's members. */
async function resolveAddresses({ addresses }: Pick<Deps, 'addresses'>, name: string, place: Place): Promise<string[]> {
  const book = await addresses()
  if (book.problem !== null || !book.isGroup(name.slice(1))) return [book.resolve(name, place)]
  return book.group(name, place).members.map((member) => (isValidName(member) ? book.resolve(member, place) : member))
}

/**
 * Returns whether a value is a file name. If a file with this name exists, the value is never treated as an ENS name.
 */
function isFile(value: string): boolean {
  if (isValidName(value) || /^0x/i.test(value)) return false
  return !isEnsName(value) || existsSync(value) || /\.(?:csv|tsv|txt|jsonl?)$/i.test(value)
}

async function* readLines(file: string): AsyncGenerator<ListLine> {
  const names = { isName: (cell: string) => isValidName(cell) || isEnsName(cell), addressOf: () => PLACEHOLDER }
  try {
    const { bytes } = await openManifestSource({ path: file })
    const list = readReceiverList(decodeText(bytes, file), file, { blockchain: 'ethereum', merge: true, names })
    for await (const lines of list) {
      for (const line of lines) {
        if ('issue' in line) throw new ManifestError(line.issue)
        yield line
      }
    }
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const { place, message, hint } = error.issue
    if (hint === NO_MANIFEST_HINT) throw flagError(EXCLUDE_FLAG, `${quoted(file)} is neither an address nor a file`)
    throw new GdnError('usage', message, { place, hint })
  }
}
