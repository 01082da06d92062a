import { isEnsName } from '../api/ens-name.ts'
import { GdnError, type Place } from '../core/errors.ts'
import { unescapeCell } from '../core/spreadsheet-text.ts'
import type { Column } from './columns.ts'
import type { EnsNames, ManifestOptions } from './options.ts'

const ZERO = 48
const X = 120

/**
 * Returns whether a text begins with `0x` and has no dot, as most receivers, so that it isn't a name such as
 * `0xalice.eth`. The fast check comes before all others.
 */
export const beginsAsAddress = (text: string): boolean =>
  text.charCodeAt(0) === ZERO && text.charCodeAt(1) === X && !text.includes('.')

/** Collects the ENS names of a block of rows, so that they are resolved together. */
export class NamesInRows {
  readonly #ensNames: EnsNames | undefined
  readonly #names = new Set<string>()
  /** The names that rows without a receiver or sender have. */
  #defaults: readonly { name: string; place: Place }[]
  #blockchain: unknown

  /** @param placeOf returns where the options have a receiver or sender from */
  constructor({ ensNames, blockchain, receiver, sender }: ManifestOptions, placeOf: (kind: PartyKind) => Place) {
    this.#ensNames = ensNames
    this.#blockchain = blockchain
    const given = { receiver, sender }
    this.#defaults = (['receiver', 'sender'] as const).flatMap((kind) => {
      const name = given[kind]
      return ensNames !== undefined && isEnsName(name) ? { name, place: placeOf(kind) } : []
    })
  }

  /** Adds the names in the cells of a row. The first row determines a blockchain that no flag sets. */
  add(cells: readonly unknown[], { parties, chain }: NameColumns): void {
    for (let at = 0; at < parties.length; at++) {
      const cell = cells[parties[at] ?? -1]
      if (typeof cell !== 'string' || beginsAsAddress(cell)) continue
      const text = cell.trim()
      this.#addText(text)
      // A CSV file has escaped cells. Other manifests mean the text as it is.
      this.#addText(unescapeCell(text))
    }
    if (this.#blockchain === undefined) this.#blockchain = textIn(cells[chain])
  }

  #addText(text: string): void {
    if (isEnsName(text)) this.#names.add(text)
  }

  /**
   * Resolves the names that were added.
   *
   * @throws GdnError if the node has failed, or for a name of the options
   */
  async open(): Promise<void> {
    const defaults = this.#defaults
    this.#defaults = []
    // Reported once with the flag, because it isn't a problem of a row.
    for (const { name, place } of defaults) await this.#openDefault(name, place)
    if (this.#names.size === 0) return
    const names = new Set(this.#names)
    this.#names.clear()
    await this.#ensNames?.open(names, this.#blockchain)
  }

  async #openDefault(name: string, place: Place): Promise<void> {
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

/** The positions of the columns that matter for names. `chain` is -1 without a column for the blockchain. */
interface NameColumns {
  parties: readonly number[]
  chain: number
}

export function nameColumns(columns: readonly (Column | undefined)[]): NameColumns {
  const kinds = columns.map((column) => column?.role.kind)
  const parties = kinds.flatMap((kind, index) => (kind === 'receiver' || kind === 'sender' ? index : []))
  return { parties, chain: kinds.indexOf('blockchain') }
}
