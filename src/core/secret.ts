import { inspect } from 'node:util'
import { parseUrl } from './parse-url.ts'

export const REDACTED = '[redacted]'

/** Minimum length of a value that is redacted. Shorter values are likely to be ordinary words. */
const MIN_SECRET_LENGTH = 8
/** Maximum number of secrets that the process remembers. The oldest are removed first. Commands have only a few. */
const MAX_KNOWN_SECRETS = 256

/** The spellings of a secret in a text. The `plain` spellings are readable without decoding. */
interface Spellings {
  plain: readonly string[]
  all: readonly string[]
}

const knownSecrets = new Map<string, Spellings | null>()

interface SecretOptions {
  /**
   * Whether the process remembers the value, so that `redactSecrets` searches for it. Default: true. Long-running
   * processes don't remember secrets that pass through them, such as API keys in requests to a server.
   */
  known?: boolean
}

/**
 * A value that must not be printed. Conversion to a string or JSON and inspection return `[redacted]`. `reveal()`
 * returns the value for use. `disclose()` returns the value for printing at the user's request. The process remembers
 * the value and redacts it in all output, including server responses and errors of libraries.
 */
export class Secret {
  readonly #value: string

  constructor(value: string, options: SecretOptions = {}) {
    this.#value = value
    if (options.known !== false) remember(value)
  }

  /** Returns the value for use in a header, a signature, or the file that stores it. Output still redacts the value. */
  reveal(): string {
    return this.#value
  }

  /** Returns the value for printing at the user's request. After that, this process no longer redacts the value. */
  disclose(): string {
    knownSecrets.delete(this.#value)
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
  if (value.length < MIN_SECRET_LENGTH) return
  const spellings = knownSecrets.get(value) ?? null
  knownSecrets.delete(value)
  knownSecrets.set(value, spellings)
  if (knownSecrets.size <= MAX_KNOWN_SECRETS) return
  const [oldest] = knownSecrets.keys()
  if (oldest !== undefined) knownSecrets.delete(oldest)
}

/**
 * Redacts every secret of this process in a text. Recognizes secrets that are unchanged, escaped in JSON, HTML or a
 * URL, in hexadecimal, in base64 at any offset, or backwards. This covers accidental echoes, but can't prevent
 * deliberate hiding.
 *
 * @param kind `plain` to search only for readable spellings. Use `plain` for large output whose input was already
 *   searched.
 */
export function redactSecrets(text: string, kind: keyof Spellings = 'all'): string {
  let clean = text
  for (const spellings of everySpelling()) {
    for (const spelling of spellings[kind]) if (clean.includes(spelling)) clean = clean.replaceAll(spelling, REDACTED)
  }
  return clean
}

/**
 * Returns whether a text contains a disguised secret of this process. The secret may be in any case, forwards or
 * backwards, and with other characters, such as spaces, between its letters and digits. No part of such a text can be
 * shown.
 */
export function containsDisguisedSecret(text: string): boolean {
  const letters = lettersOf(text)
  return [...knownSecrets.keys()].some((value) => {
    const secret = lettersOf(value)
    if (secret.length < MIN_SECRET_LENGTH) return false
    return letters.includes(secret) || letters.includes([...secret].reverse().join(''))
  })
}

const lettersOf = (text: string) => text.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase()

/**
 * Redacts every secret of this process in bytes from outside the process. If JSON contains a secret in escaped form,
 * rewrites the JSON without the secret.
 */
export function redactBytes(bytes: Uint8Array): Uint8Array {
  if (knownSecrets.size === 0 || bytes.length === 0) return bytes
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const hasSecret = everySpelling().some(({ all }) => all.some((spelling) => buffer.includes(spelling)))
  const clean = hasSecret ? Buffer.from(redactSecrets(buffer.toString('utf8'))) : buffer
  return clean.includes('\\') ? withoutEscapedSecrets(clean) : hasSecret ? clean : bytes
}

function withoutEscapedSecrets(buffer: Buffer): Uint8Array {
  try {
    let hasSecret = false
    const value: unknown = JSON.parse(buffer.toString('utf8'), (name, each: unknown) => {
      const clean = typeof each === 'string' ? redactSecrets(each) : each
      hasSecret ||= clean !== each || redactSecrets(name) !== name
      return clean
    })
    return hasSecret ? Buffer.from(redactSecrets(JSON.stringify(value))) : buffer
  } catch {
    return buffer
  }
}

function everySpelling(): Spellings[] {
  return [...knownSecrets].map(([value, made]) => {
    const spellings = made ?? spellingsOf(value)
    if (made === null) knownSecrets.set(value, spellings)
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
 * Returns the long parts of a secret that no text encoding changes, such as a private key without its 0x. They stay the
 * same even if the text is escaped several times, such as in JSON within JSON.
 */
function piecesOf(value: string): string[] {
  return value.match(/[A-Za-z0-9_-]{16,}/g) ?? []
}

/** Returns, for each of the three offsets, the part that is common to all base64 texts with these bytes. */
function base64Spellings(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const whole = Math.floor(((before + bytes.length) * 8) / 6)
    const inner = text.slice(Math.ceil((before * 8) / 6), whole)
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

const longestFirst = (spellings: readonly string[]) => [...new Set(spellings)].sort((a, b) => b.length - a.length)

/** Matches a key in a provider's URL, outside the host. Shorter parts may be words. */
const KEY_IN_URL = /[A-Za-z0-9_-]{16,}/g

/** Returns the keys in the URL of a provider, such as a JSON-RPC endpoint. */
export function findKeysInUrl(address: string): string[] {
  const url = parseUrl(address)
  return url === null ? [] : [...url.href.replace(url.host, '').matchAll(KEY_IN_URL)].map(([key]) => key)
}

/**
 * Registers the keys in a provider's URL as secrets, so that output redacts them. The URL itself must remain plain
 * text.
 */
export function rememberKeysInUrl(address: string): void {
  for (const key of findKeysInUrl(address)) remember(key)
}
