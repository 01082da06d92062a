import cors from '@fastify/cors'
import Fastify, { type FastifyInstance } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { CAPABILITIES, HEADERS } from '../../api/headers.ts'
import { type ApiVersion, DEFAULT_API_VERSION } from '../../api/versions.ts'
import type { Faults } from '../faults/faults.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics/types.ts'
import { Refusal } from '../services/refusals.ts'
import type { ServiceDeps } from '../services/services.ts'
import type { BackendIdentity } from '../store/identity.ts'
import { addApiRoutes } from './api-routes.ts'
import { addAuthentication } from './auth.ts'
import { type BodyMemory, DEFAULT_BODY_MEMORY, limitBodyMemory } from './body-memory.ts'
import './context.ts'
import type { Readiness } from '../readiness.ts'
import { type ConnectionLimits, DEFAULT_CONNECTIONS, limitConnections } from './connections.ts'
import { addDocs } from './docs.ts'
import { addDraining } from './draining.ts'
import { createErrorHandler, rawResponse } from './errors.ts'
import { addExplorer } from './explorer.ts'
import { addExplorerPage } from './explorer-page.ts'
import { addFaults, FAULT_HEADER } from './faults.ts'
import { addFileRoutes } from './files.ts'
import { addHealthRoutes } from './health.ts'
import { createHostCheck } from './hosts.ts'
import { addIpfsRoutes } from './ipfs.ts'
import { addJsonBodies, refuseEncodedBodies } from './json-body.ts'
import { addMetrics } from './metrics.ts'
import { addOpenApi } from './openapi.ts'
import { RATE_LIMIT_HEADER } from './rate-limits.ts'
import { refuseRepeatedHeaders } from './repeated-headers.ts'
import { addRequestIds, chooseRequestId } from './request-id.ts'
import { addRequestLog } from './request-log.ts'
import { addRpcRoutes } from './rpc.ts'
import { addSecurityHeaders, setSecurityHeaders } from './security-headers.ts'
import { TLS_OPTIONS, type TlsPair } from './tls.ts'
import { createTrust } from './trusted-proxies.ts'
import { addUnreadBodies, isLingering } from './unread-bodies.ts'
import { addWalletRoutes } from './wallet.ts'

const BODY_LIMIT_BYTES = 4 * 1024 * 1024
const REQUEST_TIMEOUT_MS = 60_000

/** Matches the paths of routes that pages of other origins may use. */
const CROSS_ORIGIN_PATH_PATTERN = /^\/(api|v1|ipfs|rpc)\//
const { apiKey, idempotencyKey, run, runMaxCost, onlyWithoutValue, ...RESPONSE_HEADERS } = HEADERS
const CORS = {
  methods: ['GET', 'POST'],
  exposedHeaders: [...Object.values(RESPONSE_HEADERS), ...Object.values(CAPABILITIES), RATE_LIMIT_HEADER, FAULT_HEADER],
}

export interface AppOptions {
  deps: ServiceDeps
  identity: BackendIdentity
  /** The address on which the server listens. */
  host: string
  /**
   * Accepted hosts in the Host header. If the server listens on loopback, they are accepted in addition to loopback
   * names. If it listens on another address and hosts are set, only these hosts, loopback names and IP addresses are
   * accepted.
   */
  allowedHosts: readonly string[]
  rateLimits: boolean
  /** API version for keys that specify none. Default: 1.1. */
  apiVersion?: ApiVersion | undefined
  version: string
  log: Log
  readiness: Readiness
  metrics: Metrics
  faults?: Faults | undefined
  /** Timeout in milliseconds for receiving a complete request. Default: a minute. */
  requestTimeoutMs?: number
  /** The certificate and the key for TLS. Without them, the server uses plain HTTP. */
  tls?: TlsPair | undefined
  /** Addresses and networks of proxies whose X-Forwarded-* headers are trusted. */
  trustProxy?: readonly string[]
  /** Whether the local account's key is also accepted from other machines. */
  allowLocalKey?: boolean
  /** Whether HTML pages are accepted and served as files of NFTs. */
  allowHtmlFiles?: boolean
  connections?: Partial<ConnectionLimits>
  bodyMemory?: Partial<BodyMemory>
  /** Interval between keep-alive lines in event streams, in milliseconds. Default: 15 s. */
  heartbeatMs?: number
}

/**
 * Replaces Fastify's validation, which would take 15 ms to load at every start. Requests are validated by the contract.
 */
const noSchemas = () => {
  throw new Error("routes must not have schemas: the contract's schema is checked before the service is called")
}

