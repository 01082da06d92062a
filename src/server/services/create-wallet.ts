import { MAX_SIGNED_URL_MINUTES } from '../../api/endpoints/getpresignedurl.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { sha256Hex } from '../../core/sha256-hex.ts'
import { deleteExpiredSignedUrls, markSignedUrlUsed } from '../store/signed-urls.ts'
import { CodedRefusal, InvalidRequest } from './refusals.ts'
import type { ServiceDeps } from './services.ts'
import { type SignedUrlClaims, verifySignedUrl } from './signed-url.ts'
import { createWalletKey, type ErasableKey } from './wallet-key.ts'

/**
 * Time in milliseconds for which a used URL stays recorded after it expires. Otherwise, the URL would become valid
 * again if a clock that was ahead is set back.
 */
const USED_URL_KEPT_MS = MAX_SIGNED_URL_MINUTES * 60_000

/** Maximum clock difference in milliseconds between two machines that share a secret. */
const MAX_SKEW_MS = 60_000

const notYetValidError = () =>
  new CodedRefusal(
    403,
    ERROR_TITLES.forbidden,
    'SIGNED_URL_NOT_YET_VALID',
    'the issue time of the signed URL is in the future, because a clock was changed: get a new URL',
  )
const expiredError = () =>
  new CodedRefusal(410, ERROR_TITLES.gone, 'SIGNED_URL_EXPIRED', 'the signed URL has expired: get a new one')
const usedError = () =>
  new CodedRefusal(410, ERROR_TITLES.gone, 'SIGNED_URL_USED', 'the signed URL was used before: get a new one')
const tamperedError = () =>
  new CodedRefusal(
    403,
    ERROR_TITLES.forbidden,
    'SIGNED_URL_INVALID',
    'the signature does not match the URL: use the URL unchanged',
  )

/**
 * Creates a wallet for the holder of a signed URL, with a key from the operating system's random generator. Only the
 * response contains the key, which is never stored or logged. The caller must destroy the key.
 *
 * @param query the URL's query, unchanged
 */
export async function createWallet(
  { store, signedUrls, now }: Pick<ServiceDeps, 'store' | 'signedUrls' | 'now'>,
  query: string,
): Promise<{ claims: SignedUrlClaims; key: ErasableKey }> {
  const signedUrl = verifySignedUrl(signedUrls.secret, query)
  if (!signedUrl.ok)
    throw signedUrl.reason === 'tampered' ? tamperedError() : new InvalidRequest(400, signedUrl.issues, 'query')
  const { claims, signature } = signedUrl
  const expiresAt = claims.expiry * 1000
  const time = signedUrls.clock()
  if (time >= expiresAt) throw expiredError()
  if (time < claims.issued_at * 1000 - MAX_SKEW_MS) throw notYetValidError()
  if (signedUrls.singleUse) {
    const signatureHash = sha256Hex(signature)
    const first = await store.transaction(async (db) => {
      await deleteExpiredSignedUrls(db, now() - USED_URL_KEPT_MS)
      return markSignedUrlUsed(db, { signatureHash, expiresAt })
    })
    if (!first) throw usedError()
  }
  return { claims, key: createWalletKey() }
}
