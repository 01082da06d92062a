import { messageOf } from '../../core/errors.ts'
import type { Pipeline, PipelineOptions } from './pipeline.ts'

export interface LazyPipeline extends Pipeline {
  /** Loads and starts the steps. */
  begin(): void
}

const RETRY_MS = 1000

/**
 * Creates a pipeline that `begin` loads and starts. Loading takes 35 ms, so a backend that loads the pipeline later is
 * ready sooner. Requests that are accepted before the start are in the database, which the steps read first. A failed
 * start is logged and retried.
 */
export function createLazyPipeline(options: PipelineOptions): LazyPipeline {
  let stopped = false
  let retry: NodeJS.Timeout | undefined
  let starting: Promise<Pipeline | null> = Promise.resolve(null)
  let running: Pipeline | null = null

  const start = async () => {
    try {
      const { startPipeline } = await import('./pipeline.ts')
      running = await startPipeline(options)
    } catch (error) {
      options.log.error({ error: messageOf(error) }, 'the pipeline could not be started and will be retried')
      if (!stopped) retry = setTimeout(begin, RETRY_MS).unref()
    }
    return running
  }
  const begin = () => {
    if (!stopped) starting = start()
  }

  return {
    begin,
    onCollectionAccepted: (blockchain) => running?.onCollectionAccepted(blockchain),
    onNftsAccepted: (collectionId, steps) => running?.onNftsAccepted(collectionId, steps),
    onTransferAccepted: () => running?.onTransferAccepted(),
    async waitForOwners(blockchain) {
      await (await starting)?.waitForOwners(blockchain)
    },
    async stop() {
      stopped = true
      clearTimeout(retry)
      await (await starting)?.stop()
    },
  }
}
