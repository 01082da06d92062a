import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type * as z from 'zod'
import type { Endpoint } from '../../api/endpoint.ts'
import { type Contracts, type EndpointName, loadEndpoints } from '../../api/endpoints.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { RUN_ID_PATTERN } from '../../api/fields.ts'
import { HEADERS, IDEMPOTENCY_ERRORS } from '../../api/headers.ts'
import { MAX_NFTS_PER_REQUEST } from '../../api/metadata.ts'
import { parseRunMaxCost, type RunMaxCost } from '../../api/run-max-cost.ts'
import { type FieldIssue, validate } from '../../api/validate.ts'
import { inVersion } from '../../api/versions.ts'
import { ownTurn } from '../../core/turns.ts'
import type { AcceptedRequest } from '../services/accept.ts'
import { fieldIssuesError, Refusal } from '../services/refusals.ts'
import type { RequestOf, ServiceDeps, ServiceRequest } from '../services/services.ts'
import { requireCaller } from './auth.ts'
import { createHeldReads, type HeldReads } from './held-reads.ts'
import { requestOrigin } from './hosts.ts'
import { createRateLimit } from './rate-limits.ts'

/**
 * A function that serves an endpoint. If the endpoint creates something, returns the accepted request. Otherwise,
 * returns the response.
 */
type Service<Name extends EndpointName> = (
  deps: ServiceDeps,
  request: RequestOf<Name>,
) => Promise<Served<z.input<Contracts[Name]['response']>, Contracts[Name]['creates']>>

type Served<Response, Creates> = Creates extends null ? Response : AcceptedRequest<Response>

/**
 * The services of all endpoints, loaded on the first request. `files` has a separate route, because an upload isn't
 * JSON.
 */
const SERVICES: { readonly [Name in Exclude<EndpointName, 'files'>]: () => Promise<Service<Name>> } = {
  createnft: async () => (await import('../services/create-nfts.ts')).createNftsService('createnft'),
  transfernft: async () => (await import('../services/transfer-nft.ts')).transferNft,
  createnfttrans: async () => (await import('../services/create-nfts.ts')).createNftsService('createnfttrans'),
  getnftgdnids: async () => (await import('../services/get-nft-ids.ts')).getNftIds,
  getnfts: async () => (await import('../services/get-nfts.ts')).getNfts,
  getisgdnnft: async () => (await import('../services/get-is-gdn-nft.ts')).getIsGdnNft,
  createcollection: async () => (await import('../services/create-collection.ts')).createCollection,
  creatednft: async () => (await import('../services/create-nfts.ts')).createNftsService('creatednft'),
  updatednft: async () => (await import('../services/update-nft.ts')).updateNft,
  getpresignedurl: async () => (await import('../services/get-presigned-url.ts')).getPresignedUrl,
  getcollections: async () => (await import('../services/get-collections.ts')).getCollections,
  getcollectionsettings: async () => (await import('../services/get-collection-settings.ts')).getCollectionSettings,
  freezenft: async () => (await import('../services/freeze-nft.ts')).freezeNft,
  burnnft: async () => (await import('../services/burn-nft.ts')).burnNft,
  commitprovenance: async () => (await import('../services/commit-provenance.ts')).commitProvenance,
  getprovenances: async () => (await import('../services/get-provenances.ts')).getProvenances,
  gettransactions: async () => (await import('../services/get-transactions.ts')).getTransactions,
  getnfthistory: async () => (await import('../services/get-nft-history.ts')).getNftHistory,
  getnftowners: async () => (await import('../services/get-nft-owners.ts')).getNftOwners,
  getsupply: async () => (await import('../services/get-supply.ts')).getSupply,
  getreferences: async () => (await import('../services/get-references.ts')).getReferences,
  getcontentreferences: async () => (await import('../services/get-content-references.ts')).getContentReferences,
  relabelreferences: async () => (await import('../services/relabel-references.ts')).relabelReferences,
  aliasreferences: async () => (await import('../services/alias-references.ts')).aliasReferences,
  getfees: async () => (await import('../services/get-fees.ts')).getFees,
  getruncosts: async () => (await import('../services/get-run-costs.ts')).getRunCosts,
  setrunmaxcost: async () => (await import('../services/set-run-max-cost.ts')).setRunMaxCost,
  setrunmaxfee: async () => (await import('../services/set-run-max-fee.ts')).setRunMaxFee,
}

export async function loadServices(): Promise<void> {
  await Promise.all(Object.values(SERVICES).map((load) => load()))
}

const MAX_IDEMPOTENCY_KEY_LENGTH = 255

function parseIdempotencyKey(request: FastifyRequest): string | null {
  const header = request.headers[HEADERS.idempotencyKey]
  if (header === undefined) return null
  const key = String(header)
  if (key === '' || key.length > MAX_IDEMPOTENCY_KEY_LENGTH) {
    throw new Refusal(
      400,
      ERROR_TITLES.badRequest,
      `Idempotency-Key must have 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} characters`,
      {
        [HEADERS.errorCode]: IDEMPOTENCY_ERRORS.invalid,
      },
    )
  }
  return key
}

/** Returns the request's run; null if it has none. Ignores a header that isn't a run ID. */
function parseRun(request: FastifyRequest): string | null {
  const header = request.headers[HEADERS.run]
  return typeof header === 'string' && RUN_ID_PATTERN.test(header) ? header : null
}

/**
 * Returns the cost limit of the request's run. Rejects an invalid value, because ignoring it could cost the user money.
 */
