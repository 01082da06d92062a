import { isIP } from 'node:net'
import { shorten } from '../core/shorten.ts'
import { isCloudMetadata, isPublicAddress } from './address.ts'
import { FetchFailure } from './failure.ts'

export interface FileTarget {
  url: URL
  /** The name of the target in errors, which is the shortened URL without a password. */
  label: string
}

const MAX_LABEL_LENGTH = 200

/**
 * Checks whether a URL may be requested, before its host is resolved or connected to. `allowPrivate` permits private
 * addresses and any port, but never cloud metadata addresses. If it is a function, it decides for each URL.
 *
 * @throws a lasting FetchFailure with the rule that the URL violates
 */
export function checkTarget(
  text: string | URL,
  allowPrivate: boolean | ((url: URL) => boolean),
  from?: FileTarget,
): FileTarget {
  const url = parseTarget(text, from)
  const label = formatLabel(url, from)
  const targetError = (why: string, hint: string) => new FetchFailure(`${label} ${why}`, { isLasting: true, hint })

  const privateTargetError = (why: string, hint: string) =>
    new FetchFailure(`${label} ${why}`, { isLasting: true, hint, isPrivate: true })

  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw targetError('is neither http nor https', 'Use an http, https or ipfs URL.')
  }
  if (url.username !== '' || url.password !== '') {
    throw targetError(
      'has a user name or password',
      'Remove the user name and password, because the URL would be published with the NFT.',
    )
  }
  if (from?.url.protocol === 'https:' && url.protocol === 'http:') {
    throw targetError('is not encrypted, unlike the URL that redirects to it', 'Use the URL of the file itself.')
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isCloudMetadata(host)) throw privateAddressError(label, host)
  if (typeof allowPrivate === 'function' ? allowPrivate(url) : allowPrivate) return { url, label }

  if (!['', '80', '443'].includes(url.port)) {
    throw privateTargetError(
      `uses port ${url.port} instead of 80 or 443`,
      'Use port 80 or 443. For development, start the backend with --allow-private-files.',
    )
  }
  if (host.endsWith('.')) throw privateTargetError('has a host that ends with a dot', 'Remove the dot.')
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw privateAddressError(label, host)
  if (host === 'localhost' || host.endsWith('.localhost')) throw privateAddressError(label, host)
  return { url, label }
}

/** Returns the failure for a private or cloud metadata address that the URL contains or to which its host resolves. */
export function privateAddressError(label: string, address: string): FetchFailure {
  if (isCloudMetadata(address)) {
    const message = `${label} resolves to a cloud metadata address (${address})`
    return new FetchFailure(message, { isLasting: true, hint: 'Use a URL on the public internet.' })
  }
  return new FetchFailure(`${label} resolves to a private address (${address})`, {
    isLasting: true,
    isPrivate: true,
    hint: 'Use a URL on the public internet. For development, start the backend with --allow-private-files.',
  })
}

function parseTarget(text: string | URL, from: FileTarget | undefined): URL {
  try {
    return new URL(text, from?.url)
  } catch (cause) {
    const subject =
      from === undefined
        ? JSON.stringify(shorten(String(text), MAX_LABEL_LENGTH))
        : `${from.label} redirects to a location that`
    throw new FetchFailure(`${subject} is not a URL`, {
      isLasting: true,
      hint: 'Use a complete http or https URL.',
      cause,
    })
  }
}

function formatLabel(url: URL, from: FileTarget | undefined): string {
  const shownUrl = new URL(url)
  shownUrl.username = ''
  shownUrl.password = ''
  shownUrl.hash = ''
  return from === undefined
    ? shorten(shownUrl.href, MAX_LABEL_LENGTH)
    : `${from.label} redirects to ${shorten(shownUrl.href, MAX_LABEL_LENGTH)}, which`
}
