import { GdnError, messageOf, systemCode } from '../../../core/errors.ts'

/** Codes of temporary PostgreSQL errors. All codes of class 08 (connection exception) count as well. */
const TEMPORARY_CODES = new Set([
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  '25P03', // idle_in_transaction_session_timeout
  '25006', // read_only_sql_transaction: a standby during a failover
  '53000', // insufficient_resources
  '53100', // disk_full
  '53200', // out_of_memory
  '53300', // too_many_connections
])
const SYSTEM_ERROR_CODES = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'],
  ...['EAI_AGAIN', 'ENOENT'],
])
/** Matches the messages of errors that have no code in the driver. */
const LOST_CONNECTION_PATTERN =
  /Connection terminated|not queryable|timeout exceeded when trying to connect|Query read timeout|Client was closed|server conn crashed|query_wait_timeout|pooler|Cannot use a pool after/i

/**
 * Returns whether a query failed because the database is unreachable or temporarily can't serve it. The query itself is
 * valid, and may succeed later.
 */
export function isDatabaseGone(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const code = systemCode(at) ?? ''
    if (TEMPORARY_CODES.has(code) || code.startsWith('08') || LOST_CONNECTION_PATTERN.test(messageOf(at))) return true
    if (
      SYSTEM_ERROR_CODES.has(code) &&
      'syscall' in at &&
      /^(connect|read|write|getaddrinfo)$/.test(String(at.syscall))
    )
      return true
    if (at instanceof AggregateError && at.errors.some(isDatabaseGone)) return true
  }
  return false
}

/**
 * Returns an `unreachable` error for a failure of the database, so that it isn't reported as a failure of the command
 * or of the backend's start. Returns other errors unchanged.
 */
export function toDatabaseError(error: unknown): unknown {
  if (error instanceof GdnError || !isDatabaseGone(error)) return error
  return new GdnError('unreachable', `the database connection was lost: ${messageOf(error)}`, {
    hint: 'Check that the server is running, then try again.',
    cause: error,
  })
}

const CONFLICT_CODES = new Set(['40001', '40P01'])

/**
 * Returns whether a transaction was aborted in favor of another one (deadlock, serialization). If so, an immediate
 * retry may succeed.
 */
export const isConflict = (error: unknown): boolean => CONFLICT_CODES.has(systemCode(error) ?? '')

/** Returns whether a query failed because a string has a NUL character, which PostgreSQL can't store. */
export const isUnstorableText = (error: unknown): boolean => systemCode(error) === '22021'
