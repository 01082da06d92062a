import { isBlockchain } from '../../api/blockchains.ts'
import type { Bus, BusOptions } from '../store/postgres/bus.ts'
import type { Pipeline } from './pipeline.ts'

/** Returns the handler that notifies a pipeline of requests that other processes have accepted. */
export const createNotificationHandler = (pipeline: Pipeline): Pick<BusOptions, 'onNotification'> => ({
  onNotification(notification) {
    const { kind } = notification
    if (kind === 'transfer') pipeline.onTransferAccepted()
    if (kind === 'nfts') pipeline.onNftsAccepted(notification.collection, notification)
    if (kind === 'collection' && isBlockchain(notification.blockchain)) {
      pipeline.onCollectionAccepted(notification.blockchain)
    }
  },
})

/** Returns a pipeline that notifies other processes, and the pipeline of this process, of accepted requests. */
export function createNotifyingPipeline(bus: Pick<Bus, 'notify'>, ownPipeline?: Pipeline): Pipeline {
  return {
    onCollectionAccepted(blockchain) {
      ownPipeline?.onCollectionAccepted(blockchain)
      bus.notify({ kind: 'collection', blockchain })
    },
    onNftsAccepted(collection, { files, mint }) {
      ownPipeline?.onNftsAccepted(collection, { files, mint })
      bus.notify({ kind: 'nfts', collection, files, mint })
    },
    onTransferAccepted() {
      ownPipeline?.onTransferAccepted()
      bus.notify({ kind: 'transfer' })
    },
    async waitForOwners(blockchain) {
      await ownPipeline?.waitForOwners(blockchain)
    },
    async stop() {
      await ownPipeline?.stop()
    },
  }
}
