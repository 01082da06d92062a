import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { Endpoint } from '../../api/endpoint.ts'
import { ENDPOINTS } from '../../api/endpoints.ts'
import { TITLES } from '../../api/errors.ts'
import { HEADERS, IDEMPOTENCY_ERRORS } from '../../api/headers.ts'
import { MAX_NFTS_PER_REQUEST } from '../../api/metadata.ts'
import { validate } from '../../api/validate.ts'
import { createCollection } from '../services/create-collection.ts'
import { createNft } from '../services/create-nft.ts'
import { createNftTrans } from '../services/create-nft-trans.ts'
import { getCollections } from '../services/get-collections.ts'
import { getIsGdnNft } from '../services/get-is-gdn-nft.ts'
import { getNftIds } from '../services/get-nft-ids.ts'
import { getNfts } from '../services/get-nfts.ts'
import { getPresignedUrl } from '../services/get-presigned-url.ts'
import { getTransactions } from '../services/get-transactions.ts'
import { Refusal, refusalOf } from '../services/refusal.ts'
import type { ServiceDeps, ServiceRequest } from '../services/services.ts'
import { transferNft } from '../services/transfer-nft.ts'
import type { Store } from '../store/open-store.ts'
import { callerOf } from './auth.ts'
import { originOf } from './hosts.ts'
import { createRateLimit } from './rate-limits.ts'

const MAX_IDEMPOTENCY_KEY = 255

interface Outcome {
  response: unknown
  replayed?: boolean
  /** The accepted request, where one was accepted. */
  requestId?: string
}

function idempotencyKey(request: FastifyRequest): string | null {
  const header = request.headers[HEADERS.idempotencyKey]
  if (header === undefined) return null
  const key = String(header)
  if (key === '' || key.length > MAX_IDEMPOTENCY_KEY) {
    throw new Refusal(400, TITLES.badRequest, `Idempotency-Key must have 1 to ${MAX_IDEMPOTENCY_KEY} characters`, {
      [HEADERS.errorCode]: IDEMPOTENCY_ERRORS.invalid,
    })
  }
  return key
}

/** What names a run; a header that is anything else counts for nothing. */
const RUN = /^[A-Za-z0-9_-]{1,64}$/

function runOf(request: FastifyRequest): string | null {
  const header = request.headers[HEADERS.run]
  return typeof header === 'string' && RUN.test(header) ? header : null
}

function asObject(body: unknown): Record<string, unknown> {
  return body !== null && typeof body === 'object' && !Array.isArray(body) ? { ...body } : {}
}

/** Counts the NFTs of a request before each of them is checked. Clients send fewer after a 413. */
function refuseTooMany(body: unknown): void {
  const { metadata } = asObject(body)
  if (!Array.isArray(metadata) || metadata.length <= MAX_NFTS_PER_REQUEST) return
  const message = `metadata has ${metadata.length} NFTs; a request has at most ${MAX_NFTS_PER_REQUEST}`
  throw new Refusal(413, TITLES.tooLarge, message)
}

/** An endpoint's route: with and without a trailing slash, permission, limit, schema, then the service. */
function addEndpoint<Request extends z.ZodType>(
  app: FastifyInstance,
  endpoint: Endpoint<Request>,
  limits: { store: Store; enabled: boolean },
  serve: (request: ServiceRequest<z.output<Request>>, http: FastifyRequest) => Promise<Outcome>,
): void {
  const limit = createRateLimit(endpoint, limits.enabled, limits.store)
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const { keyId, accountId } = callerOf(request)
    reply.headers(await limit(keyId))
    refuseTooMany(request.body)
    const validated = validate(endpoint.request, request.body)
    if (!validated.ok) throw refusalOf(validated.issues, endpoint.validationStatus)
    const accepted = {
      accountId,
      parsed: validated.value,
      body: asObject(request.body),
      idempotencyKey: endpoint.idempotent ? idempotencyKey(request) : null,
      requestId: request.ownId,
      run: runOf(request),
    }
    const outcome = await serve(accepted, request)
    request.accepted = outcome.requestId ?? null
    if (outcome.replayed) reply.header(HEADERS.idempotencyReplayed, 'true')
    return outcome.response
  }
  const { permissions: access, errorForm, validationStatus } = endpoint
  const config = { access, errorForm, validationStatus }
  for (const url of [endpoint.path, `${endpoint.path}/`]) app.post(url, { config }, handler)
}

/** The endpoints of the API. */
export function addApiRoutes(app: FastifyInstance, deps: ServiceDeps, rateLimits: boolean): void {
  const limits = { store: deps.store, enabled: rateLimits }
  addEndpoint(app, ENDPOINTS.createcollection, limits, (request) => createCollection(deps, request))
  addEndpoint(app, ENDPOINTS.createnft, limits, (request) => createNft(deps, request))
  addEndpoint(app, ENDPOINTS.createnfttrans, limits, (request) => createNftTrans(deps, request))
  addEndpoint(app, ENDPOINTS.transfernft, limits, (request) => transferNft(deps, request))
  addEndpoint(app, ENDPOINTS.getcollections, limits, async (request) => ({
    response: await getCollections(deps, request),
  }))
  addEndpoint(app, ENDPOINTS.getnftgdnids, limits, async (request) => ({
    response: await getNftIds(deps, request),
  }))
  addEndpoint(app, ENDPOINTS.getisgdnnft, limits, async (request) => ({
    response: await getIsGdnNft(deps, request),
  }))
  addEndpoint(app, ENDPOINTS.gettransactions, limits, async (request) => ({
    response: await getTransactions(deps, request),
  }))
  addEndpoint(app, ENDPOINTS.getnfts, limits, async (request) => ({ response: await getNfts(deps, request) }))
  addEndpoint(app, ENDPOINTS.getpresignedurl, limits, async (request, http) => ({
    response: await getPresignedUrl(deps, request, originOf(http)),
  }))
}
