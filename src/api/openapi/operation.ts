import type { Endpoint } from '../endpoint.ts'
import { MAX_FILE_BYTES } from '../endpoints/files.ts'
import { ENDPOINT_NOTES } from './field-notes.ts'
import { type Json, jsonSchema } from './json-schema.ts'
import { errorResponses, headerRefs, USUAL_HEADERS } from './responses.ts'

function describeEndpoint({ permissions, needs, ratePerSecond, creates, origin }: Endpoint): string {
  const names = permissions.map((name) => `\`${name}\``)
  const required =
    needs === 'any'
      ? `one of the permissions ${names.join(', ')}`
      : `the ${names.length === 1 ? 'permission' : 'permissions'} ${names.join(' and ')}`
  const lines = [
    `Requires an API key with ${required}.`,
    ratePerSecond === null
      ? 'This endpoint has no rate limit.'
      : `At most ${ratePerSecond} requests per second for each key.`,
  ]
  if (creates !== null) {
    lines.push('Send an `Idempotency-Key`, so that you can repeat the request safely.')
    lines.push(
      'Reference IDs are an extension of gdn backends. Each ID identifies one operation permanently. A request that repeats a reference ID returns the existing object and creates nothing.',
    )
  }
  if (origin === 'extension')
    lines.push("This endpoint is not in the hosted service's API reference. gdn backends support the endpoint.")
  return lines.join('\n\n')
}

/**
 * Accepts requests with `token_id`, as in the reference's parameter table, or with `tokenid`, as in its sample. The
 * result contains two complete objects, because type generators can't express a choice between required fields.
 */
function withBothSpellings(schema: Json): Json {
  const { properties, required, ...rest } = schema as { properties: Json; required: string[] }
  const { token_id, ...otherProperties } = properties
  const other = {
    ...rest,
    properties: { ...otherProperties, tokenid: { ...(token_id as Json), deprecated: true } },
    required: required.map((name) => (name === 'token_id' ? 'tokenid' : name)),
  }
  return { anyOf: [schema, other] }
}

function requestBody(endpoint: Endpoint): Json {
  const { name, contentType, request, example } = endpoint
  if (contentType === 'multipart/form-data') {
    const file = {
      type: 'string',
      contentMediaType: 'application/octet-stream',
      description: `At most ${MAX_FILE_BYTES / 1024 / 1024} MiB.`,
    }
    const schema = { type: 'object', properties: { file }, required: ['file'] }
    return { required: true, content: { [contentType]: { schema } } }
  }
  const schema = jsonSchema(request, 'input', ENDPOINT_NOTES[name])
  const requestSchema = name === 'transfernft' ? withBothSpellings(schema) : schema
  return { required: true, content: { [contentType]: { schema: requestSchema, example: example.request } } }
}

/** Endpoints that support `Prefer: wait`, so that a server may delay their responses. */
const WAITING_ENDPOINTS = ['getnfts', 'gettransactions', 'getcollections']

/** Endpoints that create nothing, but can respond that reference IDs conflict with existing ones. */
const CONFLICTING_ENDPOINTS = ['relabelreferences', 'aliasreferences']

function errorStatuses({ name, validationStatus, creates, ratePerSecond }: Endpoint): number[] {
  const usual = [400, 401, 403, 413, 415, 421, 500, 503, validationStatus]
  const conflicts = creates === null ? (CONFLICTING_ENDPOINTS.includes(name) ? [409] : []) : [409, 412, 422]
  return [...usual, ...conflicts, ...(ratePerSecond === null ? [] : [429])]
}

export function buildOperation(endpoint: Endpoint): Json {
  const { name, summary, permissions, needs, ratePerSecond, errorForm, creates, response, example } = endpoint
  const headers = Object.keys(USUAL_HEADERS)
  if (creates !== null) headers.push('Idempotency-Replayed')
  if (ratePerSecond !== null) headers.push('RateLimit')
  const parameters = ['RequestId', ...(creates === null ? [] : ['IdempotencyKey', 'OnlyWithoutValue'])]
  if (WAITING_ENDPOINTS.includes(name)) parameters.push('PreferWait')
  return {
    operationId: name,
    tags: [endpoint.tag],
    summary,
    description: describeEndpoint(endpoint),
    security:
      needs === 'any' ? permissions.map((permission) => ({ apiKey: [permission] })) : [{ apiKey: [...permissions] }],
    'x-permissions': permissions,
    'x-rate-limit': ratePerSecond === null ? null : { requests: ratePerSecond, seconds: 1 },
    'x-origin': endpoint.origin,
    parameters: parameters.map((parameter) => ({ $ref: `#/components/parameters/${parameter}` })),
    requestBody: requestBody(endpoint),
    responses: {
      200: {
        description:
          creates === null ? 'The requested data.' : 'Accepted. The server processes the request asynchronously.',
        headers: headerRefs(...headers),
        content: {
          'application/json': {
            schema: jsonSchema(response, 'output', ENDPOINT_NOTES[name]),
            example: example.response,
          },
        },
      },
      ...errorResponses(errorStatuses(endpoint), errorForm),
    },
  }
}
