import type { FastifyInstance, FastifyRequest } from 'fastify'
import { messageOf } from '../../core/errors.ts'
import { createExplorer } from '../explorer/explorer.ts'
import type { Log } from '../log.ts'
import type { ServiceDeps } from '../services/services.ts'
import { type AccessOptions, addExplorerAccess, viewerOf } from './explorer-access.ts'
import { addExplorerEvents } from './explorer-events.ts'
import { nameParam, nothingThere, partParams, statusParam, textParam } from './explorer-params.ts'

type Answers = typeof import('../explorer/answers.ts')

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
  const get = (path: string, answer: (request: FastifyRequest, by: Answers) => Promise<object | null>) => {
    app.get(`/explorer/${path}`, { config: { access: 'explorer', errorForm: 'A' } }, async (request) => {
      const found = await answer(request, await import('../explorer/answers.ts'))
      if (found === null) throw nothingThere(String(Object.values(request.params as object)[0] ?? ''))
      return found
    })
  }
  const collectionOf = (request: FastifyRequest, { findCollection }: Answers) =>
    findCollection(explorer, viewerOf(request), nameParam(request, 'id'), textParam(request, 'blockchain'))

  get('overview', (request, by) => by.showOverview(explorer, viewerOf(request)))
  get('collections', (request, by) =>
    by.listCollections(explorer, viewerOf(request), { ...partParams(request), q: textParam(request, 'q') }),
  )
  get('collections/:id', async (request, by) => {
    const collection = await collectionOf(request, by)
    return collection === null ? null : await by.showCollection(explorer, collection)
  })
  get('collections/:id/nfts', async (request, by) => {
    const filter = {
      status: statusParam(request),
      owner: textParam(request, 'owner'),
      q: textParam(request, 'q'),
    }
    const part = partParams(request)
    const collection = await collectionOf(request, by)
    return collection === null ? null : await by.listNfts(explorer, collection, { ...part, ...filter })
  })
  get('nfts/:id', (request, by) => by.showNft(explorer, viewerOf(request), nameParam(request, 'id')))
  get('owners/:address/nfts', (request, by) =>
    by.listOwned(explorer, viewerOf(request), by.addressOf(nameParam(request, 'address')), partParams(request)),
  )
  get('runs', (request, by) => by.showRuns(explorer, viewerOf(request), partParams(request)))
  get('runs/:run', (request, by) => by.showRun(explorer, viewerOf(request), nameParam(request, 'run')))
  get('runs/:run/nfts', (request, by) => {
    const part = { ...partParams(request), status: statusParam(request) }
    return by.listNftsOfRun(explorer, viewerOf(request), nameParam(request, 'run'), part)
  })
  get('search', (request, by) => by.search(explorer, viewerOf(request), textParam(request, 'q') ?? ''))
  addExplorerEvents(app, explorer, { access, log: options.log, heartbeatMs: options.heartbeatMs })
}
