import { FetchFailure } from './failure.ts'
import { PrivateAddressError } from './lookup.ts'
import { privateAddress } from './target.ts'

interface Reason {
  says: string
  lasting: boolean
  hint?: string
}

const passing = (says: string): Reason => ({ says, lasting: false })

const UNKNOWN_HOST: Reason = {
  says: 'has a host that is not known',
  lasting: false,
  hint: 'check the spelling of the host; it will be tried again, because new names take time to spread',
}
const BAD_CERTIFICATE: Reason = {
  says: 'has a certificate that is not trusted',
  lasting: true,
  hint: 'use a server whose certificate is valid for this host',
}
const BROKEN_COMPRESSION: Reason = { says: 'answered with broken compression', lasting: true }

const BY_CODE: Record<string, Reason> = {
  ENOTFOUND: UNKNOWN_HOST,
  ENODATA: UNKNOWN_HOST,
  EAI_AGAIN: passing('has a host that could not be resolved just now'),
  ECONNREFUSED: passing('refused the connection'),
  ECONNRESET: passing('broke off the connection'),
  EPIPE: passing('broke off the connection'),
  UND_ERR_SOCKET: passing('broke off the connection'),
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: passing('broke off the connection'),
  HPE_INVALID_EOF_STATE: passing('broke off the connection'),
  ETIMEDOUT: passing('can not be reached'),
  EHOSTUNREACH: passing('can not be reached'),
  ENETUNREACH: passing('can not be reached'),
  UND_ERR_CONNECT_TIMEOUT: passing('took too long to connect'),
  UND_ERR_HEADERS_TIMEOUT: passing('took too long to answer'),
  UND_ERR_BODY_TIMEOUT: passing('stopped sending'),
  UND_ERR_HEADERS_OVERFLOW: { says: 'answered with too long headers', lasting: true },
  // A stream that ends early is a broken transfer, other errors of zlib are bytes that were never right.
  Z_BUF_ERROR: passing('broke off the connection'),
  Z_DATA_ERROR: BROKEN_COMPRESSION,
  Z_NEED_DICT: BROKEN_COMPRESSION,
  CERT_HAS_EXPIRED: BAD_CERTIFICATE,
  CERT_NOT_YET_VALID: BAD_CERTIFICATE,
  DEPTH_ZERO_SELF_SIGNED_CERT: BAD_CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: BAD_CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: BAD_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT: BAD_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: BAD_CERTIFICATE,
  ERR_TLS_CERT_ALTNAME_INVALID: BAD_CERTIFICATE,
}

/** An error of the network in words that a person can act on. What isn't known is taken for passing. */
export function explainFailure(error: unknown, label: string): FetchFailure {
  for (const cause of causes(error)) {
    if (cause instanceof PrivateAddressError) return privateAddress(label, cause.address)
    const code = 'code' in cause ? String(cause.code) : ''
    const reason = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined
    if (reason !== undefined) {
      const { says, lasting, hint } = reason
      return new FetchFailure(`${label} ${says}`, { lasting, cause: error, ...(hint === undefined ? {} : { hint }) })
    }
    if (cause.name === 'HTTPParserError') {
      return new FetchFailure(`${label} answered something that is not HTTP`, { lasting: true, cause: error })
    }
    // Brotli names each kind of bad bytes; which prefix depends on the version of Node.
    if (code.startsWith('ERR_BROTLI') || code.startsWith('ERR__ERROR')) {
      return new FetchFailure(`${label} ${BROKEN_COMPRESSION.says}`, { lasting: true, cause: error })
    }
  }
  return new FetchFailure(`${label} could not be fetched`, { lasting: false, cause: error })
}

/** An error, its causes, and the errors of an attempt on several addresses, outermost first. */
function* causes(error: unknown): Generator<Error> {
  const queue = [error]
  for (let depth = 0; depth < 8 && queue.length > 0; depth++) {
    const next = queue.shift()
    if (!(next instanceof Error)) continue
    yield next
    queue.push(next.cause, ...(next instanceof AggregateError ? next.errors : []))
  }
}
