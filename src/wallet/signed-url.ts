import { isLoopback } from '../client/base-url.ts'
import { GdnError } from '../core/errors.ts'
import { parseUrl } from '../core/parse-url.ts'

/** Hosts that a signed URL may be on. */
export interface WalletHosts {
  /** Of the server that gave it. */
  baseUrl: string
  /** Another that the user named, and where: `GDN_WALLET_URL` or a profile. */
  walletUrl: { value: string; from: string } | null
}

/**
 * Checks where a signed URL points before it is called: whoever answers there knows the private key. Messages don't
 * tell the URL, which is a secret until it has expired.
 *
 * @throws GdnError `bad_answer`
 */
export function checkSignedUrl(signedUrl: string, { baseUrl, walletUrl }: WalletHosts): URL {
  const fail = (message: string, hint: string) => new GdnError('bad_answer', message, { hint })
  const url = parseUrl(signedUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw fail('the server gave something that is no URL to be called', 'check the base URL')
  }
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw fail('the signed URL of the server has parts that none has: user info, or a fragment', 'check the base URL')
  }
  const { origin } = url
  const allowed = [new URL(baseUrl).origin, ...(walletUrl === null ? [] : [new URL(walletUrl.value).origin])]
  if (!allowed.includes(origin)) {
    throw fail(
      `the signed URL points to ${origin}, which isn't known as a host of wallets`,
      walletUrl === null
        ? `if your service says that it is: GDN_WALLET_URL=${origin}, or gdn config set wallet_url ${origin}`
        : `${walletUrl.from} names ${walletUrl.value}`,
    )
  }
  if (url.protocol === 'http:' && !isLoopback(url)) {
    throw fail(`a private key would travel from ${url.host} in clear text`, 'the service must serve it over https')
  }
  return url
}
