import { GdnError, messageOf, systemCode } from '../../../core/errors.ts'

/** Classes and codes of PostgreSQL that say: not now. */
const PASSING = new Set([
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  '25P03', // idle_in_transaction_session_timeout
  '25006', // read_only_sql_transaction: a standby, in the moment of a failover
  '53000', // insufficient_resources
  '53100', // disk_full
  '53200', // out_of_memory
  '53300', // too_many_connections
])
const SYSTEM = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND'],
  ...['EAI_AGAIN', 'ENOENT'],
])
/** What the driver says by words alone. */
const WORDS =
  /Connection terminated|not queryable|timeout exceeded when trying to connect|Query read timeout|Client was closed|server conn crashed|query_wait_timeout|pooler|Cannot use a pool after/i

/**
 * Whether a query failed because the database can't be reached or can't serve at this moment: nothing is wrong with the
 * query, and later it may work.
 */
export function isDatabaseGone(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const code = systemCode(at) ?? ''
    if (PASSING.has(code) || code.startsWith('08') || WORDS.test(messageOf(at))) return true
    if (SYSTEM.has(code) && 'syscall' in at && /^(connect|read|write|getaddrinfo)$/.test(String(at.syscall)))
      return true
    if (at instanceof AggregateError && at.errors.some(isDatabaseGone)) return true
  }
  return false
}

/** A failure that is the database's is told as one: nobody's command or start is at fault. */
export function toldOfDatabase(error: unknown): unknown {
  if (error instanceof GdnError || !isDatabaseGone(error)) return error
  return new GdnError('unreachable', `the database went away: ${messageOf(error)}`, {
    hint: 'check that the server runs, then try again',
    cause: error,
  })
}

const REPEATED = new Set(['40001', '40P01'])

/** Whether a transaction was ended for the sake of others: the same work may be done again at once. */
export const isConflict = (error: unknown): boolean => REPEATED.has(systemCode(error) ?? '')

/** A text that PostgreSQL can't hold: one with a NUL character. */
export const isUnstorableText = (error: unknown): boolean => systemCode(error) === '22021'
