import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ERROR_TITLES } from '../../api/errors.ts'
import { HEADERS } from '../../api/headers.ts'
import { messageOf } from '../../core/errors.ts'
import { createExplorer, type ExplorerDeps } from '../explorer/explorer.ts'
import type { Watch, WatchListener, WatchSubject } from '../explorer/watch.ts'
import type { Log } from '../log.ts'
import { Refusal } from '../services/refusals.ts'
import type { ServiceDeps } from '../services/services.ts'
import { type AccessOptions, addExplorerAccess, type ExplorerAccess, requireViewer } from './explorer-access.ts'
import { nameParam, notFoundError, partParams, statusParam, textParam } from './explorer-params.ts'

type Handlers = typeof import('../explorer/handlers.ts')

export interface ExplorerOptions extends AccessOptions {
  log: Log
  /** Interval between keep-alive lines in event streams, in milliseconds. Default: 15 s. */
  heartbeatMs?: number | undefined
}

/** Adds the data endpoints of the web explorer under `/explorer/`. All of them are read-only. */
export function addExplorer(app: FastifyInstance, deps: ServiceDeps, options: ExplorerOptions): void {
  const access = addExplorerAccess(app, deps, options)
  const explorer = createExplorer({
    ...deps,
    onError: (error) => options.log.warn({ error: messageOf(error) }, 'titles could not be indexed'),
  })
  app.addHook('onClose', () => explorer.indexer.stop())
  const get = (path: string, handle: (request: FastifyRequest, handlers: Handlers) => Promise<object | null>) => {
    app.get(`/explorer/${path}`, { config: { access: 'explorer', errorForm: 'A' } }, async (request) => {
      const body = await handle(request, await import('../explorer/handlers.ts'))
      if (body === null) throw notFoundError(String(Object.values(request.params as object)[0] ?? ''))
      return body
    })
  }
  const collectionOf = (request: FastifyRequest, { findCollection }: Handlers) =>
    findCollection(explorer, requireViewer(request), nameParam(request, 'id'), textParam(request, 'blockchain'))

  get('overview', (request, handlers) => handlers.showOverview(explorer, requireViewer(request)))
  get('collections', (request, handlers) =>
    handlers.listCollections(explorer, requireViewer(request), { ...partParams(request), q: textParam(request, 'q') }),
  )
  get('collections/:id', async (request, handlers) => {
    const collection = await collectionOf(request, handlers)
    return collection === null ? null : await handlers.showCollection(explorer, collection)
  })
  get('collections/:id/nfts', async (request, handlers) => {
    const filter = {
      status: statusParam(request),
      owner: textParam(request, 'owner'),
      q: textParam(request, 'q'),
    }
    const part = partParams(request)
    const collection = await collectionOf(request, handlers)
    return collection === null ? null : await handlers.listNfts(explorer, collection, { ...part, ...filter })
  })
  get('nfts/:id', (request, handlers) => handlers.showNft(explorer, requireViewer(request), nameParam(request, 'id')))
  get('owners/:address/nfts', (request, handlers) =>
    handlers.listOwned(
      explorer,
      requireViewer(request),
      handlers.normalizeAddress(nameParam(request, 'address')),
      partParams(request),
    ),
  )
  get('runs', (request, handlers) => handlers.showRuns(explorer, requireViewer(request), partParams(request)))
  get('runs/:run', (request, handlers) => handlers.showRun(explorer, requireViewer(request), nameParam(request, 'run')))
  get('runs/:run/nfts', (request, handlers) => {
    const part = { ...partParams(request), status: statusParam(request) }
    return handlers.listNftsOfRun(explorer, requireViewer(request), nameParam(request, 'run'), part)
  })
  get('search', (request, handlers) => handlers.search(explorer, requireViewer(request), textParam(request, 'q') ?? ''))
  addExplorerEvents(app, explorer, { access, log: options.log, heartbeatMs: options.heartbeatMs })
}

/**
 * Interval in milliseconds between checks of the session, and between the comments that keep proxies from closing idle
 * streams.
 */
const HEARTBEAT_MS = 15_000
/** Maximum number of unread bytes. A client that falls further behind is disconnected, and then reconnects. */
const MAX_UNREAD_BYTES = 4 * 1024 * 1024
const RETRY_MS = 2000
const SUBJECTS = ['run', 'nft', 'collection'] as const satisfies readonly WatchSubject[]

/** Adds `GET /explorer/events`, a stream of changes. */
function addExplorerEvents(
  app: FastifyInstance,
  explorer: ExplorerDeps,
  { access, log, heartbeatMs = HEARTBEAT_MS }: { access: ExplorerAccess; log: Log; heartbeatMs?: number | undefined },
): void {
  let watching: Promise<Watch> | undefined
  const startWatch = async () =>
    (await import('../explorer/watch.ts')).createWatch(explorer, {
      onError: (error) => log.warn({ error: messageOf(error) }, 'changes could not be sent to web explorers'),
    })
  app.addHook('preClose', async () => (await watching)?.close())
  app.get('/explorer/events', { config: { access: 'explorer', errorForm: 'A' } }, async (request, reply) => {
    watching ??= startWatch()
    const watch = await watching
    const viewer = requireViewer(request)
    const stream = new Readable({ read() {} })
    let ended = false
    const push = (text: string) => {
      // Check before the push, because a single event may be larger than the limit. Otherwise, the client would be
      // disconnected by the same event after each reconnect.
      if (stream.readableLength > MAX_UNREAD_BYTES) stream.destroy()
      if (!ended) stream.push(text)
    }
    const listener: WatchListener = {
      viewer,
      subjects: parseSubjects(request),
      send: (event, json) => push(`event: ${event}\ndata: ${json}\n\n`),
      end() {
        ended = true
        stream.push(null)
      },
    }
    if (!watch.addListener(listener)) {
      throw new Refusal(503, ERROR_TITLES.unavailable, 'too many event streams are open: try again later', {
        [HEADERS.retryAfter]: '30',
      })
    }
    const heartbeat = setInterval(async () => {
      push(': still here\n\n')
      const present = await access.findViewer(request).catch(() => viewer)
      if (present?.accountId !== viewer.accountId) listener.end()
    }, heartbeatMs)
    stream.once('close', () => {
      clearInterval(heartbeat)
      watch.removeListener(listener)
    })
    push(`retry: ${RETRY_MS}\n\n`)
    return reply
      .headers({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
      .type('text/event-stream; charset=utf-8')
      .send(stream)
  })
}

function parseSubjects(request: FastifyRequest): Partial<Record<WatchSubject, string>> {
  const parameters = SUBJECTS.map((name) => [name, textParam(request, name, 200)] as const)
  return Object.fromEntries(parameters.filter(([, id]) => id !== null))
}
