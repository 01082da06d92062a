import { GdnError, systemCode } from '../core/errors.ts'
import { isLoopback } from './base-url.ts'
import type { TransportError } from './transport.ts'

/** What a network fault means to the person at the keyboard: the server, what happened, and what to check. */
export function unreachable(url: string, error: TransportError): GdnError {
  const { origin, hostname, host } = new URL(url)
  const code = causeCode(error)
  const of = (message: string, hint: string) => new GdnError('unreachable', message, { hint, cause: error })
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return of(`the name ${hostname} can't be resolved`, 'check the base URL, the network and the name server')
    case 'ECONNREFUSED':
      return isLoopback(new URL(url))
        ? of(`nothing answers at ${origin}`, 'start the backend (gdn local start, or gdn serve), or check the base URL')
        : of(`${host} refuses connections`, 'check host and port of the base URL')
    default:
      if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/.test(code)) {
        return of(`the certificate of ${host} can't be trusted: ${error.message}`, certificateHint(code))
      }
      if (/SSL|EPROTO/.test(code)) {
        return of(`no TLS with ${host}: ${error.message}`, 'does the server speak https on this port?')
      }
      return of(`${url} can't be reached: ${error.message}`, 'check the network and the base URL, then try again')
  }
}

function certificateHint(code: string): string {
  return code === 'CERT_HAS_EXPIRED'
    ? 'it has expired; the clock of this machine may be wrong too'
    : 'check the host name; a private authority goes into NODE_EXTRA_CA_CERTS'
}

/** The system's code of the innermost cause: addresses tried one after the other come as one AggregateError. */
function causeCode(error: unknown): string {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const code = systemCode(at)
    if (code !== undefined) return code
    if (at instanceof AggregateError && at.errors.length > 0) return causeCode(at.errors[0])
  }
  return ''
}
