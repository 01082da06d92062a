import { normalizeNftsResponse } from '../api/creation.ts'
import { type EndpointName, loadEndpoint } from '../api/endpoints.ts'
import { type FieldIssue, formatIssue, formatPath, validate } from '../api/validate.ts'
import { type ApiVersion, DEFAULT_API_VERSION, inVersion } from '../api/versions.ts'
import { GdnError } from '../core/errors.ts'
import { parseJson } from '../core/json.ts'
import type { RequestOf, ResponseOf } from './api-client.ts'
import { badResponseError } from './responses.ts'
import type { TransportResponse } from './transport.ts'

/**
 * Validates and encodes a request.
 *
 * @throws GdnError `invalid_input` if the request doesn't match the API's schema
 */
export async function encode<Name extends EndpointName>(
  name: Name,
  request: RequestOf<Name>,
  apiVersion: ApiVersion = DEFAULT_API_VERSION,
): Promise<Uint8Array> {
  const endpoint = await loadEndpoint(name)
  const checked = validate(inVersion(endpoint, apiVersion).request, request)
  if (checked.ok) return new TextEncoder().encode(JSON.stringify(checked.value))
  const issues = checked.issues.map((issue) => ({ ...issue, field: fieldIn(request, issue) }))
  const [first] = issues
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : ''
  throw new GdnError('invalid_input', first === undefined ? 'invalid request' : formatIssue(first) + more, {
    place: first === undefined ? undefined : { field: first.field },
    hint: validate(inVersion(endpoint, '1.2').request, request).ok ? requiredIn11(issues) : hintOf(first),
    details: issues.map(({ field, message }) => ({ field, message })),
  })
}

/**
 * Returns the path of a field as the caller wrote it. If the caller passed a single value for a list, the path has no
 * index.
 */
function fieldIn(request: unknown, { path }: FieldIssue): string {
  let at = request
  const written = path.filter((part) => {
    if (typeof part === 'number' && at !== undefined && !Array.isArray(at)) return false
    at = Object(at)[part]
    return true
  })
  return formatPath(written)
}

/** Returns a hint for an attribute value that is a number. Other APIs accept numbers. */
const hintOf = (issue: FieldIssue | undefined): string | undefined =>
  issue?.path[0] === 'metadata' && issue.message === 'must be a string, not a number'
    ? "Write the number as a string, such as '7'."
    : undefined

/**
 * Returns the hint for a request that only version 1.2 accepts. Version 1.1 requires the missing fields, although
 * the client's types make them optional.
 */
const requiredIn11 = (issues: readonly FieldIssue[]): string =>
  `Set ${issues.map(({ field }) => field).join(' and ')}. Only version 1.2 of the API accepts requests without ${issues.length === 1 ? 'this field' : 'these fields'}.`

/**
 * Decodes a response.
 *
 * @throws GdnError if the status isn't 2xx, or if the response doesn't match the API's schema
 */
export async function decode<Name extends EndpointName>(
  name: Name,
  url: string,
  response: TransportResponse,
): Promise<ResponseOf<Name>> {
  const json = await parseResponseJson(name, url, response)
  const checked = validate(
    (await loadEndpoint(name)).response,
    name === 'createnfttrans' ? normalizeNftsResponse(json) : json,
  )
  if (checked.ok) return checked.value as ResponseOf<Name>
  const [first] = checked.issues
  throw badResponseError(
    url,
    response,
    `JSON that does not match the API's schema (${first === undefined ? '' : formatIssue(first)})`,
  )
}

/**
 * Returns the JSON of a response.
 *
 * @throws GdnError if the status isn't 2xx, or if the body isn't JSON
 */
export async function parseResponseJson(name: string, url: string, response: TransportResponse): Promise<unknown> {
  if (response.status < 200 || response.status > 299) {
    const { responseError } = await import('./response-error.ts')
    throw responseError(name, url, response)
  }
  const json = parseJson(response.body)
  if (json === undefined) throw badResponseError(url, response, 'a response that is not JSON')
  return json
}
