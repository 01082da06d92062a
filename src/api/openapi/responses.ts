import { ERROR_TITLES, type ErrorForm, toErrorCode } from '../errors.ts'
import { CHAIN_ERRORS, IDEMPOTENCY_ERRORS, REFERENCE_ERRORS, RUN_ERRORS, VALUE_ERRORS } from '../headers.ts'
import type { Json } from './json-schema.ts'

const header = (description: string, example: string): Json => ({
  description,
  schema: { type: 'string' },
  example,
})

/**
 * The headers of every successful response. `CAPABILITIES` contains the names of the headers that indicate support for
 * an extension.
 */
export const USUAL_HEADERS: Readonly<Record<string, Json>> = {
  'x-request-id': header(
    "The ID of the request in the server's log. If the request has an x-request-id, this is its value.",
    '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5',
  ),
  'Idempotency-Supported': header(
    'This server supports Idempotency-Key on every request that creates something.',
    'yes',
  ),
  'Reference-Ids-Supported': header(
    'Extension: this server accepts reference IDs in every request that creates something, and getreferences looks them up.',
    'yes',
  ),
  'Reference-Labels-Supported': header(
    'Extension: this server stores a label and a kind with each reference ID, and relabelreferences replaces the label.',
    'yes',
  ),
  'Reference-Aliases-Supported': header(
    'Extension: this server has aliasreferences, and getcontentreferences lists NFTs whose rows had no ID.',
    'yes',
  ),
  'Updates-Supported': header(
    'Extension: this server has creatednft, updatednft, freezenft and burnnft, with reference IDs.',
    'yes',
  ),
  'Run-Max-Cost-Supported': header(
    'Extension: this server supports the request header Gdn-Run-Max-Cost, which limits the cost of a run.',
    'yes',
  ),
  'Run-Max-Fee-Supported': header('Extension: this server has setrunmaxfee, which limits the fees of a run.', 'yes'),
  'Max-Supply-Supported': header(
    'Extension: this server can limit the supply of a collection (max_supply), and has getsupply.',
    'yes',
  ),
  'Nft-Owners-Supported': header('Extension: this server has getnftowners.', 'yes'),
  'Nft-History-Supported': header('Extension: this server has getnfthistory.', 'yes'),
  'Prefer-Wait-Supported': header('Extension: this server supports the request header Prefer: wait in lookups.', 'yes'),
  'Receiver-Names-Supported': header(
    'Extension: this server stores the ENS names of receivers (receiver_name).',
    'yes',
  ),
  'Typed-Traits-Supported': header(
    'Extension: this server publishes the display_type and max_value of attributes.',
    'yes',
  ),
  'Blockchains-Without-Value': header(
    'Extension: the blockchains whose coins have no value on this server, such as embedded chains; * for all. Requests on other blockchains may cost money.',
    'polygon-amoy, base',
  ),
  'Gdn-Backend-Id': header(
    "The UUID of the backend's database. The UUID identifies the backend, regardless of its address.",
    'b8f5a9de-3a51-4c43-9f0e-6f7a2c1d0e5b',
  ),
  'Gdn-Incarnation': header(
    'A UUID that changes if the backend detects that its database was restored. The backend may then have no record of requests that it accepted.',
    '5f0c2f0e-7d3b-4a8e-8a55-1c9b2e4d6f70',
  ),
  'RateLimit-Policy': header(
    'The limit: q requests in a window of w seconds. Without q, there is no limit.',
    '"createnft";q=2;w=1',
  ),
}

/** Response headers, by the names that operations use to refer to them. */
export const RESPONSE_HEADERS: Readonly<Record<string, Json>> = {
  ...USUAL_HEADERS,
  'Idempotency-Replayed': header('This is the response to an earlier request with the same Idempotency-Key.', 'true'),
  'Error-Code': header(
    `The code of the reason for the rejection, such as ${[IDEMPOTENCY_ERRORS, REFERENCE_ERRORS, RUN_ERRORS, VALUE_ERRORS, CHAIN_ERRORS].flatMap((codes) => Object.values(codes)).join(', ')}. The header is absent if the reason has no code. The rejection does not change the outcome of an earlier request.`,
    IDEMPOTENCY_ERRORS.reused,
  ),
  RateLimit: header(
    'The number of remaining requests (r) in the current window, which ends in t seconds.',
    '"createnft";r=1;t=1',
  ),
  'Retry-After': header('Seconds to wait.', '1'),
}

