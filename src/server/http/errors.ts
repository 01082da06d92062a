import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorForm, ErrorFormA, ErrorFormB } from '../../api/errors.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import { messageOf } from '../../core/errors.ts'
import { isDiskFull } from '../data-dir/disk-full.ts'
import type { Log } from '../log.ts'
import { nothingAcceptedError, Refusal } from '../services/refusals.ts'
import { StorageUnavailableError } from '../storage/adapter.ts'
import { isDatabaseGone, isUnstorableText } from '../store/postgres/gone.ts'
import { formB } from './form-b.ts'
import { SECURITY_HEADERS } from './security-headers.ts'

const formA = (title: string, message: string): ErrorFormA => ({ error: { title, message } })

function toErrorBody(form: ErrorForm, refusal: Refusal): ErrorFormA | ErrorFormB {
  if (form === 'B') return formB(refusal)
  const { error } = formA(refusal.title, refusal.message)
  return { error: { ...error, ...refusal.details } }
}

/** Returns the rejection for a client error of the framework; null for other errors. */
function toRefusal(error: FastifyError, validationStatus: number): Refusal | null {
  const status = error.statusCode ?? 500
  if (status === 413) return new Refusal(413, ERROR_TITLES.tooLarge, 'the body is larger than this server accepts')
  if (status === 415) {
    return new Refusal(415, ERROR_TITLES.unsupportedMediaType, 'the body must have the content-type application/json')
  }
  if (status === 400) {
    return error.code === 'FST_ERR_BAD_URL'
      ? new Refusal(400, ERROR_TITLES.badRequest, 'the path is not valid')
      : new Refusal(validationStatus, ERROR_TITLES.validation, `the body is not valid JSON: ${error.message}`)
  }
  if (status >= 400 && status < 500) return new Refusal(status, ERROR_TITLES.badRequest, error.message)
  return null
}

/**
 * Returns the rejection if the disk is full; null for other errors. The error is temporary, and nothing was accepted.
 */
function diskFull(error: FastifyError, log: Log): Refusal | null {
  if (!isDiskFull(error)) return null
  log.error({ error: messageOf(error) }, 'the disk of the data directory is full')
  return nothingAcceptedError("the server's disk is full, so nothing was accepted: try again later")
}

const RETRY_SECONDS = '1'

/**
 * Returns the rejection if PostgreSQL is unreachable or can't store a string; null for other errors. If PostgreSQL is
 * unreachable, the rejection doesn't state that nothing was accepted. A commit may have succeeded, and only a retry
 * with the same key shows whether it did.
 */
function fromDatabase(error: FastifyError, validationStatus: number, log: Log): Refusal | null {
  if (isUnstorableText(error)) {
    return new Refusal(validationStatus, ERROR_TITLES.validation, 'a string in the body has a NUL character')
  }
  if (!isDatabaseGone(error)) return null
  log.warn({ error: messageOf(error) }, 'the database is unreachable')
  const headers = { [HEADERS.retryAfter]: RETRY_SECONDS }
  return new Refusal(503, ERROR_TITLES.unavailable, 'the database is unreachable: try again', headers)
}

/**
 * Returns the rejection if the storage is unavailable; null for other errors. The error is temporary, and nothing was
 * accepted.
 */
function storageUnavailable(error: FastifyError, log: Log): Refusal | null {
  if (!(error instanceof StorageUnavailableError)) return null
  log.error({ error: error.message }, 'the file storage is unreachable')
  return nothingAcceptedError("the server's file storage is unavailable: try again later")
}

/**
 * Creates the only function that converts an error to a response. A server error gets an ID that is also in the log.
 */
export function createErrorHandler(log: Log) {
  return (error: FastifyError | Refusal, request: FastifyRequest, reply: FastifyReply): void => {
    const { errorForm: form = 'A', contracts } = request.routeOptions.config
    const validationStatus = contracts?.[request.apiVersion].validationStatus ?? 400
    const refusal =
      error instanceof Refusal
        ? error
        : (toRefusal(error, validationStatus) ??
          diskFull(error, log) ??
          // Check for storage errors first. Their cause may be a system error that would otherwise count as a database
          // error.
          storageUnavailable(error, log) ??
          fromDatabase(error, validationStatus, log))
    if (refusal !== null) {
      if (refusal.cause !== undefined) log.warn({ error: messageOf(refusal.cause) }, refusal.message)
      reply.code(refusal.status).headers(refusal.headers).send(toErrorBody(form, refusal))
      return
    }
    const { id } = request
    const stack = error instanceof Error ? error.stack : undefined
    log.error(
      { request: id, route: request.routeOptions.url, error: messageOf(error), stack },
      'a request failed unexpectedly',
    )
    const message = `an unexpected error occurred on the server: its log has details of the request ${id}`
    reply.code(500).send(toErrorBody(form, new Refusal(500, ERROR_TITLES.internal, message)))
  }
}

const UNREAD = {
  400: 'the request is not valid HTTP',
  408: 'the request took too long to arrive',
  431: 'the headers are larger than this server accepts',
} as const

/** Returns the response to a request that can't be read: it isn't valid HTTP, has large headers, or arrives slowly. */
export function rawResponse(status: keyof typeof UNREAD, headers: Readonly<Record<string, string>>): string {
  const body = JSON.stringify(formA(ERROR_TITLES.badRequest, UNREAD[status]))
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    ...Object.entries({ ...headers, ...SECURITY_HEADERS }).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
