import type { Blockchain } from '../api/blockchains.ts'
import type { Place } from '../core/errors.ts'
import type { ColumnMapping, ColumnNaming } from './columns.ts'
import type { ManifestIssue, ManifestRow } from './row.ts'

export interface ManifestOptions extends ColumnNaming {
  /** Null if the manifest's own column defines it. */
  blockchain: Blockchain | null
  /** From the flag. A column must agree with it. */
  contractAddress?: string | null
  /** The default for rows without one. */
  receiver?: string | null
  /** The default for rows without one. */
  sender?: string | null
  /** Whether its NFTs are minted by creatednft, which takes no sender. */
  dynamic?: boolean | undefined
  /** Returns the address of a name such as `@alice`, where names are allowed. Throws a GdnError for an unknown one. */
  addressOf?: (name: string) => string
  /** Called once before `addressOf`, and only if the manifest may have a name. */
  openNames?: () => Promise<void>
  /** Whether files of this machine can be uploaded. */
  localFiles: boolean
  /** Folders whose files are allowed, in addition to the manifest's own folder. */
  fileFolders?: readonly string[]
  /** Called for every URL of a file, valid or not, with its location. */
  onFileUrl?: ((url: string, place: Place) => void) | undefined
  /** Called for every local file with its location. */
  onLocalFile?: (path: string, place: Place) => void
  /** Called for every valid row. `from`: whether columns or a metadata object of the API define it. */
  onRow?: ((row: ManifestRow, from: 'columns' | 'metadata') => void) | undefined
  /** Called with the cells of each row of a CSV file, including the cells of ignored columns. */
  onCells?: ((line: number, cells: readonly string[]) => void) | undefined
  /** Called for a local file that some marketplaces may not show. */
  onFileWarning?: ((warning: ManifestIssue) => void) | undefined
  /** Called for each cell of a CSV file that is read without the `'` before a formula. */
  onUnescaped?: ((place: Place) => void) | undefined
  /** Receives columns whose meaning is not their name, with the name in the documentation. */
  onMapped?: (mapped: readonly ColumnMapping[]) => void
}
