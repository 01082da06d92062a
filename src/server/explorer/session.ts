import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { TITLES } from '../../api/errors.ts'
import type { Permission } from '../../api/permissions.ts'
import { Secret } from '../../core/secret.ts'
import { type Caller, callerOfKey, findCaller } from '../services/authenticate.ts'
import { Refusal } from '../services/refusal.ts'
import type { Db } from '../store/schema.ts'
import { forgetSignedUrls, isSignedUrlUsed, useSignedUrl } from '../store/signed-urls.ts'

/** What looking at NFTs needs. */
const NEEDED: Permission = 'nft:read'

export const SESSION_MS = 12 * 60 * 60_000

/** A session names a key and ends at a time, or with the key. It is signed: nobody makes one but this server. */
export function signSession(secret: Secret, { keyId, now }: { keyId: string; now: number }): string {
  const said = `${keyId}.${now + SESSION_MS}`
  return `${said}.${signatureOf(secret, said)}`
}

/** The server's secret signs URLs too: what is signed here is of another kind, so neither serves for the other. */
function signatureOf(secret: Secret, said: string): string {
  const own = createHmac('sha256', Buffer.from(secret.reveal(), 'hex')).update('gdn explorer session 1').digest()
  return createHmac('sha256', own).update(said).digest('base64url')
}

/** The key that a session was opened with, or null for one that is over or was not signed here. */
function readSession(secret: Secret, session: string, now: number): string | null {
  const [, said = '', keyId = '', end = '', signature = ''] =
    /^(([A-Za-z0-9-]{1,64})\.(\d{1,15}))\.([A-Za-z0-9_-]{43})$/.exec(session) ?? []
  const [given, expected] = [Buffer.from(signature), Buffer.from(signatureOf(secret, said))]
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null
  return Number(end) > now ? keyId : null
}

/** Whom a key lets in. @throws Refusal 401 for one that isn't valid, 403 for one that may not read */
export async function admit(db: Db, key: string, now: number): Promise<Caller> {
  const caller = key === '' ? null : await findCaller(db, new Secret(key, { known: false }), now)
  if (caller === null) throw new Refusal(401, TITLES.unauthorized, 'this API key is not valid')
  if (!caller.permissions.has(NEEDED)) {
    throw new Refusal(403, TITLES.forbidden, `this API key lacks the permission ${NEEDED}`)
  }
  return caller
}

/** Who has a session, as long as its key may read; null where it is over. */
export async function resume(db: Db, secret: Secret, session: string, now: number): Promise<Caller | null> {
  const keyId = readSession(secret, session, now)
  if (keyId === null || (await isSignedUrlUsed(db, hashOf(session)))) return null
  const caller = await callerOfKey(db, keyId, now)
  return caller?.permissions.has(NEEDED) ? caller : null
}

/**
 * Ends a session for all processes of the backend, also after a restart. It is kept among the used signed URLs until it
 * would have expired: both are texts with our signature that must not be accepted again.
 */
export async function endSession(db: Db, secret: Secret, session: string, now: number): Promise<void> {
  if (readSession(secret, session, now) === null) return
  await forgetSignedUrls(db, now - SESSION_MS)
  await useSignedUrl(db, { signatureHash: hashOf(session), expiresAt: now + SESSION_MS })
}

const hashOf = (session: string): string => createHash('sha256').update(session).digest('hex')
