import { startLoop, type Turn } from '../loop.ts'
import type { FileSources } from '../recovery/store-files-again.ts'
import { createSolanaChainStep } from './solana-chain-step.ts'
import { createSolanaDeployStep } from './solana-deploy-step.ts'
import { createSolanaMintStep } from './solana-mint-step.ts'
import { createSolanaRecoverStep } from './solana-recover-step.ts'
import type { SolanaStepOptions } from './step-options.ts'

export interface SolanaPipeline {
  collectionAccepted(): void
  /** NFTs of a collection, of this blockchain or another, wait to be signed for. */
  mintable(collectionId: string): void
  stop(): Promise<void>
}

/** The steps of one Solana blockchain: sign for collections, sign for NFTs, send and settle, recover. */
export function startSolanaPipeline(options: SolanaStepOptions & FileSources): SolanaPipeline {
  const { blockchain, log, serves = () => true } = options
  const guard = (turn: Turn) => async () => (serves(blockchain) ? await turn() : null)
  const onSigned = () => chainLoop.wake()
  const mintStep = createSolanaMintStep({ ...options, onSigned, onUnknown: () => recoverLoop.wake() })
  const mintable = (collectionId: string) => {
    mintStep.mark(collectionId)
    mintLoop.wake()
  }
  const chainStep = createSolanaChainStep({ ...options, onSettled: mintable })
  const chainLoop = startLoop(`chain ${blockchain}`, guard(chainStep), log)
  const mintLoop = startLoop(`mint ${blockchain}`, guard(mintStep.turn), log)
  const deployLoop = startLoop(`make ${blockchain}`, guard(createSolanaDeployStep({ ...options, onSigned })), log)
  const recoverStep = createSolanaRecoverStep({ ...options, onMintable: mintable })
  const recoverLoop = startLoop(`recover ${blockchain}`, guard(recoverStep), log)
  return {
    collectionAccepted: () => deployLoop.wake(),
    mintable,
    async stop() {
      await Promise.all([deployLoop.stop(), mintLoop.stop(), chainLoop.stop(), recoverLoop.stop()])
    },
  }
}