/** Returns the value of the header `blockchains-without-value`. */
function withoutValue({ names, hasValue }: ServiceDeps['chains']): string {
  const free = names.filter((name) => !hasValue(name))
  return free.length === names.length ? '*' : free.join(', ')
}

/** Creates the HTTP server of the backend. It doesn't listen yet. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { deps, host, allowedHosts, rateLimits, version, identity, log, readiness, metrics, faults } = options
  const {
    requestTimeoutMs = REQUEST_TIMEOUT_MS,
    tls,
    apiVersion = DEFAULT_API_VERSION,
    allowLocalKey = false,
    allowHtmlFiles: allowHtml = false,
  } = options
  const isTrusted = createTrust(options.trustProxy ?? [])
  const handleError = createErrorHandler(log)
  const serverHeaders = {
    ...Object.fromEntries(Object.values(CAPABILITIES).map((header) => [header, 'yes'])),
    [HEADERS.blockchainsWithoutValue]: withoutValue(deps.chains),
    [HEADERS.backendId]: identity.id,
    [HEADERS.incarnation]: identity.incarnation,
  }
  // By default, Node.js checks connections every 30 s, which could delay a timeout by up to 30 s.
  const http = { headersTimeout: requestTimeoutMs, connectionsCheckingInterval: requestTimeoutMs / 10 }
  const app: FastifyInstance = Fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: requestTimeoutMs * 2,
    ...(tls === undefined ? { http } : { https: { ...http, ...TLS_OPTIONS, ...tls } }),
    trustProxy: isTrusted,
    forceCloseConnections: true,
    exposeHeadRoutes: false,
    genReqId: chooseRequestId,
    onProtoPoisoning: 'error',
    onConstructorPoisoning: 'error',
    routerOptions: { maxParamLength: 500 },
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    // No hook runs for a path that can't be decoded, so such a request is handled here.
    frameworkErrors(error, request, reply) {
      setSecurityHeaders(reply)
      handleError(error, request, reply.headers({ ...serverHeaders, [HEADERS.requestId]: request.id }))
    },
    clientErrorHandler(error, socket) {
      if (isLingering(socket)) return
      if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
      const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
      socket.end(rawResponse(status, serverHeaders))
    },
  })
  limitConnections(app.server, { ...DEFAULT_CONNECTIONS, ...options.connections }, { isTrusted, log })
  // Parse only JSON. The route for forms registers its own parser.
  app.removeContentTypeParser('text/plain')
  addJsonBodies(app)
  app.setErrorHandler(handleError)
  app.setNotFoundHandler(() => {
    throw new Refusal(404, ERROR_TITLES.notFound, 'this path does not exist')
  })

  app.decorate('draining', addDraining(app))
  addRequestIds(app)
  addRequestLog(app, log)
  const checkHost = createHostCheck(host, allowedHosts)
  app.addHook('onRequest', async (request) => checkHost(request))
  app.addHook('onSend', async (_request, reply) => void reply.headers(serverHeaders))
  addSecurityHeaders(app)
  await app.register(cors, {
    // Set CORS headers before authentication, so that a page can also read error responses.
    hook: 'onRequest',
    delegator: (request, decide) =>
      decide(null, { ...CORS, origin: CROSS_ORIGIN_PATH_PATTERN.test(request.url ?? '') ? '*' : false }),
  })
  refuseRepeatedHeaders(app)
  const refuseRemoteLocalKey = addAuthentication(app, deps, { allowLocalKey, isTrusted, apiVersion })
  addUnreadBodies(app)
  refuseEncodedBodies(app)
  limitBodyMemory(app, { ...DEFAULT_BODY_MEMORY, ...options.bodyMemory })
  if (faults !== undefined) addFaults(app, faults, log)
  addOpenApi(app, { version, names: deps.chains.names, apiVersion })
  await addApiRoutes(app, deps, rateLimits)
  await addFileRoutes(app, deps, { allowHtml })
  await addWalletRoutes(app, deps)
  addRpcRoutes(app, deps, allowedHosts)
  addIpfsRoutes(app, deps.storage, { allowHtml })
  addHealthRoutes(app, { version, identity, readiness })
  addDocs(app)
  addExplorer(app, deps, {
    host,
    allowedHosts,
    isTrusted,
    refuseRemoteLocalKey,
    version,
    identity,
    log,
    heartbeatMs: options.heartbeatMs,
  })
  addExplorerPage(app)
  addMetrics(app, metrics)
  return app
}
