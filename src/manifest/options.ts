import type { Blockchain } from '../api/blockchains.ts'
import type { Place } from '../core/errors.ts'
import type { Column, ColumnMapping, ColumnNaming } from './columns.ts'
import type { ManifestIssue, ManifestRow, RowProblem } from './row.ts'

/** A normalized ENS name and its address on the network of a manifest. */
export interface EnsAddress {
  name: string
  address: string
}

/** Resolves the ENS names of manifests. Resolves each name once, even if several manifests are read. */
export interface EnsNames {
  /** Sets addresses that names keep, by normalized name. */
  pin(addresses: ReadonlyMap<string, string>): void
  /**
   * Resolves names as the manifest spells them.
   *
   * @throws GdnError if none can be resolved, because the node has failed. Without a node, `of` throws for each name.
   */
  open(names: ReadonlySet<string>, blockchain: unknown): Promise<void>
  /**
   * Returns the address of a name that was opened.
   *
   * @throws GdnError if the name has none
   */
  of(name: string): EnsAddress
  /** Reports what is noticed about all names. Called after the last row. */
  close(): Promise<void>
}

export interface ManifestOptions extends ColumnNaming {
  /** Null if a column of the manifest specifies it. */
  blockchain: Blockchain | null
  /** Whether the blockchain is optional. Without one, addresses aren't checked. */
  mayLackBlockchain?: boolean
  /** From the flag. A column must not contradict it. */
  contractAddress?: string | null
  /** The default for rows without one. */
  receiver?: string | null
  /** The default for rows without one. */
  sender?: string | null
  /** Whether the NFTs are minted with creatednft, which doesn't accept a sender. */
  dynamic?: boolean | undefined
  /**
   * Returns the address of a name such as `@alice`. Undefined if names aren't allowed. Throws a GdnError for an unknown
   * name.
   */
  addressOf?: (name: string) => string
  /** Called once before `addressOf`, and only if the manifest may contain a name. */
  openNames?: () => Promise<void>
  /** Returns a text that changes with the address of any name. */
  namesDigest?: () => Promise<string>
  /** Resolves ENS names such as `alice.eth`. Undefined if they aren't allowed. */
  ensNames?: EnsNames | undefined
  /** Whether local files can be uploaded. */
  localFiles: boolean
  /** Folders whose files are allowed, in addition to the manifest's own folder. */
  fileFolders?: readonly string[]
  /** Returns why the command rejects a valid row, or null. */
  checkRow?: ((row: ManifestRow) => RowProblem | null) | undefined
  /** Called for the URL of each file, valid or not, with its location. */
  onFileUrl?: ((url: string, place: Place) => void) | undefined
  /** Called for each local file with its location. */
  onLocalFile?: (path: string, place: Place) => void
  /** Called for each valid row with its columns, or with null if a metadata object of the API defines it. */
  onRow?: ((row: ManifestRow, columns: readonly (Column | undefined)[] | null) => void) | undefined
  /** Called for each row with a problem. */
  onInvalidRow?: (() => void) | undefined
  /** Called with the cells of each row of a CSV file, including the cells of ignored columns. */
  onCells?: ((line: number, cells: readonly string[]) => void) | undefined
  /** Called for a local file that may be damaged, or that some marketplaces may not show (`isOfMarketplaces`). */
  onFileWarning?: ((warning: ManifestIssue, isOfMarketplaces: boolean) => void) | undefined
  /** Called for each CSV cell from which the `'` before a formula was removed. */
  onUnescaped?: ((place: Place) => void) | undefined
  /** Receives the columns whose name isn't the documented one, with their documented names. */
  onMapped?: (mapped: readonly ColumnMapping[]) => void
}
