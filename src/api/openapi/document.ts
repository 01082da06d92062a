import { KNOWN_NAMES } from '../blockchains.ts'
import type { Endpoint } from '../endpoint.ts'
import { loadEndpoints } from '../endpoints.ts'
import { errorFormASchema, errorFormBSchema } from '../errors.ts'
import { type ApiVersion, DEFAULT_API_VERSION, inVersion } from '../versions.ts'
import { EXTRA_ROUTES, pathParameters } from './extra-routes.ts'
import { type Json, jsonSchema } from './json-schema.ts'
import { buildOperation } from './operation.ts'
import { RESPONSE_HEADERS } from './responses.ts'

const API_DESCRIPTION = `Create NFT collections, create and transfer NFTs, and look up collections and NFTs.

The API accepts requests to create or transfer NFTs immediately, and processes them asynchronously. To look up the status of a request, use the IDs in its response. Every API request must contain an API key in the header \`x-api-key\`.`

const versionNote = (version: ApiVersion) =>
  `This is version ${version} of the API. Each API key works with one version. All versions have the same paths.`

const TAGS = [
  { name: 'Collections', description: 'Contracts on a blockchain that contain NFTs.' },
  { name: 'NFTs', description: 'Create, transfer, list and check NFTs.' },
  { name: 'Wallets', description: 'Addresses with their private keys, generated on demand and not stored.' },
  { name: 'Files', description: 'Upload files for the metadata of NFTs.' },
  {
    name: 'Chains and files',
    description: 'Endpoints outside the API: chains and stored content.',
  },
  { name: 'Operation', description: 'For operators of a backend.' },
]

const COMPONENTS = {
  securitySchemes: {
    apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'An API key with the listed permissions.' },
  },
  parameters: {
    IdempotencyKey: {
      name: 'Idempotency-Key',
      in: 'header',
      description:
        'Any unique text for this request. If you repeat the request with the same key and body, the server returns the first response and creates nothing.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    },
    OnlyWithoutValue: {
      name: 'Gdn-Only-Without-Value',
      in: 'header',
      description:
        'Extension: the server rejects the request with 412 if the coins of the blockchain in the request have value on this server (see Blockchains-Without-Value).',
      schema: { type: 'string', enum: ['yes'] },
    },
    PreferWait: {
      name: 'Prefer',
      in: 'header',
      description:
        'Extension: wait=<seconds> (RFC 7240), at most 10. The server delays the response until no requested record is pending, or until this time has passed.',
      schema: { type: 'string' },
      example: 'wait=10',
    },
    RequestId: {
      name: 'x-request-id',
      in: 'header',
      description: "Your own ID for this request in the server's log. By default the server generates one.",
      schema: { type: 'string', pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$' },
    },
  },
  headers: RESPONSE_HEADERS,
}

export interface RegisteredRoute {
  method: string
  url: string
}

export interface OpenApiOptions {
  /** The version of gdn. */
  version: string
  /** The blockchains that the server supports. Default: all known blockchains. */
  names?: readonly string[]
  /** API version of the document. Default: 1.1. */
  apiVersion?: ApiVersion
}

/** Restricts the `blockchain` field of requests to the server's blockchains. */
function nameBlockchains(part: unknown, names: readonly string[]): void {
  if (typeof part !== 'object' || part === null) return
  const { blockchain } = ('properties' in part ? part.properties : {}) as { blockchain?: Json }
  if (blockchain !== undefined) blockchain.enum = names
  for (const inner of Object.values(part)) nameBlockchains(inner, names)
}

/**
 * Builds the OpenAPI 3.1 document of a server. The document describes only endpoints that the server has registered.
 *
 * @example await buildOpenApi([{ method: 'POST', url: '/api/v1/createnft' }], { version: '0.1.0' })
 */
export async function buildOpenApi(
  routes: readonly RegisteredRoute[],
  { version, names = KNOWN_NAMES, apiVersion = DEFAULT_API_VERSION }: OpenApiOptions,
): Promise<Json> {
  const registered = new Set(routes.map(({ method, url }) => `${method} ${url}`))
  const paths: Record<string, Json> = {}
  for (const endpoint of Object.values<Endpoint>(await loadEndpoints())) {
    if (!registered.has(`POST ${endpoint.path}`)) continue
    const post = buildOperation(inVersion(endpoint, apiVersion))
    nameBlockchains(post.requestBody, names)
    paths[endpoint.path] = { post }
  }
  for (const { method, route, paths: openApiPaths, operation } of EXTRA_ROUTES) {
    if (!registered.has(`${method} ${route}`)) continue
    for (const path of openApiPaths) {
      const parameters = pathParameters(path)
      const item = { [method.toLowerCase()]: { ...operation, security: [] } }
      paths[path] = parameters.length === 0 ? item : { parameters, ...item }
    }
  }
  const used = new Set(
    Object.values(paths)
      .flatMap((item) => Object.values(item))
      .flatMap((operation) => (operation as Json).tags),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'gdn',
      version,
      summary: 'NFT collections and NFTs over HTTP',
      description: `${API_DESCRIPTION}\n\n${versionNote(apiVersion)}`,
      'x-api-version': apiVersion,
    },
    servers: [{ url: '/' }],
    tags: TAGS.filter(({ name }) => used.has(name)),
    paths,
    components: {
      ...COMPONENTS,
      schemas: { ErrorA: jsonSchema(errorFormASchema, 'output'), ErrorB: jsonSchema(errorFormBSchema, 'output') },
    },
  }
}
