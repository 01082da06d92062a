import { FetchFailure } from './failure.ts'
import { PrivateAddressError } from './lookup.ts'
import { privateAddressError } from './target.ts'

interface FailureReason {
  message: string
  isLasting: boolean
  hint?: string
}

const temporaryReason = (message: string): FailureReason => ({ message, isLasting: false })

const UNKNOWN_HOST: FailureReason = {
  message: 'has an unknown host',
  isLasting: false,
  hint: 'Check the spelling of the host. The download will be retried, because new names take time to propagate.',
}
const BAD_CERTIFICATE: FailureReason = {
  message: 'has a certificate that is not trusted',
  isLasting: true,
  hint: 'Use a server whose certificate is valid for this host.',
}
const BROKEN_COMPRESSION: FailureReason = { message: 'returned invalid compressed data', isLasting: true }

const REASON_BY_CODE: Record<string, FailureReason> = {
  ENOTFOUND: UNKNOWN_HOST,
  ENODATA: UNKNOWN_HOST,
  EAI_AGAIN: temporaryReason("has a host that can't be resolved at the moment"),
  ECONNREFUSED: temporaryReason('refused the connection'),
  ECONNRESET: temporaryReason('closed the connection early'),
  EPIPE: temporaryReason('closed the connection early'),
  UND_ERR_SOCKET: temporaryReason('closed the connection early'),
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: temporaryReason('closed the connection early'),
  HPE_INVALID_EOF_STATE: temporaryReason('closed the connection early'),
  ETIMEDOUT: temporaryReason("can't be reached"),
  EHOSTUNREACH: temporaryReason("can't be reached"),
  ENETUNREACH: temporaryReason("can't be reached"),
  UND_ERR_CONNECT_TIMEOUT: temporaryReason('took too long to connect'),
  UND_ERR_HEADERS_TIMEOUT: temporaryReason('took too long to respond'),
  UND_ERR_BODY_TIMEOUT: temporaryReason('stopped sending'),
  UND_ERR_HEADERS_OVERFLOW: { message: 'returned headers that are too long', isLasting: true },
  // If a compressed stream ends early, the transfer was interrupted. Other zlib errors mean that the bytes are invalid.
  Z_BUF_ERROR: temporaryReason('closed the connection early'),
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

/** Converts a network error to a failure whose message contains the reason. Treats unknown errors as temporary. */
export function toFetchFailure(error: unknown, label: string): FetchFailure {
  for (const cause of causes(error)) {
    if (cause instanceof PrivateAddressError) return privateAddressError(label, cause.address)
    const code = 'code' in cause ? String(cause.code) : ''
    const reason = Object.hasOwn(REASON_BY_CODE, code) ? REASON_BY_CODE[code] : undefined
    if (reason !== undefined) {
      const { message, isLasting, hint } = reason
      return new FetchFailure(`${label} ${message}`, { isLasting, cause: error, hint })
    }
    if (cause.name === 'HTTPParserError') {
      return new FetchFailure(`${label} returned an invalid HTTP response`, { isLasting: true, cause: error })
    }
    // Brotli has a separate error code for each kind of invalid data. The prefix depends on the Node.js version.
    if (code.startsWith('ERR_BROTLI') || code.startsWith('ERR__ERROR')) {
      return new FetchFailure(`${label} ${BROKEN_COMPRESSION.message}`, { isLasting: true, cause: error })
    }
  }
  return new FetchFailure(`${label} could not be fetched`, { isLasting: false, cause: error })
}

/** Yields an error, its causes, and the errors of connection attempts to several addresses, outermost first. */
function* causes(error: unknown): Generator<Error> {
  const queue = [error]
  for (let depth = 0; depth < 8 && queue.length > 0; depth++) {
    const next = queue.shift()
    if (!(next instanceof Error)) continue
    yield next
    queue.push(next.cause, ...(next instanceof AggregateError ? next.errors : []))
  }
}
