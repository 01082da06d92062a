import { hash as hashOnce, randomBytes } from 'node:crypto'
import { WordTable } from './key-table.ts'

const WORDS = 5
const BYTES = WORDS * 4
const EVM_LENGTH = 42
// Without it, the hash of another blockchain's address could be chosen as an EVM address.
const SALT = randomBytes(16).toString('hex')

/**
 * Numbers addresses in the order in which they first appear. An EVM address is kept whole, and is the same in any case;
 * of another, 160 bits of its salted SHA-256. Two addresses must never be taken for one, however alike somebody made them:
 * their rows travel together.
 */
export class AddressTable {
  readonly #table = new WordTable(WORDS)
  #words = new Uint32Array(0)
  // Hex digits are read into the words' own bytes: by far the fastest way that there is.
  #bytes = Buffer.alloc(0)

  get size(): number {
    return this.#table.size
  }

  add(address: string): number {
    this.read([address])
    return this.addRead(0)
  }

  /** Takes addresses that `addRead` is to number, many at once, which is far cheaper. */
  read(addresses: readonly string[]): void {
    if (this.#words.length < addresses.length * WORDS) {
      this.#words = new Uint32Array(addresses.length * WORDS)
      this.#bytes = Buffer.from(this.#words.buffer)
    }
    let last: string | null = null
    for (const [index, address] of addresses.entries()) {
      const at = index * WORDS
      // Most manifests have runs of one receiver.
      if (address === last) this.#words.copyWithin(at, at - WORDS, at)
      else this.#readOne(address, at)
      last = address
    }
    this.#table.warm(this.#words, addresses.length)
  }

  /** The number of an address, by its place in the list that was read last. */
  addRead(index: number): number {
    return this.#table.add(this.#words, index * WORDS)
  }

  #readOne(address: string, at: number): void {
    const from = at * 4
    const isEvm =
      address.length === EVM_LENGTH &&
      address.startsWith('0x') &&
      this.#bytes.write(address.slice(2), from, BYTES, 'hex') === BYTES
    if (!isEvm) this.#bytes.write(hashOnce('sha256', SALT + address).slice(0, BYTES * 2), from, BYTES, 'hex')
  }
}
