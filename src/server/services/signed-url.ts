import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { WALLET_CREATE_PATH } from '../../api/endpoints/getpresignedurl.ts'
import type { FieldIssue } from '../../api/validate.ts'
import { tryDecodeComponent } from '../../core/decode-component.ts'
import type { Secret } from '../../core/secret.ts'

/** The parameters of a signed URL, as text. Names and meanings follow the API reference v1.1. */
type Parameters = Record<(typeof PARAMETER_NAMES)[number], string>

const PARAMETER_NAMES = ['expiry', 'issued_at', 'action', 'issuer', 'signature'] as const
const ACTION = 'generate_wallet'

/** The content of a signed URL. Times are Unix seconds. */
export interface SignedUrlClaims {
  expiry: number
  issued_at: number
  action: string
  issuer: string
}

/** Number of hex digits of the salt. The salt distinguishes URLs that are issued in the same second. */
const SALT_LENGTH = 32

/**
 * Percent-encodes all characters except the unreserved ones of RFC 3986, so that no HTTP client changes the encoding.
 */
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

const pair = (name: string, value: string) => `${name}=${encode(value)}`

/** Returns the salt, followed by the HMAC-SHA-256 of method, path, parameters (encoded as in the URL) and salt. */
function computeSignature(secret: Secret, signed: Omit<Parameters, 'signature'>, salt: string): string {
  const hmac = createHmac('sha256', Buffer.from(secret.reveal(), 'hex'))
  return salt + hmac.update(`POST\n${WALLET_CREATE_PATH}\n${buildQuery(signed)}\n${salt}`).digest('hex')
}

const buildQuery = ({ expiry, issued_at, action, issuer }: Omit<Parameters, 'signature'>) =>
  [pair('expiry', expiry), pair('issued_at', issued_at), pair('action', action), pair('issuer', issuer)].join('&')

/** Returns a signed URL for an origin (`https://host[:port]`). */
export function signUrl(
  secret: Secret,
  { origin, issuer, issuedAt, expiry }: { origin: string; issuer: string; issuedAt: number; expiry: number },
): string {
  const signed = { expiry: String(expiry), issued_at: String(issuedAt), action: ACTION, issuer }
  const signature = computeSignature(secret, signed, randomBytes(SALT_LENGTH / 2).toString('hex'))
  return `${origin}${WALLET_CREATE_PATH}?${buildQuery(signed)}&${pair('signature', signature)}`
}

export type SignedUrlResult =
  | { ok: true; claims: SignedUrlClaims; signature: string }
  /**
   * Result for an invalid URL. `malformed`: the query doesn't have the form of a signed URL. `tampered`: the query has
   * this form, but its signature doesn't match.
   */
  | { ok: false; reason: 'malformed'; issues: FieldIssue[] }
  | { ok: false; reason: 'tampered' }

/**
 * Parses the query of a signed URL and checks its signature. Every byte of the query must be unchanged, so reordered or
 * re-encoded parameters are rejected. Doesn't check the expiry.
 */
export function verifySignedUrl(secret: Secret, query: string): SignedUrlResult {
  const { parameters, issues } = parse(query)
  if (parameters === null) return { ok: false, reason: 'malformed', issues }
  const salt = parameters.signature.slice(0, SALT_LENGTH)
  const expected = Buffer.from(`${buildQuery(parameters)}&signature=${computeSignature(secret, parameters, salt)}`)
  const actual = Buffer.from(query)
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return { ok: false, reason: 'tampered' }
  const { expiry, issued_at, action, issuer, signature } = parameters
  return { ok: true, claims: { expiry: Number(expiry), issued_at: Number(issued_at), action, issuer }, signature }
}

const MAX_QUERY_LENGTH = 4096
const MAX_SHOWN_ISSUES = 10

const issue = (name: string, message: string, code: string): FieldIssue => ({
  field: name,
  path: name === '' ? [] : [name],
  message,
  code,
})

function parse(query: string): { parameters: Parameters | null; issues: FieldIssue[] } {
  if (query.length > MAX_QUERY_LENGTH) {
    return { parameters: null, issues: [issue('', 'has a query that is too long for a signed URL', 'custom')] }
  }
  const values = new Map<string, string>()
  const issues: FieldIssue[] = []
  for (const part of query === '' ? [] : query.split('&')) {
    const [name, value] = decodePair(part)
    if (name === null) issues.push(issue('', 'has a parameter that is not properly encoded', 'custom'))
    else if (!isKnown(name)) issues.push(issue(name.slice(0, 100), 'is not a parameter of a signed URL', 'unknown'))
    else if (values.has(name)) issues.push(issue(name, 'is repeated', 'duplicate'))
    else if (value === null) issues.push(issue(name, 'is not properly encoded', 'custom'))
    else values.set(name, value)
  }
  const reported = new Set(issues.map(({ field }) => field))
  for (const name of PARAMETER_NAMES) {
    const value = values.get(name)
    if (value === undefined) {
      if (!reported.has(name)) issues.push({ ...issue(name, 'is required', 'missing'), missing: true })
    } else if (value === '') issues.push(issue(name, 'must not be empty', 'empty'))
    else if ((name === 'expiry' || name === 'issued_at') && !/^(0|[1-9][0-9]{0,14})$/.test(value)) {
      issues.push({ ...issue(name, 'must be a Unix time in whole seconds', 'invalid_type'), expected: 'int' })
    }
  }
  if (issues.length > 0) return { parameters: null, issues: issues.slice(0, MAX_SHOWN_ISSUES) }
  return { parameters: Object.fromEntries(values) as Parameters, issues }
}

const isKnown = (name: string): name is (typeof PARAMETER_NAMES)[number] =>
  (PARAMETER_NAMES as readonly string[]).includes(name)

/**
 * Decodes a name and a value. A plus sign isn't decoded to a space, because e-mail addresses may contain plus signs.
 */
function decodePair(part: string): [name: string | null, value: string | null] {
  const at = part.indexOf('=')
  return at < 0
    ? [tryDecodeComponent(part), '']
    : [tryDecodeComponent(part.slice(0, at)), tryDecodeComponent(part.slice(at + 1))]
}
