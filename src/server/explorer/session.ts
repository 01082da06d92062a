import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { ERROR_TITLES } from '../../api/errors.ts'
import type { Permission } from '../../api/permissions.ts'
import { Secret } from '../../core/secret.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import { type Caller, findCaller, findCallerById } from '../services/authenticate.ts'
import { Refusal } from '../services/refusals.ts'
import type { Db } from '../store/schema.ts'
import { deleteExpiredSignedUrls, isSignedUrlUsed, markSignedUrlUsed } from '../store/signed-urls.ts'

/** The permission that a key must have to view NFTs. */
const REQUIRED_PERMISSION: Permission = 'nft:read'

export const SESSION_LIFETIME_MS = 12 * 60 * 60_000

/** The values from which the key of session signatures is derived. */
export interface SessionSigner {
  secret: Secret
  /**
   * The database's incarnation. A new incarnation ends all sessions, because a restored database has no record of
   * sessions that ended after its backup.
   */
  incarnation: string
}

/**
 * Signs a session, which has a key's ID and an expiry. Only this server can create a session. A random part makes each
 * session unique, so that ending a session doesn't end another one that was opened in the same millisecond.
 */
export function signSession(signer: SessionSigner, { keyId, now }: { keyId: string; now: number }): string {
  const payload = `${keyId}.${now + SESSION_LIFETIME_MS}.${randomBytes(16).toString('base64url')}`
  return `${payload}.${computeSignature(signer, payload)}`
}

/**
 * Returns the signature of a session. The key of the signature is derived from the server's secret, because the secret
 * itself signs URLs.
 */
function computeSignature({ secret, incarnation }: SessionSigner, payload: string): string {
  const keyHmac = createHmac('sha256', Buffer.from(secret.reveal(), 'hex')).update(
    `gdn explorer session 2 ${incarnation}`,
  )
  return createHmac('sha256', keyHmac.digest()).update(payload).digest('base64url')
}

/**
 * Returns the key and the expiry of a session. Returns null if the session has expired or wasn't signed by this server.
 */
function parseSession(signer: SessionSigner, session: string, now: number): { keyId: string; end: number } | null {
  const [, payload = '', keyId = '', end = '', signature = ''] =
    /^(([A-Za-z0-9-]{1,64})\.(\d{1,15})\.[A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/.exec(session) ?? []
  const [actual, expected] = [Buffer.from(signature), Buffer.from(computeSignature(signer, payload))]
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return null
  return Number(end) > now ? { keyId, end: Number(end) } : null
}

/**
 * Returns the caller that a key identifies.
 *
 * @throws Refusal 401 for an invalid key, 403 for a key without the permission
 */
export async function authenticateKey(db: Db, key: string, now: number): Promise<Caller> {
  const caller = key === '' ? null : await findCaller(db, new Secret(key, { known: false }), now)
  if (caller === null) throw new Refusal(401, ERROR_TITLES.unauthorized, 'this API key is not valid')
  if (!caller.permissions.has(REQUIRED_PERMISSION)) {
    throw new Refusal(403, ERROR_TITLES.forbidden, `this API key lacks the permission ${REQUIRED_PERMISSION}`)
  }
  return caller
}

/** Returns the caller of a session. Returns null if the session isn't valid or its key lacks the permission. */
export async function resumeSession(
  db: Db,
  signer: SessionSigner,
  session: string,
  now: number,
): Promise<Caller | null> {
  const parsed = parseSession(signer, session, now)
  if (parsed === null || (await isSignedUrlUsed(db, sha256Hex(session)))) return null
  const caller = await findCallerById(db, parsed.keyId, now)
  return caller?.permissions.has(REQUIRED_PERMISSION) ? caller : null
}

/**
 * Ends a session for all processes of the backend, across restarts. The session's hash is stored with the hashes of
 * used signed URLs, because neither an ended session nor a used URL may be accepted again. The hash is kept until the
 * session would have expired, even if the clock is set back.
 */
export async function endSession(db: Db, signer: SessionSigner, session: string, now: number): Promise<void> {
  const parsed = parseSession(signer, session, now)
  if (parsed === null) return
  await deleteExpiredSignedUrls(db, now - SESSION_LIFETIME_MS)
  await markSignedUrlUsed(db, {
    signatureHash: sha256Hex(session),
    expiresAt: Math.max(parsed.end, now + SESSION_LIFETIME_MS),
  })
}
