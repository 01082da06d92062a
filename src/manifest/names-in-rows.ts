import { isEnsName } from '../api/ens-name.ts'
import { GdnError, type Place } from '../core/errors.ts'
import { unescapeCell } from '../core/spreadsheet-text.ts'
import type { Column } from './columns.ts'
import type { EnsNames, ManifestOptions } from './options.ts'

const CODE_OF_0 = 48
const CODE_OF_X = 120

/**
 * Returns whether a text begins with `0x` and contains no dot, so that it isn't a name such as `0xalice.eth`. Used as a
 * fast first check, because most receivers are addresses.
 */
export const beginsLikeAddress = (text: string): boolean =>
  text.charCodeAt(0) === CODE_OF_0 && text.charCodeAt(1) === CODE_OF_X && !text.includes('.')

/** Collects the ENS names in a block of rows to resolve them together. */
export class NamesInRows {
  readonly #ensNames: EnsNames | undefined
  readonly #names = new Set<string>()
  /** The names that are the defaults for rows without a receiver or sender. */
  #defaults: readonly { name: string; place: Place }[]
  #blockchain: unknown

  /** @param placeOf returns the location that set the receiver or sender of the options */
  constructor({ ensNames, blockchain, receiver, sender }: ManifestOptions, placeOf: (kind: PartyKind) => Place) {
    this.#ensNames = ensNames
    this.#blockchain = blockchain
    const names = { receiver, sender }
    this.#defaults = (['receiver', 'sender'] as const).flatMap((kind) => {
      const name = names[kind]
      return ensNames !== undefined && isEnsName(name) ? { name, place: placeOf(kind) } : []
    })
  }

  /** Adds the names in the cells of a row. If no flag sets the blockchain, it is that of the first row that has one. */
  add(cells: readonly unknown[], { parties, blockchainColumn }: NameColumns): void {
    for (let at = 0; at < parties.length; at++) {
      const cell = cells[parties[at] ?? -1]
      if (typeof cell !== 'string' || beginsLikeAddress(cell)) continue
      const text = cell.trim()
      this.#addText(text)
      // Cells of a CSV file are escaped. In other manifests, the text is used as it is.
      this.#addText(unescapeCell(text))
    }
    this.#blockchain ??= textIn(cells[blockchainColumn])
  }

  #addText(text: string): void {
    if (isEnsName(text)) this.#names.add(text)
  }

  /**
   * Resolves the names that were added.
   *
   * @throws GdnError if the node has failed, or if a name in the options can't be resolved
   */
  async resolve(): Promise<void> {
    const defaults = this.#defaults
    this.#defaults = []
    // Report the problem once for the flag, because it isn't a problem of a row.
    for (const { name, place } of defaults) await this.#resolveDefault(name, place)
    if (this.#names.size === 0) return
    const names = new Set(this.#names)
    this.#names.clear()
    await this.#ensNames?.open(names, this.#blockchain)
  }

  async #resolveDefault(name: string, place: Place): Promise<void> {
    try {
      await this.#ensNames?.open(new Set([name]), this.#blockchain)
      this.#ensNames?.of(name)
    } catch (error) {
      const isPlaced = error instanceof GdnError && Object.keys(error.place ?? {}).length > 0
      throw error instanceof GdnError && !isPlaced ? error.with({ place }) : error
    }
  }
}

const textIn = (cell: unknown): string | undefined =>
  typeof cell === 'string' && cell.trim() !== '' ? cell.trim() : undefined

type PartyKind = 'receiver' | 'sender'

/**
 * The positions of the columns that are needed to resolve names. `blockchainColumn` is -1 if there is no blockchain
 * column.
 */
interface NameColumns {
  parties: readonly number[]
  blockchainColumn: number
}

export function findNameColumns(columns: readonly (Column | undefined)[]): NameColumns {
  const kinds = columns.map((column) => column?.role.kind)
  const parties = kinds.flatMap((kind, index) => (kind === 'receiver' || kind === 'sender' ? index : []))
  return { parties, blockchainColumn: kinds.indexOf('blockchain') }
}
