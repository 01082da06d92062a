import { isIP } from 'node:net'
import { GdnError } from '../../core/errors.ts'
import { parseUrl } from '../../core/parse-url.ts'
import { isPublicAddress } from '../../files/address.ts'

const MAX_URL = 2000
/** Top-level names that no public DNS answers for. */
const PRIVATE_NAMES = /(^|\.)(localhost|local|internal|lan|test|home\.arpa)$/

export interface WebhookUrl {
  href: string
  /** By its looks nobody but a backend with --allow-private-files can send there. */
  isPrivate: boolean
}

/**
 * Checks a URL before it is kept. Where it leads is checked again with each event that is sent: names change.
 *
 * @throws GdnError `usage`
 */
export function checkWebhookUrl(text: string): WebhookUrl {
  const url = parseUrl(text)
  const refuse = (message: string, hint: string) => new GdnError('usage', message, { place: { flag: '<url>' }, hint })
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw refuse('is not an https URL', 'give the whole of it: https://example.com/hooks/gdn')
  }
  if (text.length > MAX_URL) throw refuse(`is longer than ${MAX_URL} characters`, 'give a shorter one')
  if (url.username !== '' || url.password !== '') {
    throw refuse('holds a user name or password', 'leave them out: the signature says who sends')
  }
  if (url.hash !== '') throw refuse('has a part behind #, which is never sent', 'leave it out')
  const isPrivate = looksPrivate(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  if (!isPrivate && url.protocol !== 'https:') throw refuse('is not encrypted', 'give an https URL')
  if (!isPrivate && url.port !== '' && url.port !== '443') {
    throw refuse(`uses port ${url.port}`, 'events are sent to port 443 of public hosts')
  }
  return { href: url.href, isPrivate }
}

function looksPrivate(host: string): boolean {
  if (isIP(host) !== 0) return !isPublicAddress(host)
  return !host.includes('.') || PRIVATE_NAMES.test(host)
}
