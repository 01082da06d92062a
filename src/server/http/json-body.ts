import type { FastifyError, FastifyInstance } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { repeatedKey, stringEnd } from '../../core/json-scan.ts'
import { Refusal } from '../services/refusals.ts'

const UTF8 = /^"?utf-?8"?$/i
const MAX_NAME_SHOWN = 100

/**
 * Adds a parser of JSON bodies that is stricter than JSON.parse. Otherwise, invalid UTF-8 would silently become
 * U+FFFD, and all but one value of a repeated field would be dropped.
 */
export function addJsonBodies(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const charset = /;\s*charset\s*=\s*([^;\s]*)/i.exec(request.headers['content-type'] ?? '')?.[1]
    if (charset !== undefined && !UTF8.test(charset)) return done(unsupportedTypeError('the body must be in UTF-8'))
    let text: string
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    } catch {
      return done(brokenBodyError('it is not UTF-8'))
    }
    const problem = findSizeError(text)
    if (problem !== null) return done(problem)
    parse(request, text, (error: Error | null, value?: unknown) => {
      if (error !== null) return done(error)
      const name = repeatedKey(text)?.key.slice(0, MAX_NAME_SHOWN).toWellFormed()
      done(name === undefined ? null : brokenBodyError(`${JSON.stringify(name)} is repeated in one object`), value)
    })
  })
}

/**
 * Maximum nesting depth of a body. The deepest valid body has 5 levels. The limit is needed because deeply nested
 * brackets take a long time to parse.
 */
const MAX_DEPTH = 64
/**
 * Maximum number of values in a body. A request with 1,000 NFTs of 20 attributes has 70,000 values. The limit is needed
 * because checking 300,000 unknown fields takes 0.6 s.
 */
const MAX_VALUES = 100_000

/** Returns an error for text that is too expensive to parse and validate. The text may be invalid JSON. */
function findSizeError(text: string): Error | null {
  let depth = 0
  let values = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === OBJECT || char === LIST) {
      if (++depth > MAX_DEPTH) return brokenBodyError(`it is nested more than ${MAX_DEPTH} levels deep`)
    } else if (char === OBJECT_END || char === LIST_END) depth--
    else if (char === QUOTE) {
      at = stringEnd(text, at)
      if (at === -1) return null
    } else if (char === COMMA && ++values > MAX_VALUES) {
      const message = `the body has more than ${MAX_VALUES} values`
      return new Refusal(413, ERROR_TITLES.tooLarge, message)
    }
  }
  return null
}

/** Rejects a compressed body before it is read, because a few bytes may expand to gigabytes. */
export function refuseEncodedBodies(app: FastifyInstance): void {
  app.addHook('preParsing', async (request) => {
    const encoding = request.headers['content-encoding']
    if (encoding === undefined || encoding.toLowerCase() === 'identity') return
    throw unsupportedTypeError('the body must not have a content-encoding', { 'accept-encoding': 'identity' })
  })
}

const unsupportedTypeError = (message: string, headers: Readonly<Record<string, string>> = {}) =>
  new Refusal(415, ERROR_TITLES.unsupportedMediaType, message, { ...headers, connection: 'close' })

const brokenBodyError = (message: string): FastifyError =>
  Object.assign(new Error(message), { name: 'BrokenBody', code: 'GDN_BROKEN_BODY', statusCode: 400 })

const [QUOTE, COMMA] = [0x22, 0x2c]
const [OBJECT, OBJECT_END, LIST, LIST_END] = [0x7b, 0x7d, 0x5b, 0x5d]