function parseMaxCostHeader(request: FastifyRequest): RunMaxCost | null {
  const header = request.headers[HEADERS.runMaxCost]
  if (header === undefined) return null
  const maxCost = parseRunMaxCost(String(header))
  if (maxCost !== null && parseRun(request) !== null) return maxCost
  throw new Refusal(
    400,
    ERROR_TITLES.badRequest,
    `${HEADERS.runMaxCost} must be an amount in wei as decimal digits, and requires ${HEADERS.run}`,
  )
}

/**
 * Returns whether the request may only use a blockchain whose coins have no value. Rejects an invalid header, because
 * ignoring it could cost the user money.
 */
function parseOnlyWithoutValue(request: FastifyRequest): boolean {
  const header = request.headers[HEADERS.onlyWithoutValue]
  if (header === undefined || header === 'yes') return header === 'yes'
  throw new Refusal(400, ERROR_TITLES.badRequest, `${HEADERS.onlyWithoutValue} must be yes`)
}

function asObject(body: unknown): Record<string, unknown> {
  const isObject = body !== null && typeof body === 'object' && !Array.isArray(body)
  return isObject ? (body as Record<string, unknown>) : {}
}

/** Number of NFTs whose validation takes about a millisecond. */
const LARGE_REQUEST_NFTS = 20

function isLarge(body: unknown): boolean {
  const { metadata } = asObject(body)
  return Array.isArray(metadata) && metadata.length >= LARGE_REQUEST_NFTS
}

/** Rejects a request with too many NFTs before its NFTs are validated. After a 413, clients send smaller requests. */
function refuseTooMany(body: unknown): void {
  const { metadata } = asObject(body)
  if (!Array.isArray(metadata) || metadata.length <= MAX_NFTS_PER_REQUEST) return
  const message = `metadata has ${metadata.length} NFTs, but a request can have at most ${MAX_NFTS_PER_REQUEST}`
  throw new Refusal(413, ERROR_TITLES.tooLarge, message)
}

/**
 * Adds an issue if this backend doesn't serve the request's blockchain. The issue replaces the schema's issues for that
 * field.
 */
function withUnserved(
  issues: readonly FieldIssue[],
  body: unknown,
  { has, names }: ServiceDeps['chains'],
): readonly FieldIssue[] {
  const { blockchain } = asObject(body)
  const isField = !issues.some(({ field, code }) => field === 'blockchain' && code === 'unrecognized_keys')
  if (typeof blockchain !== 'string' || has(blockchain) || !isField) return issues
  const message = `must be one of ${names.join(', ')}`
  return [
    { field: 'blockchain', path: ['blockchain'], message, code: 'custom' },
    ...issues.filter(({ field, inconsistent }) => field !== 'blockchain' && !inconsistent),
  ]
}

/**
 * Registers an endpoint's route, with and without a trailing slash. The route checks permission, rate limit and schema,
 * then calls the service.
 */
function addEndpoint(
  app: FastifyInstance,
  deps: ServiceDeps,
  endpoint: Endpoint,
  load: () => Promise<(deps: ServiceDeps, request: ServiceRequest<never>) => Promise<unknown>>,
  { rateLimits, held: heldReads }: { rateLimits: boolean; held: HeldReads },
): void {
  const { name } = endpoint
  const limit = createRateLimit(endpoint, rateLimits, deps.store)
  const contracts = { '1.1': inVersion(endpoint, '1.1'), '1.2': inVersion(endpoint, '1.2') }
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const { keyId, accountId } = requireCaller(request)
    reply.headers(await limit(keyId))
    refuseTooMany(request.body)
    if (endpoint.creates !== null && isLarge(request.body)) await ownTurn()
    const contract = contracts[request.apiVersion]
    const validated = validate(contract.request, request.body)
    const issues = withUnserved(validated.ok ? [] : validated.issues, request.body, deps.chains)
    if (!validated.ok || issues.length > 0) throw fieldIssuesError(issues, contract.validationStatus)
    const serve = await load()
    const serviceRequest: ServiceRequest<never> = {
      accountId,
      // SERVICES pairs each service with the schema of its endpoint.
      parsed: validated.value as never,
      body: asObject(request.body),
      idempotencyKey: endpoint.creates === null ? null : parseIdempotencyKey(request),
      requestId: request.ownId,
      run: parseRun(request),
      maxCost: parseMaxCostHeader(request),
      onlyWithoutValue: parseOnlyWithoutValue(request),
      origin: () => requestOrigin(request),
    }
    if (endpoint.creates === null) {
      const { prefer } = request.headers
      const read = () => serve(deps, serviceRequest)
      const { response, heldMs } = await heldReads.read({ name, accountId, prefer, raw: reply.raw, read })
      request.heldMs = heldMs
      return response
    }
    const { response, replayed, requestId } = (await serve(deps, serviceRequest)) as AcceptedRequest<unknown>
    request.accepted = requestId
    if (replayed) reply.header(HEADERS.idempotencyReplayed, 'true')
    return response
  }
  const config = { access: endpoint.permissions, needs: endpoint.needs, errorForm: endpoint.errorForm, contracts }
  for (const url of [endpoint.path, `${endpoint.path}/`]) app.post(url, { config }, handler)
}

export async function addApiRoutes(app: FastifyInstance, deps: ServiceDeps, rateLimits: boolean): Promise<void> {
  const { files: _, ...endpoints } = await loadEndpoints()
  const heldReads = createHeldReads(deps.store.db)
  app.draining.beginSignal.addEventListener('abort', () => heldReads.end())
  app.addHook('preClose', async () => heldReads.end())
  for (const endpoint of Object.values(endpoints)) {
    addEndpoint(app, deps, endpoint, SERVICES[endpoint.name], { rateLimits, held: heldReads })
  }
}
