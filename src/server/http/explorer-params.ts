import type { FastifyRequest } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import type { Part } from '../explorer/explorer.ts'
import type { Status } from '../explorer/types.ts'
import { Refusal } from '../services/refusals.ts'

const MAX_LIMIT = 200
const DEFAULT_LIMIT = 60
const MAX_OFFSET = 1_000_000_000
const MAX_TEXT_LENGTH = 500

const invalidParamError = (name: string, problem: string) =>
  new Refusal(400, ERROR_TITLES.validation, `${name} ${problem}`)

/** Returns a query parameter; null if it is missing or empty. */
export function textParam(request: FastifyRequest, name: string, longest = MAX_TEXT_LENGTH): string | null {
  const value = (request.query as Record<string, unknown>)[name]
  if (value === undefined || value === '') return null
  if (typeof value !== 'string') throw invalidParamError(name, 'is repeated')
  if (value.length > longest) throw invalidParamError(name, `must have at most ${longest} characters`)
  if (value.includes('\0') || !value.isWellFormed()) throw invalidParamError(name, 'has an invalid character')
  return value
}

function numberParam(request: FastifyRequest, name: string, { min, max }: { min: number; max: number }) {
  const text = textParam(request, name)
  if (text === null) return null
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) throw invalidParamError(name, `must be a whole number from ${min} to ${max}`)
  return value
}

/** Returns the part of a list that a request selects. */
export function partParams(request: FastifyRequest): Part {
  return {
    offset: numberParam(request, 'offset', { min: 0, max: MAX_OFFSET }) ?? 0,
    limit: numberParam(request, 'limit', { min: 1, max: MAX_LIMIT }) ?? DEFAULT_LIMIT,
  }
}

const isStatus = (text: string): text is Status => text === 'initiated' || text === 'deployed' || text === 'failed'

export function statusParam(request: FastifyRequest): Status | null {
  const text = textParam(request, 'status')
  if (text === null || isStatus(text)) return text
  throw invalidParamError('status', 'must be initiated, deployed or failed')
}

/** Returns the path segment that identifies an item. Throws a 404 for a segment that can't identify one. */
export function nameParam(request: FastifyRequest, name: string): string {
  const value = (request.params as Record<string, string>)[name] ?? ''
  if (value === '' || value.length > 200 || !/^[\x21-\x7e]+$/.test(value)) throw notFoundError(value)
  return value
}

export const notFoundError = (name: string): Refusal =>
  new Refusal(404, ERROR_TITLES.notFound, `${JSON.stringify(name.slice(0, 100).toWellFormed())} does not exist`)
