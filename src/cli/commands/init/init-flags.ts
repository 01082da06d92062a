import type { Blockchain } from '../../../api/blockchains.ts'
import type { KeptIn } from '../../../config/saved-keys.ts'
import type { OutputFlags } from '../../flags/common.ts'

/** The flags of `gdn init`. Each replaces a prompt. */
export interface InitFlags extends OutputFlags {
  hosted?: boolean
  local?: boolean
  baseUrl?: string
  keyFile?: string
  store?: KeptIn
  blockchain?: Blockchain
  wallet?: string
  profile?: string
  /** False with --no-check. */
  check?: boolean
  start?: boolean
  yes?: boolean
}
