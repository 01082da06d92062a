import type { FastifyInstance, FastifyRequest } from 'fastify'
import { messageOf } from '../../core/errors.ts'
import { addressOf, findCollection, listCollections, showCollection } from '../explorer/collections.ts'
import { createExplorer } from '../explorer/explorer.ts'
import { listNfts, listOwned } from '../explorer/nft-lists.ts'
import { showNft } from '../explorer/nfts.ts'
import { showOverview } from '../explorer/overview.ts'
import { listNftsOfRun, showRun, showRuns } from '../explorer/runs.ts'
import { search } from '../explorer/search.ts'
import type { Log } from '../log.ts'
import type { ServiceDeps } from '../services/services.ts'
import { type AccessOptions, addExplorerAccess, viewerOf } from './explorer-access.ts'
import { addExplorerEvents } from './explorer-events.ts'
import { nameParam, nothingThere, partParams, statusParam, textParam } from './explorer-params.ts'

export interface ExplorerOptions extends AccessOptions {
  log: Log
  /** How often listeners hear that they are still connected, in milliseconds; by default 15 s. */
  heartbeatMs?: number | undefined
}

/** What the web explorer's page asks for under `/explorer/`: all of it is read, nothing changed. */
export function addExplorer(app: FastifyInstance, deps: ServiceDeps, options: ExplorerOptions): void {
  const access = addExplorerAccess(app, deps, options)
  const explorer = createExplorer({
    ...deps,
    onError: (error) => options.log.warn({ error: messageOf(error) }, "titles couldn't be indexed at this moment"),
  })
  app.addHook('onClose', () => explorer.indexer.stop())
  const get = (path: string, answer: (request: FastifyRequest) => Promise<object | null>) => {
    app.get(`/explorer/${path}`, { config: { access: 'explorer', errorForm: 'A' } }, async (request) => {
      const found = await answer(request)
      if (found === null) throw nothingThere(String(Object.values(request.params as object)[0] ?? ''))
      return found
    })
  }
  const collectionOf = (request: FastifyRequest) =>
    findCollection(explorer, viewerOf(request), nameParam(request, 'id'), textParam(request, 'blockchain'))

  get('overview', (request) => showOverview(explorer, viewerOf(request)))
  get('collections', (request) =>
    listCollections(explorer, viewerOf(request), { ...partParams(request), q: textParam(request, 'q') }),
  )
  get('collections/:id', async (request) => {
    const collection = await collectionOf(request)
    return collection === null ? null : await showCollection(explorer, collection)
  })
  get('collections/:id/nfts', async (request) => {
    const filter = {
      status: statusParam(request),
      owner: textParam(request, 'owner'),
      q: textParam(request, 'q'),
    }
    const part = partParams(request)
    const collection = await collectionOf(request)
    return collection === null ? null : await listNfts(explorer, collection, { ...part, ...filter })
  })
  get('nfts/:id', (request) => showNft(explorer, viewerOf(request), nameParam(request, 'id')))
  get('owners/:address/nfts', (request) =>
    listOwned(explorer, viewerOf(request), addressOf(nameParam(request, 'address')), partParams(request)),
  )
  get('runs', (request) => showRuns(explorer, viewerOf(request), partParams(request)))
  get('runs/:run', (request) => showRun(explorer, viewerOf(request), nameParam(request, 'run')))
  get('runs/:run/nfts', (request) => {
    const part = { ...partParams(request), status: statusParam(request) }
    return listNftsOfRun(explorer, viewerOf(request), nameParam(request, 'run'), part)
  })
  get('search', (request) => search(explorer, viewerOf(request), textParam(request, 'q') ?? ''))
  addExplorerEvents(app, explorer, { access, log: options.log, heartbeatMs: options.heartbeatMs })
}
