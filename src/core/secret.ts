import { inspect } from 'node:util'
import { parseUrl } from './parse-url.ts'

export const REDACTED = '[redacted]'

/** Anything shorter is too likely to be a word that stands in a text for another reason. */
const MIN_LENGTH = 8
/** The newest that are remembered: a command has a handful. */
const MAX_KNOWN = 256

/** How a secret may stand in a text: `plain` needs no decoding to be read by a person. */
interface Spellings {
  plain: readonly string[]
  all: readonly string[]
}

const known = new Map<string, Spellings | null>()

interface SecretOptions {
  /**
   * Whether texts are searched for it, by `redactSecrets`. Of what passes through a process that lives long, such as
   * the keys that a server is asked with, nothing is kept.
   */
  known?: boolean
}

/**
 * A value that must not be printed: string, JSON and inspection all give `[redacted]`; only `reveal()` tells it, for
 * those who need it, and `disclose()`, for who asked to see it. The process remembers it, and blots it out of whatever
 * it prints: what a server echoes, and what an error of somebody else's quotes.
 */
export class Secret {
  readonly #value: string

  constructor(value: string, options: SecretOptions = {}) {
    this.#value = value
    if (options.known !== false) remember(value)
  }

  /** The value, for what it is meant for: a header, a signature, the file that keeps it. Printed, it's blotted out. */
  reveal(): string {
    return this.#value
  }

  /** The value to print, because that was asked for. From now on this process doesn't blot it out. */
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
 * A text without any secret of this process: not as it is, nor as it stands in JSON, HTML or a URL, in hexadecimal, in
 * base64 wherever it begins, or backwards. Whoever echoes it does so by such means; one who hides it can't be stopped.
 *
 * @param how `plain` looks for what can be read as it is only; for large output that was searched on its way in
 */
export function redactSecrets(text: string, how: keyof Spellings = 'all'): string {
  let clean = text
  for (const spellings of everySpelling()) {
    for (const spelling of spellings[how]) if (clean.includes(spelling)) clean = clean.replaceAll(spelling, REDACTED)
  }
  return clean
}

/** As redactSecrets, for bytes from outside. JSON that spells a secret with escapes is written anew without it. */
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
    const value: unknown = JSON.parse(buffer.toString('utf8'), (_name, each: unknown) => {
      const clean = typeof each === 'string' ? redactSecrets(each) : each
      found ||= clean !== each
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
  const byByte = ['%', '\\x', '\\u00']
    .map((mark) => hex.replace(/../g, `${mark}$&`))
    .concat(hex.replace(/../g, '&#x$&;'))
  const backwards = [...value].reverse().join('')
  const coded = [hex, hex.toUpperCase(), ...byByte, ...base64Spellings(bytes), backwards, ...piecesOf(backwards)]
  return { plain: longestFirst(plain), all: longestFirst([...plain, ...coded]) }
}

/**
 * The long pieces of a secret that no encoding of text changes, such as a private key without its 0x: however often the
 * rest is escaped, JSON in JSON in a log, they stand as they are, and are most of it.
 */
function piecesOf(value: string): string[] {
  return value.match(/[A-Za-z0-9_-]{16,}/g) ?? []
}

/** What all base64 texts that hold these bytes have in common, for each of the three places where they may begin. */
function base64Spellings(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const whole = Math.floor(((before + bytes.length) * 8) / 6)
    const own = text.slice(Math.ceil((before * 8) / 6), whole)
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

const longestFirst = (spellings: readonly string[]) => [...new Set(spellings)].sort((a, b) => b.length - a.length)

/** What providers put into the path or query of an address is a key: at least this long, and no word. */
const KEY_IN_URL = /[A-Za-z0-9_-]{16,}/g

/** The keys in the address of a provider, such as one of JSON-RPC. */
export function keysIn(address: string): string[] {
  const url = parseUrl(address)
  return url === null ? [] : [...`${url.pathname}${url.search}`.matchAll(KEY_IN_URL)].map(([key]) => key)
}

/** Lets this process know the keys in such an address, which has to be handed on as text: none is printed. */
export function knowKeysIn(address: string): void {
  for (const key of keysIn(address)) remember(key)
}
