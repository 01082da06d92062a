import type { Blockchain } from '../../../api/blockchains.ts'
import type { OutputFlags, ServerFlags } from '../../flags/common.ts'
import type { KeyValue } from '../../flags/parse.ts'
import type { WaitFlags } from '../../flags/wait.ts'

/** Flags of `nft mint`, parsed. */
export interface MintFlags extends OutputFlags, ServerFlags, WaitFlags {
  contract?: string
  blockchain?: Blockchain
  receiver?: string
  title?: string
  description?: string
  image?: string
  media?: KeyValue[]
  extra?: KeyValue[]
  attr?: KeyValue[]
  file?: string
  dryRun?: boolean
  yes?: boolean
  run?: string
  again?: boolean
  chunkSize?: number
  rate?: number
  inOrder?: boolean
}
