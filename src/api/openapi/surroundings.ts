import * as z from 'zod'
import { EVM_BLOCKCHAINS } from '../blockchains.ts'
import { generatedWallet, WALLET_CREATE_PATH } from '../endpoints/getpresignedurl.ts'
import { errorAnswers } from './answers.ts'
import { type Json, jsonSchema } from './json-schema.ts'

/** What a server has beside the endpoints of the contract. */
export interface Surrounding {
  method: 'GET' | 'POST'
  /** As routes spell it: `/rpc/:blockchain`, `/ipfs/*`. */
  route: string
  /** As OpenAPI spells it; several where a part may be left out. */
  paths: readonly string[]
  operation: Json
}

const json = (schema: Json, example: unknown): Json => ({ 'application/json': { schema, example } })
const answer = (description: string, content?: Json): Json =>
  content === undefined ? { description } : { description, content }
const inPath = (name: string, description: string, schema: Json): Json => ({
  name,
  in: 'path',
  required: true,
  description,
  schema,
})
const inQuery = (name: string, schema: Json): Json => ({ name, in: 'query', required: true, schema })

const readiness = z.object({ ready: z.boolean(), problems: z.array(z.string()), warnings: z.array(z.string()) })
const health = z.object({
  status: z.literal('ok'),
  version: z.string(),
  backend_id: z.uuid().describe("Of the backend's database: it stays the same when the address changes."),
  incarnation: z.uuid().describe('Changes when the database is restored.'),
})

const CID = 'bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4'
const text = { type: 'string' }
const bytes = { '*/*': { schema: { contentMediaType: 'application/octet-stream' } } }

const rpcCall = {
  type: 'object',
  properties: { jsonrpc: { const: '2.0' }, id: { type: ['string', 'number', 'null'] }, method: text, params: {} },
  required: ['jsonrpc', 'method'],
}

/** Nothing of it needs an API key. */
export const SURROUNDINGS: readonly Surrounding[] = [
  {
    method: 'POST',
    route: WALLET_CREATE_PATH,
    paths: [WALLET_CREATE_PATH],
    operation: {
      operationId: 'generateWallet',
      tags: ['Wallets'],
      summary: 'Make a wallet: the POST to a signed URL',
      description:
        'The address of getpresignedurl, with its parameters as they are; no body. Every POST makes a new wallet, whose private key is in this answer and nowhere else.',
      parameters: [
        inQuery('expiry', { type: 'integer' }),
        inQuery('issued_at', { type: 'integer' }),
        inQuery('action', { const: 'generate_wallet' }),
        inQuery('issuer', text),
        inQuery('signature', text),
      ],
      responses: {
        200: answer('The new wallet.', { 'application/json': { schema: jsonSchema(generatedWallet, 'output') } }),
        ...errorAnswers([400, 403, 410, 421, 500], 'B'),
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
      summary: "JSON-RPC of an embedded chain: reading, and users' own signed transactions",
      parameters: [inPath('blockchain', 'An EVM blockchain.', { enum: EVM_BLOCKCHAINS })],
      requestBody: {
        required: true,
        content: json(
          { anyOf: [rpcCall, { type: 'array', items: rpcCall }] },
          {
            jsonrpc: '2.0',
            id: 1,
            method: 'eth_blockNumber',
            params: [],
          },
        ),
      },
      responses: {
        200: answer(
          'The answer, or the answers in order, as JSON-RPC has them.',
          json({}, { jsonrpc: '2.0', id: 1, result: '0x1a' }),
        ),
        ...errorAnswers([400, 404, 413, 415, 421, 500], 'A'),
      },
    },
  },
  {
    method: 'GET',
    route: '/ipfs/*',
    paths: ['/ipfs/{cid}', '/ipfs/{cid}/{path}'],
    operation: {
      tags: ['Chains and files'],
      summary: 'Stored content by its CID: a file as it is, a directory as a list',
      responses: {
        200: answer('The content.', bytes),
        206: answer('The range of bytes that was asked for.', bytes),
        304: answer('Unchanged: content under a CID never changes.'),
        ...errorAnswers([404, 421, 500], 'A'),
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
      summary: 'Whether the process lives',
      responses: {
        200: answer(
          'It does.',
          json(jsonSchema(health, 'output'), {
            status: 'ok',
            version: '0.1.0',
            backend_id: 'b8f5a9de-3a51-4c43-9f0e-6f7a2c1d0e5b',
            incarnation: '5f0c2f0e-7d3b-4a8e-8a55-1c9b2e4d6f70',
          }),
        ),
        ...errorAnswers([421], 'A'),
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
      summary: 'Whether the server can do its work',
      responses: {
        200: answer('It can.', json(jsonSchema(readiness, 'output'), { ready: true, problems: [], warnings: [] })),
        503: answer(
          'It can not, and why.',
          json(jsonSchema(readiness, 'output'), {
            ready: false,
            problems: ["the database can't be read"],
            warnings: [],
          }),
        ),
        ...errorAnswers([421], 'A'),
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
      summary: 'Metrics in the text format of Prometheus',
      responses: {
        200: answer('The metrics.', { 'text/plain': { schema: text } }),
        ...errorAnswers([421, 500], 'A'),
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
      summary: 'This document',
      responses: {
        200: answer('An OpenAPI 3.1 document.', { 'application/json': { schema: { type: 'object' } } }),
        ...errorAnswers([421], 'A'),
      },
    },
  },
]

/** Parameters of a path with placeholders that its operation leaves to it. */
export function pathParameters(path: string): Json[] {
  if (!path.startsWith('/ipfs/')) return []
  const parameters = [{ ...inPath('cid', 'A CID, version 0 or 1.', text), example: CID }]
  return path.endsWith('{path}')
    ? [
        ...parameters,
        { ...inPath('path', 'Names below a directory, with slashes between them.', text), example: '0.json' },
      ]
    : parameters
}
