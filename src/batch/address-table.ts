import { hash as hashOnce } from 'node:crypto'
import { WordTable } from './key-table.ts'

const WORDS = 6
const HASH_WORDS = 5
const BYTES = HASH_WORDS * 4
const EVM_LENGTH = 42
const EVM = 1
const OTHER = 2

/**
 * Numbers addresses in the order in which they first appear. An EVM address is kept whole, and is the same in any case;
 * of another, 160 bits of its SHA-256. Two addresses must never be taken for one, however alike somebody made them:
 * their rows travel together.
 */
export class AddressTable {
  readonly #table = new WordTable(WORDS)
  readonly #words = new Uint32Array(WORDS)
  // Hex digits are read into the words' own bytes: by far the fastest way that there is.
  readonly #bytes = Buffer.from(this.#words.buffer, 0, BYTES)
  #last: string | null = null
  #lastNumber = -1

  get size(): number {
    return this.#table.size
  }

  add(address: string): number {
    // Most manifests have runs of one receiver.
    if (address === this.#last) return this.#lastNumber
    const isEvm =
      address.length === EVM_LENGTH && address.startsWith('0x') && this.#bytes.write(address.slice(2), 'hex') === BYTES
    if (!isEvm) this.#bytes.write(hashOnce('sha256', address).slice(0, BYTES * 2), 'hex')
    this.#words[HASH_WORDS] = isEvm ? EVM : OTHER
    this.#last = address
    this.#lastNumber = this.#table.add(this.#words)
    return this.#lastNumber
  }
}
