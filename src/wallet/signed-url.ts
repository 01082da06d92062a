import { GdnError } from '../core/errors.ts'
import { isLoopbackUrl, parseUrl } from '../core/parse-url.ts'

/** The allowed origins of signed URLs. */
export interface WalletHosts {
  /** The server that returned the signed URL. */
  baseUrl: string
  /** Another origin that the user configured. `from` is the source of the setting: `GDN_WALLET_URL` or a profile. */
  walletUrl: { value: string; from: string } | null
}

/**
 * Checks the origin of a signed URL before the URL is called, because the host of the URL has access to the private
 * key. Messages don't contain the URL, which is secret until it expires.
 *
 * @throws GdnError `bad_answer`
 */
export function checkSignedUrl(signedUrl: string, { baseUrl, walletUrl }: WalletHosts): URL {
  const signedUrlError = (message: string, hint: string) => new GdnError('bad_answer', message, { hint })
  const url = parseUrl(signedUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw signedUrlError('the server returned an invalid signed URL', 'Check the base URL.')
  }
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw signedUrlError(
      'the signed URL of the server has a user name, a password or a fragment',
      'Check the base URL.',
    )
  }
  const { origin } = url
  const allowed = [new URL(baseUrl).origin, ...(walletUrl === null ? [] : [new URL(walletUrl.value).origin])]
  if (!allowed.includes(origin)) {
    throw signedUrlError(
      `the signed URL points to ${origin}, which is not a configured wallet origin`,
      walletUrl === null
        ? `If your service confirms this origin, set GDN_WALLET_URL=${origin}, or run \`gdn config set wallet_url ${origin}\`.`
        : `Check the wallet origin: ${walletUrl.from} is ${walletUrl.value}.`,
    )
  }
  if (url.protocol === 'http:' && !isLoopbackUrl(url)) {
    throw signedUrlError(`a private key would be sent by ${url.host} in clear text`, 'The service must use https.')
  }
  return url
}
