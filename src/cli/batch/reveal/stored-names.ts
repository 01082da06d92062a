import { GdnError } from '../../../core/errors.ts'
import type { EnsAddress, EnsNames } from '../../../manifest/options.ts'

/**
 * Placeholder for the address of a name that the run doesn't contain. No wallet has this address, and it is never sent,
 * because the rows are only compared.
 */
const UNKNOWN_ADDRESS = `0x${Buffer.from('gdn-unknown-address!').toString('hex')}`

/**
 * The ENS names of a manifest that is only compared with its run. Doesn't query an Ethereum node, because the name
 * identifies a row even if the address is unknown.
 */
export class StoredNames implements EnsNames {
  #pinnedAddresses: ReadonlyMap<string, string> = new Map()
  readonly #resolvedNames = new Map<string, string | GdnError>()

  pin(addresses: ReadonlyMap<string, string>): void {
    this.#pinnedAddresses = addresses
  }

  async open(texts: ReadonlySet<string>): Promise<void> {
    const { normalizeName } = await import('../../../ens/normalize-name.ts')
    for (const text of texts) {
      try {
        this.#resolvedNames.set(text, normalizeName(text, {}))
      } catch (error) {
        if (!(error instanceof GdnError)) throw error
        this.#resolvedNames.set(text, error)
      }
    }
  }

  of(text: string): EnsAddress {
    const name = this.#resolvedNames.get(text)
    if (name === undefined) throw new Error('the name was not loaded')
    if (name instanceof GdnError) throw name
    return { name, address: this.#pinnedAddresses.get(name) ?? UNKNOWN_ADDRESS }
  }

  async close(): Promise<void> {}
}
