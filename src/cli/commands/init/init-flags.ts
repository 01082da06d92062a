import type { Blockchain } from '../../../api/blockchains.ts'
import type { KeyStorage } from '../../../config/saved-keys.ts'
import type { OutputFlags } from '../../flags/common.ts'

/** The flags of `gdn init`. Each replaces a prompt. */
export interface InitFlags extends OutputFlags {
  hosted?: boolean
  local?: boolean
  baseUrl?: string
  keyFile?: string
  store?: KeyStorage
  blockchain?: Blockchain
  wallet?: string
  profile?: string
  /** Whether to check the key. `--no-check` sets this to false. */
  check?: boolean
  start?: boolean
  yes?: boolean
}