export const headerRefs = (...names: string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** Title, meaning and example, by error status. */
const ERROR_DESCRIPTIONS: Readonly<Record<number, readonly [title: string, meaning: string, example: string]>> = {
  400: [
    ERROR_TITLES.badRequest,
    'The request does not match its schema (title: Request Validation Error), or violates a rule of the service. Nothing was accepted.',
    'contract_address and blockchain are inconsistent: that collection is on polygon',
  ],
  401: [
    ERROR_TITLES.unauthorized,
    'The API key is missing, unknown, revoked or expired.',
    'the header x-api-key is missing',
  ],
  403: [ERROR_TITLES.forbidden, 'The API key lacks a permission.', 'the API key lacks the permission nft:create'],
  404: [ERROR_TITLES.notFound, 'The path does not exist.', 'this path does not exist'],
  409: [
    ERROR_TITLES.conflict,
    'Nothing was accepted, for one of these reasons. A reference ID belongs to an operation with a different digest: Error-Code is reference_id_conflict, and error.conflicts has both digests for each ID. A reference ID already has a different label: Error-Code is reference_label_conflict, and error.conflicts has both labels for each ID. An alias belongs to another NFT, or its NFT has another alias: Error-Code is reference_id_conflict. The request may cost more than the remaining limit of its run: Error-Code is run_max_cost. A request with the same Idempotency-Key is still in progress.',
    'reference_id "row-1" belongs to another operation; nothing was accepted',
  ],
  410: [
    'Gone',
    'The signed URL was used before, and this server accepts each signed URL only once.',
    'the signed URL was used before: get a new one',
  ],
  412: [
    ERROR_TITLES.precondition,
    'The request has Gdn-Only-Without-Value, and the coins of its blockchain have value. Nothing was accepted, and Error-Code is blockchain_has_value.',
    'the coins of polygon have value on this server, and the request permits only coins without value; nothing was accepted',
  ],
  413: [ERROR_TITLES.tooLarge, 'The body is too large.', 'the body is larger than this server accepts'],
  415: [
    ERROR_TITLES.unsupportedMediaType,
    'The content type of the body is not supported.',
    'the body must have the content-type application/json',
  ],
  421: [
    ERROR_TITLES.misdirected,
    'The server does not accept requests for this Host header.',
    'this server accepts only requests to localhost: see --allowed-host',
  ],
  422: [
    ERROR_TITLES.validation,
    'The request does not match its schema, repeats a reference ID, or has an Idempotency-Key that was used with another body.',
    'nft_gdn_ids must have at least one ID',
  ],
  429: [
    ERROR_TITLES.tooManyRequests,
    'The key exceeded the rate limit of this endpoint. Nothing was accepted.',
    'the limit is 2 requests per second for each key: wait 1 s',
  ],
  500: [
    ERROR_TITLES.internal,
    "An unexpected server error. The message contains the ID of the request in the server's log.",
    'an unexpected error occurred on the server: its log has details of the request 0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5',
  ],
  503: [
    ERROR_TITLES.unavailable,
    'The server is temporarily unavailable. Nothing was accepted. Try again later.',
    "the server's disk is full, so nothing was accepted: try again later",
  ],
}

/** Headers that only some error responses have, by status. */
const ERROR_HEADERS: Readonly<Record<number, readonly string[]>> = {
  409: ['Error-Code'],
  412: ['Error-Code'],
  422: ['Error-Code'],
  429: ['RateLimit-Policy', 'RateLimit', 'Retry-After'],
}

function errorResponse(status: number, form: ErrorForm): Json {
  const [title, description, message] = ERROR_DESCRIPTIONS[status] ?? ['', '', '']
  const example = form === 'A' ? { error: { title, message } } : { errorCode: toErrorCode(title), message, detail: [] }
  return {
    description,
    headers: headerRefs('x-request-id', ...(ERROR_HEADERS[status] ?? [])),
    content: { 'application/json': { schema: { $ref: `#/components/schemas/Error${form}` }, example } },
  }
}

export const errorResponses = (statuses: readonly number[], form: ErrorForm): Json =>
  Object.fromEntries([...new Set(statuses)].sort().map((status) => [String(status), errorResponse(status, form)]))
