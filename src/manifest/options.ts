import type { Blockchain } from '../api/blockchains.ts'
import type { Place } from '../core/errors.ts'
import type { ColumnMapping, ColumnNaming } from './columns.ts'

export interface ManifestOptions extends ColumnNaming {
  /** Null where the manifest's own column says it. */
  blockchain: Blockchain | null
  /** From the flag; a column must agree with it. */
  contractAddress?: string | null
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
  /** Receives columns whose meaning is not their name, with the name that the documentation has for it. */
  onMapped?: (mapped: readonly ColumnMapping[]) => void
}
