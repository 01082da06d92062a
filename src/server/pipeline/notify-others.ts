import { isBlockchain } from '../../api/blockchains.ts'
import type { Bus, BusOptions } from '../store/postgres/bus.ts'
import type { Pipeline } from './pipeline.ts'

/** Returns the handler that notifies a pipeline of requests that other processes have accepted. */
export const onNotification = (pipeline: Pipeline): Pick<BusOptions, 'onWord'> => ({
  onWord(word) {
    if (word.what === 'transfer') pipeline.transferAccepted()
    if (word.what === 'nfts') pipeline.nftsAccepted(word.collection, word)
    if (word.what === 'collection' && isBlockchain(word.blockchain)) pipeline.collectionAccepted(word.blockchain)
  },
})

/** Returns a pipeline that notifies other processes, and the pipeline of this process, of accepted requests. */
export function notifyOthers(bus: Pick<Bus, 'tell'>, ownPipeline?: Pipeline): Pipeline {
  return {
    collectionAccepted(blockchain) {
      ownPipeline?.collectionAccepted(blockchain)
      bus.tell({ what: 'collection', blockchain })
    },
    nftsAccepted(collection, { files, mint }) {
      ownPipeline?.nftsAccepted(collection, { files, mint })
      bus.tell({ what: 'nfts', collection, files, mint })
    },
    transferAccepted() {
      ownPipeline?.transferAccepted()
      bus.tell({ what: 'transfer' })
    },
    async ownersFollowed(blockchain) {
      await ownPipeline?.ownersFollowed(blockchain)
    },
    async stop() {
      await ownPipeline?.stop()
    },
  }
}
