import * as z from 'zod'
import { generatedWalletSchema, WALLET_CREATE_PATH } from '../endpoints/getpresignedurl.ts'
import { API_VERSIONS } from '../versions.ts'
import { type Json, jsonSchema } from './json-schema.ts'
import { errorResponses } from './responses.ts'

/** A route of a server that isn't an endpoint of the API contract. */
export interface ExtraRoute {
  method: 'GET' | 'POST'
  /** The pattern of the route, such as `/rpc/:blockchain` or `/ipfs/*`. */
  route: string
  /** The OpenAPI paths. There are several if a part of the path is optional. */
  paths: readonly string[]
  operation: Json
}

const jsonContent = (schema: Json, example: unknown): Json => ({ 'application/json': { schema, example } })
const response = (description: string, content?: Json): Json =>
  content === undefined ? { description } : { description, content }
const pathParameter = (name: string, description: string, schema: Json): Json => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
})
const queryParameter = (name: string, schema: Json): Json => ({ name, in: 'query', required: true, schema })

const readinessSchema = z.object({ ready: z.boolean(), problems: z.array(z.string()), warnings: z.array(z.string()) })
const healthSchema = z.object({
  status: z.literal('ok'),
  version: z.string(),
  backend_id: z.uuid().describe("ID of the backend's database. The ID stays the same when the address changes."),
  incarnation: z.uuid().describe('A UUID that changes if the backend detects that its database was restored.'),
})

const EXAMPLE_CID = 'bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4'
const textSchema = { type: 'string' }
const bytesContent = { '*/*': { schema: { contentMediaType: 'application/octet-stream' } } }

const rpcCallSchema = {
  type: 'object',
  properties: { jsonrpc: { const: '2.0' }, id: { type: ['string', 'number', 'null'] }, method: textSchema, params: {} },
  required: ['jsonrpc', 'method'],
}

/** Routes that need no API key. */
export const EXTRA_ROUTES: readonly ExtraRoute[] = [
  {
    method: 'POST',
    route: WALLET_CREATE_PATH,
    paths: [WALLET_CREATE_PATH],
    operation: {
      operationId: 'generateWallet',
      tags: ['Wallets'],
      summary: 'Generate a wallet with a signed URL',
      description:
        'Send a POST request without a body to the URL from getpresignedurl, with unchanged parameters. Every POST generates a new wallet, whose private key is only in this response.',
      parameters: [
        queryParameter('expiry', { type: 'integer' }),
        queryParameter('issued_at', { type: 'integer' }),
        queryParameter('action', { const: 'generate_wallet' }),
        queryParameter('issuer', textSchema),
        queryParameter('signature', textSchema),
      ],
      responses: {
        200: response('The new wallet.', {
          'application/json': { schema: jsonSchema(generatedWalletSchema, 'output') },
        }),
        ...errorResponses([400, 403, 410, 421, 500], 'B'),
      },
    },
  },
  {
    method: 'POST',
    route: '/rpc/:blockchain',
    paths: ['/rpc/{blockchain}'],
    operation: {
      operationId: 'rpc',
      tags: ['Chains and files'],
      summary: 'Read an embedded chain and send signed transactions',
      parameters: [{ ...pathParameter('blockchain', 'An EVM blockchain.', textSchema), example: 'polygon' }],
      requestBody: {
        required: true,
        content: jsonContent(
          { anyOf: [rpcCallSchema, { type: 'array', items: rpcCallSchema }] },
          {
            jsonrpc: '2.0',
            id: 1,
            method: 'eth_blockNumber',
            params: [],
          },
        ),
      },
      responses: {
        200: response(
          'The JSON-RPC response, or a list of responses in the order of the requests.',
          jsonContent({}, { jsonrpc: '2.0', id: 1, result: '0x1a' }),
        ),
        ...errorResponses([400, 404, 413, 415, 421, 500], 'A'),
      },
    },
  },
  {
    method: 'GET',
    route: '/ipfs/*',
    paths: ['/ipfs/{cid}', '/ipfs/{cid}/{path}'],
    operation: {
      tags: ['Chains and files'],
      summary: 'Get stored content by CID, or a block with ?format=raw',
      responses: {
        200: response('The content.', bytesContent),
        206: response('The requested range of bytes.', bytesContent),
        304: response('Unchanged: content under a CID never changes.'),
        ...errorResponses([404, 421, 500], 'A'),
      },
    },
  },
  {
    method: 'GET',
    route: '/healthz',
    paths: ['/healthz'],
    operation: {
      operationId: 'healthz',
      tags: ['Operation'],
      summary: 'Check whether the process is alive',
      responses: {
        200: response(
          'The process is alive.',
          jsonContent(jsonSchema(healthSchema, 'output'), {
            status: 'ok',
            version: '0.1.0',
            backend_id: 'b8f5a9de-3a51-4c43-9f0e-6f7a2c1d0e5b',
            incarnation: '5f0c2f0e-7d3b-4a8e-8a55-1c9b2e4d6f70',
          }),
        ),
        ...errorResponses([421], 'A'),
      },
    },
  },
  {
    method: 'GET',
    route: '/readyz',
    paths: ['/readyz'],
    operation: {
      operationId: 'readyz',
      tags: ['Operation'],
      summary: 'Check whether the server is ready',
      responses: {
        200: response(
          'The server is ready.',
          jsonContent(jsonSchema(readinessSchema, 'output'), { ready: true, problems: [], warnings: [] }),
        ),
        503: response(
          'The server is not ready, for these reasons.',
          jsonContent(jsonSchema(readinessSchema, 'output'), {
            ready: false,
            problems: ["the database can't be read"],
            warnings: [],
          }),
        ),
        ...errorResponses([421], 'A'),
      },
    },
  },
  {
    method: 'GET',
    route: '/metrics',
    paths: ['/metrics'],
    operation: {
      operationId: 'metrics',
      tags: ['Operation'],
      summary: 'Get metrics in the Prometheus text format',
      responses: {
        200: response('The metrics.', { 'text/plain': { schema: textSchema } }),
        ...errorResponses([421, 500], 'A'),
      },
    },
  },
  {
    method: 'GET',
    route: '/openapi.json',
    paths: ['/openapi.json'],
    operation: {
      operationId: 'openapi',
      tags: ['Operation'],
      summary: 'Get this document',
      parameters: [
        {
          name: 'api_version',
          in: 'query',
          description: 'Version of the API. Default: the version of the server.',
          schema: { enum: API_VERSIONS },
        },
      ],
      responses: {
        200: response('An OpenAPI 3.1 document.', { 'application/json': { schema: { type: 'object' } } }),
        ...errorResponses([400, 421], 'A'),
      },
    },
  },
]

/** Returns the parameters for the placeholders of a path, unless its operation defines them. */
export function pathParameters(path: string): Json[] {
  if (!path.startsWith('/ipfs/')) return []
  const parameters = [{ ...pathParameter('cid', 'A CID, version 0 or 1.', textSchema), example: EXAMPLE_CID }]
  return path.endsWith('{path}')
    ? [
        ...parameters,
        { ...pathParameter('path', 'Path of a file below the directory.', textSchema), example: '0.json' },
      ]
    : parameters
}
