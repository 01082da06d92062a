import type { Blockchain } from '../api/blockchains.ts'

export interface ManifestOptions {
  /** Null where the manifest's own column says it. */
  blockchain: Blockchain | null
  /** From the flag; a column must agree with it. */
  contractAddress?: string | null
  /** Takes unknown columns as extra keys, which become public metadata. */
  extraColumns: boolean
  /** For rows without one. */
  receiver?: string | null
  /** For rows without one. */
  sender?: string | null
  /** Whether files of this machine can be uploaded. */
  localFiles: boolean
}
