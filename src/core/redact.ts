import { REDACTED, redactSecrets } from './secret.ts'

/** Matches the names of secrets in headers, JSON and query strings, in any spelling. */
const NAME =
  '(?:[a-z0-9]+[_-])*(?:api[_-]?key|private[_-]?key|secret(?:[_-]?(?:access[_-]?)?key)?|password|passwd|passphrase|mnemonic|seed[_-]?phrase|signature|credential|(?:security|session|access|refresh|auth|bearer)[_-]?token|authorization|cookie)'

/** Also matches names of secrets that occur in query strings, such as in signed URLs of object stores and gateways. */
const QUERY_NAME = `(?:${NAME}|sig|token|key|jwt)`

const IN_JSON = new RegExp(`("${NAME}"\\s*:\\s*")(?:[^"\\\\]|\\\\.)*`, 'gi')
/** Matches secrets in JSON that is inside a JSON string, where quotes are escaped. */
const IN_QUOTED_JSON = new RegExp(`(\\\\"${NAME}\\\\"\\s*:\\s*\\\\")(?:[^"\\\\]|\\\\[^"])*`, 'gi')
const IN_QUERY = new RegExp(`([?&;]${QUERY_NAME}=)[^&\\s"'<>\\\\]*`, 'gi')
/** Matches a `signature` parameter without a preceding URL. */
const SIGNATURE = /\b(signature=)[^&\s"'<>\\]*/gi
const USER_INFO = /\b([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@"'<>\\]{1,2048}@/gi
/** Matches API keys of gdn backends. */
const GDN_API_KEY = /\bgdn_[A-Za-z0-9_-]{20,}/g
/** Matches signing secrets of webhooks. */
const SIGNING_SECRET = /\bwhsec_[A-Za-z0-9_-]{20,}/g
const SCHEME = /\b(Bearer|Basic)\s+[A-Za-z0-9+/_.~-]{16,}=*/g

const HEADER = new RegExp(`^${NAME}$`, 'i')

/** Redacts everything that looks like a secret, and all secrets that are registered in this process. */
export function redactText(text: string): string {
  return redactSecrets(text)
    .replace(IN_JSON, `$1${REDACTED}`)
    .replace(IN_QUOTED_JSON, `$1${REDACTED}`)
    .replace(IN_QUERY, `$1${REDACTED}`)
    .replace(SIGNATURE, `$1${REDACTED}`)
    .replace(USER_INFO, `$1${REDACTED}@`)
    .replace(SCHEME, `$1 ${REDACTED}`)
    .replace(GDN_API_KEY, REDACTED)
    .replace(SIGNING_SECRET, REDACTED)
}

/** Returns headers with their secrets redacted, so that they can be shown. */
export function redactHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, HEADER.test(name) ? REDACTED : redactText(value)]),
  )
}
