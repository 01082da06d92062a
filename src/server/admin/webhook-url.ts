import { isIP } from 'node:net'
import { flagError } from '../../core/errors.ts'
import { parseUrl } from '../../core/parse-url.ts'
import { isCloudMetadata, isPublicAddress } from '../../files/address.ts'

const MAX_URL_LENGTH = 2000
const ALLOWED_URLS_HINT =
  'Use an https URL with port 443, such as https://example.com/hooks/gdn. For a private host, http and other ports are allowed, such as http://localhost:3000/hook.'
/** Matches host names that public DNS doesn't resolve. */
const PRIVATE_HOST_PATTERN = /(^|\.)(localhost|local|internal|lan|test|home\.arpa)$/

export interface WebhookUrl {
  href: string
  /** Whether the URL looks private, so that only a backend with --allow-private-files can send there. */
  isPrivate: boolean
}

/**
 * Checks a URL before it is stored. The resolved address is checked before each delivery, because DNS can change.
 *
 * @param flag the flag or argument with the URL
 * @throws GdnError `usage`
 */
export function checkWebhookUrl(text: string, flag: string): WebhookUrl {
  const url = parseUrl(text)
  const webhookUrlError = (message: string, hint: string) => flagError(flag, message, hint)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw webhookUrlError('must be an https URL', ALLOWED_URLS_HINT)
  }
  if (text.length > MAX_URL_LENGTH)
    throw webhookUrlError(`the URL is longer than ${MAX_URL_LENGTH} characters`, 'Use a shorter URL.')
  if (url.username !== '' || url.password !== '') {
    throw webhookUrlError(
      'the URL has a user name or password',
      'Remove the user name and password: the signature authenticates the sender.',
    )
  }
  if (url.hash !== '') throw webhookUrlError('the URL has a fragment (#), which is never sent', 'Remove the fragment.')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isCloudMetadata(host)) throw webhookUrlError('the URL points to a cloud metadata service', 'Use another URL.')
  const isPrivate = isPrivateHost(host)
  if (!isPrivate && url.protocol !== 'https:')
    throw webhookUrlError('must be an https URL, because the host is public', ALLOWED_URLS_HINT)
  if (!isPrivate && url.port !== '' && url.port !== '443') {
    throw webhookUrlError(`must use port 443, not ${url.port}, because the host is public`, ALLOWED_URLS_HINT)
  }
  return { href: url.href, isPrivate }
}

function isPrivateHost(host: string): boolean {
  if (isIP(host) !== 0) return !isPublicAddress(host)
  return !host.includes('.') || PRIVATE_HOST_PATTERN.test(host)
}
