import { evmAddressProblem } from '../../../../api/address.ts'
import { flagError, GdnError } from '../../../../core/errors.ts'
import { quoted } from '../../../../core/quoted.ts'
import { decodeText } from '../../../../manifest/decode.ts'
import { ManifestError } from '../../../../manifest/manifest-error.ts'
import { readReceiverList } from '../../../../manifest/receiver-list.ts'
import { NO_MANIFEST_HINT, openManifestSource } from '../../../../manifest/source.ts'
import type { Deps } from '../../../deps.ts'
import { wrongAddress } from '../../../flag-errors.ts'

const FLAG = '--exclude'

/**
 * Returns the addresses of `--exclude` as 40 hex digits in lower case. Each value is an address, a name such as
 * `@alice`, or a list of receivers.
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
  try {
    const { bytes } = await openManifestSource({ path: file })
    const list = readReceiverList(decodeText(bytes, file), file, { blockchain: 'ethereum', merge: true })
    for await (const lines of list) {
      for (const line of lines) {
        if ('issue' in line) throw new ManifestError(line.issue)
        yield line.receiver
      }
    }
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error
    const { place, message, hint } = error.issue
    if (hint === NO_MANIFEST_HINT) throw flagError(FLAG, `${quoted(file)} is neither an address nor a file`)
    throw new GdnError('usage', message, { place, hint })
  }
}
