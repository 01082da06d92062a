const MESSAGE = 'the next nonces of a signer are unused: sending empty transactions'

/**
 * The nonces that backends have announced to fill with empty transactions, which the database doesn't record. A backend
 * logs them before it sends anything.
 */
export class FilledNonces {
  readonly #announced = new Set<string>()

  /** The `logStream` of the backends. */
  readonly stream = { write: (line: string): void => this.#read(line) }

  #read(line: string): void {
    if (!line.includes(MESSAGE)) return
    const { signer, nonces } = JSON.parse(line) as { signer: string; nonces: number[] }
    for (const nonce of nonces) this.#announced.add(keyOf(signer, nonce))
  }

  has(signer: string, nonce: number): boolean {
    return this.#announced.has(keyOf(signer, nonce))
  }

  get size(): number {
    return this.#announced.size
  }
}

const keyOf = (signer: string, nonce: number): string => `${signer.toLowerCase()} ${nonce}`
