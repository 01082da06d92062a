import { GdnError, systemCode } from '../core/errors.ts'
import { isLoopbackUrl } from '../core/parse-url.ts'
import type { TransportError } from './transport.ts'

/** Returns the error for a failed request, with the server, the cause, and a hint about what to check. */
export function unreachableError(url: string, error: TransportError): GdnError {
  const { origin, hostname, host } = new URL(url)
  const code = causeCode(error)
  const causeError = (message: string, hint: string) => new GdnError('unreachable', message, { hint, cause: error })
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return causeError(
        `can't resolve the host name ${hostname}`,
        'Check the base URL, the network and the name server.',
      )
    case 'ECONNREFUSED':
      return isLoopbackUrl(new URL(url))
        ? causeError(
            `nothing listens at ${origin}`,
            'Run `gdn local start` or `gdn serve` to start a backend, or check the base URL.',
          )
        : causeError(`${host} refuses connections`, 'Check the host and port of the base URL.')
    default:
      if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/.test(code)) {
        return causeError(`can't trust the certificate of ${host}: ${error.message}`, certificateHint(code))
      }
      if (/SSL|EPROTO/.test(code)) {
        return causeError(`TLS with ${host} failed: ${error.message}`, 'Check that the server uses https on this port.')
      }
      return causeError(`can't reach ${url}: ${error.message}`, 'Check the network and the base URL, then try again.')
  }
}

/** Returns the error for a server that accepted a request and didn't respond before the command's timeout. */
export const noResponseError = (url: string, timeUp: GdnError): GdnError =>
  timeUp.with({
    message: `${timeUp.message} before ${new URL(url).origin} responded`,
    hint: 'Run `gdn doctor` to check the server, or run the same command again with a longer --timeout.',
  })

function certificateHint(code: string): string {
  return code === 'CERT_HAS_EXPIRED'
    ? 'The certificate has expired. Check the clock of this machine too.'
    : 'Check the host name. For a private certificate authority, set NODE_EXTRA_CA_CERTS.'
}

/**
 * Returns the system error code of the innermost cause. If several addresses were tried, the cause is an
 * AggregateError.
 */
function causeCode(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = systemCode(at)
    if (code !== undefined) return code
    if (at instanceof AggregateError && at.errors.length > 0) return causeCode(at.errors[0])
  }
  return ''
}
