import { isBlockchain } from '../../api/blockchains.ts'
import type { Bus, BusOptions } from '../store/postgres/bus.ts'
import type { Pipeline } from './pipeline.ts'

/** Returns the handler that notifies a pipeline of requests that other processes have accepted. */
export const onNotification = (pipeline: Pipeline): Pick<BusOptions, 'onNotification'> => ({
  onNotification(notification) {
    const { kind } = notification
    if (kind === 'transfer') pipeline.transferAccepted()
    if (kind === 'nfts') pipeline.nftsAccepted(notification.collection, notification)
    if (kind === 'collection' && isBlockchain(notification.blockchain)) {
      pipeline.collectionAccepted(notification.blockchain)
    }
  },
})

/** Returns a pipeline that notifies other processes, and the pipeline of this process, of accepted requests. */
export function notifyOthers(bus: Pick<Bus, 'notify'>, ownPipeline?: Pipeline): Pipeline {
  return {
    collectionAccepted(blockchain) {
      ownPipeline?.collectionAccepted(blockchain)
      bus.notify({ kind: 'collection', blockchain })
    },
    nftsAccepted(collection, { files, mint }) {
      ownPipeline?.nftsAccepted(collection, { files, mint })
      bus.notify({ kind: 'nfts', collection, files, mint })
    },
    transferAccepted() {
      ownPipeline?.transferAccepted()
      bus.notify({ kind: 'transfer' })
    },
    async ownersFollowed(blockchain) {
      await ownPipeline?.ownersFollowed(blockchain)
    },
    async stop() {
      await ownPipeline?.stop()
    },
  }
}
