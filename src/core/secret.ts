import { inspect } from 'node:util'
import { parseUrl } from './parse-url.ts'

export const REDACTED = '[redacted]'

/** Shorter values are not redacted, because they are likely to be ordinary words. */
const MIN_LENGTH = 8
/** The number of secrets that are remembered, newest first. A command has a handful. */
const MAX_KNOWN = 256

/** Spellings of a secret in a text: `plain` can be read by a person without decoding. */
interface Spellings {
  plain: readonly string[]
  all: readonly string[]
}

const known = new Map<string, Spellings | null>()

interface SecretOptions {
  /**
   * Whether texts are searched for it by `redactSecrets`. Secrets that pass through a long-lived process, such as the
   * keys in requests to a server, are not remembered.
   */
  known?: boolean
}

/**
 * A value that must not be printed: string, JSON and inspection return `[redacted]`. `reveal()` returns it for use, and
 * `disclose()` on request of the user. The process remembers it and redacts it in all output, including responses of
 * servers and errors of libraries.
 */
export class Secret {
  readonly #value: string

  constructor(value: string, options: SecretOptions = {}) {
    this.#value = value
    if (options.known !== false) remember(value)
  }

  /** Returns the value for use: in a header, a signature, or the file that stores it. In output, it is redacted. */
  reveal(): string {
    return this.#value
  }

  /** Returns the value for printing on request. From now on, this process doesn't redact it. */
  disclose(): string {
    known.delete(this.#value)
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

function remember(value: string): void {
  if (value.length < MIN_LENGTH) return
  const spellings = known.get(value) ?? null
  known.delete(value)
  known.set(value, spellings)
  if (known.size <= MAX_KNOWN) return
  const [oldest] = known.keys()
  if (oldest !== undefined) known.delete(oldest)
}

/**
 * Removes every secret of this process from a text, in these forms: as it is, escaped in JSON, HTML or a URL, in
 * hexadecimal, in base64 at any offset, and backwards. That covers accidental echoes. Deliberate hiding can't be
 * prevented.
 *
 * @param how `plain` searches only for readable spellings; for large output whose input was searched
 */
export function redactSecrets(text: string, how: keyof Spellings = 'all'): string {
  let clean = text
  for (const spellings of everySpelling()) {
    for (const spelling of spellings[how]) if (clean.includes(spelling)) clean = clean.replaceAll(spelling, REDACTED)
  }
  return clean
}

/**
 * Whether a text spells a secret of this process with other characters between its letters and digits, such as spaces,
 * in any case, forwards or backwards. No part of such a text can be shown.
 */
export function hidesSecret(text: string): boolean {
  const letters = lettersOf(text)
  return [...known.keys()].some((value) => {
    const secret = lettersOf(value)
    if (secret.length < MIN_LENGTH) return false
    return letters.includes(secret) || letters.includes([...secret].reverse().join(''))
  })
}

const lettersOf = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase()

/** Like redactSecrets, for bytes from outside. JSON that escapes a secret is rewritten without it. */
export function redactBytes(bytes: Uint8Array): Uint8Array {
  if (known.size === 0 || bytes.length === 0) return bytes
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found = everySpelling().some(({ all }) => all.some((spelling) => buffer.includes(spelling)))
  const clean = found ? Buffer.from(redactSecrets(buffer.toString('utf8'))) : buffer
  return clean.includes('\\') ? withoutEscapedSecrets(clean) : found ? clean : bytes
}

function withoutEscapedSecrets(buffer: Buffer): Uint8Array {
  try {
    let found = false
    const value: unknown = JSON.parse(buffer.toString('utf8'), (name, each: unknown) => {
      const clean = typeof each === 'string' ? redactSecrets(each) : each
      found ||= clean !== each || redactSecrets(name) !== name
      return clean
    })
    return found ? Buffer.from(redactSecrets(JSON.stringify(value))) : buffer
  } catch {
    return buffer
  }
}

function everySpelling(): Spellings[] {
  return [...known].map(([value, made]) => {
    const spellings = made ?? spellingsOf(value)
    if (made === null) known.set(value, spellings)
    return spellings
  })
}

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function spellingsOf(value: string): Spellings {
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  const plain = [
    value,
    ...piecesOf(value),
    JSON.stringify(value).slice(1, -1),
    encodeURIComponent(value),
    new URLSearchParams([['', value]]).toString().slice(1),
    value.replace(/[&<>"']/g, (char) => HTML[char] ?? char),
  ]
  const pairs = hex.match(/../g) ?? []
  const byByte = [...['%', '\\x', '\\u00'].map((mark) => mark + pairs.join(mark)), `&#x${pairs.join(';&#x')};`]
  const backwards = [...value].reverse().join('')
  const coded = [hex, hex.toUpperCase(), ...byByte, ...base64Spellings(bytes), backwards, ...piecesOf(backwards)]
  return { plain: longestFirst(plain), all: longestFirst([...plain, ...coded]) }
}

/**
 * Returns the long parts of a secret that no text encoding changes, such as a private key without its 0x. They are most
 * of it, and stay the same however often the rest is escaped, for example in JSON in JSON in a log.
 */
function piecesOf(value: string): string[] {
  return value.match(/[A-Za-z0-9_-]{16,}/g) ?? []
}

/** Returns the part that all base64 texts with these bytes share, for each of the three offsets. */
function base64Spellings(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const whole = Math.floor(((before + bytes.length) * 8) / 6)
    const own = text.slice(Math.ceil((before * 8) / 6), whole)
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

const longestFirst = (spellings: readonly string[]) => [...new Set(spellings)].sort((a, b) => b.length - a.length)

/** A key in the path or query of a provider's address: at least this long, and not a word. */
const KEY_IN_URL = /[A-Za-z0-9_-]{16,}/g

/** Returns the keys in the address of a provider, such as one of JSON-RPC. */
export function keysIn(address: string): string[] {
  const url = parseUrl(address)
  return url === null ? [] : [...`${url.pathname}${url.search}`.matchAll(KEY_IN_URL)].map(([key]) => key)
}

/** Registers the keys in such an address, which has to be passed on as text, so that none is printed. */
export function knowKeysIn(address: string): void {
  for (const key of keysIn(address)) remember(key)
}
