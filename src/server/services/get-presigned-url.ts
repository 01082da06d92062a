import { ERROR_TITLES } from '../../api/errors.ts'
import { accountEmail } from '../store/accounts.ts'
import { Refusal } from './refusals.ts'
import type { RequestOf, ServiceDeps } from './services.ts'
import { signUrl } from './signed-url.ts'

const DEFAULT_MINUTES = 60

/**
 * Returns a signed URL for the account's own e-mail address. The local account has no address, so it may specify any
 * address.
 */
export async function getPresignedUrl(
  { store, signedUrls }: Pick<ServiceDeps, 'store' | 'signedUrls'>,
  { accountId, parsed, origin }: RequestOf<'getpresignedurl'>,
) {
  const { email, timeout = DEFAULT_MINUTES } = parsed
  const ownEmail = await accountEmail(store.db, accountId)
  if (ownEmail !== null && ownEmail !== email.toLowerCase()) {
    // The error doesn't reveal whether the address has an account.
    throw new Refusal(403, ERROR_TITLES.forbidden, "email must be the address of the API key's own account")
  }
  const issuedAt = Math.floor(signedUrls.clock() / 1000)
  const url = signUrl(signedUrls.secret, { origin: origin(), issuer: email, issuedAt, expiry: issuedAt + timeout * 60 })
  return { request: { email, timeout }, response: { url } }
}
