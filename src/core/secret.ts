import { inspect } from 'node:util'

const REDACTED = '[redacted]'

/** A value that must not be printed: string, JSON and inspection all give `[redacted]`; only `reveal()` tells it. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}
