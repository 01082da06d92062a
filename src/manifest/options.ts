import type { Blockchain } from '../api/blockchains.ts'
import type { Place } from '../core/errors.ts'

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
  /** The address behind a name such as `@alice`, where names may stand; throws a GdnError for an unknown one. */
  addressOf?: (name: string) => string
  /** Whether files of this machine can be uploaded. */
  localFiles: boolean
  /** Whose files may be, beside those of the manifest's own folder. */
  fileFolders?: readonly string[]
  /** Told of every URL of a file, right or wrong, with its place. */
  onFileUrl?: (url: string, place: Place) => void
  /** Told of every local file with its place. */
  onLocalFile?: (path: string, place: Place) => void
}
