import { isIP } from 'node:net'
import { isCloudMetadata, isPublicAddress } from './address.ts'
import { FetchFailure } from './failure.ts'

export interface Target {
  url: URL
  /** How failures name it: the URL, shortened, without a password that it may hold. */
  label: string
}

const MAX_LABEL = 200

/**
 * What may be asked of a URL before anything is resolved or connected. `allowPrivate` lifts the rules on addresses and
 * ports, no others; a function says for which URLs.
 *
 * @throws FetchFailure, lasting, that says which rule the URL breaks.
 */
export function checkTarget(
  text: string | URL,
  allowPrivate: boolean | ((url: URL) => boolean),
  from?: Target,
): Target {
  const url = parse(text, from)
  const label = labelOf(url, from)
  const refuse = (why: string, hint: string) => new FetchFailure(`${label} ${why}`, { lasting: true, hint })

  const refusePrivate = (why: string, hint: string) =>
    new FetchFailure(`${label} ${why}`, { lasting: true, hint, isPrivate: true })

  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw refuse('is neither http nor https', 'give an http, https or ipfs URL')
  }
  if (url.username !== '' || url.password !== '') {
    throw refuse('holds a user name or password', 'leave them out: such a URL would be published with the NFT')
  }
  if (from?.url.protocol === 'https:' && url.protocol === 'http:') {
    throw refuse('is not encrypted, though what redirects to it is', 'give the URL of the file itself')
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isCloudMetadata(host)) throw privateAddress(label, host)
  if (typeof allowPrivate === 'function' ? allowPrivate(url) : allowPrivate) return { url, label }

  if (!['', '80', '443'].includes(url.port)) {
    throw refusePrivate(`uses port ${url.port}`, 'only ports 80 and 443 are fetched from')
  }
  if (host.endsWith('.')) throw refusePrivate('has a host that ends with a dot', 'leave the dot out')
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw privateAddress(label, host)
  if (host === 'localhost' || host.endsWith('.localhost')) throw privateAddress(label, host)
  return { url, label }
}

/** The one answer to every address that isn't public, found in the URL or by resolving its host. */
export function privateAddress(label: string, address: string): FetchFailure {
  return new FetchFailure(`${label} resolves to a private address (${address})`, {
    lasting: true,
    isPrivate: true,
    hint: 'give a URL on the public internet; for development, start the backend with --allow-private-files',
  })
}

function parse(text: string | URL, from: Target | undefined): URL {
  try {
    return new URL(text, from?.url)
  } catch (cause) {
    const what = from === undefined ? JSON.stringify(shorten(String(text))) : `${from.label} redirects to what`
    throw new FetchFailure(`${what} is not a URL`, { lasting: true, hint: 'give a whole http or https URL', cause })
  }
}

function labelOf(url: URL, from: Target | undefined): string {
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  shown.hash = ''
  return from === undefined ? shorten(shown.href) : `${from.label} redirects to ${shorten(shown.href)}, which`
}

function shorten(text: string): string {
  return text.length <= MAX_LABEL ? text : `${text.slice(0, MAX_LABEL)}…`
}
