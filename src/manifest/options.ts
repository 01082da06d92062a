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
  /** Pins names to addresses, by normalized name. */
  pin(addresses: ReadonlyMap<string, string>): void
  /**
   * Resolves names as they are spelled in the manifest.
   *
   * @throws GdnError if no name can be resolved because the node has failed. Without a node, `of` throws for each name.
   */
  open(names: ReadonlySet<string>, blockchain: unknown): Promise<void>
  /**
   * Returns the address of a name that was passed to `open`.
   *
   * @throws GdnError if the name has no address
   */
  of(name: string): EnsAddress
  /** Reports problems that concern all names. Called after the last row. */
  close(): Promise<void>
}

export interface ManifestOptions extends ColumnNaming {
  /** Null if a column of the manifest specifies the blockchain. */
  blockchain: Blockchain | null
  /** Whether the blockchain is optional. Without a blockchain, addresses aren't checked. */
  mayLackBlockchain?: boolean
  /** The address from the flag. A column must not contradict it. */
  contractAddress?: string | null
  /** The default for rows without a receiver. */
  receiver?: string | null
  /** The default for rows without a sender. */
  sender?: string | null
  /** Whether the NFTs are minted with creatednft, which doesn't accept a sender. */
  dynamic?: boolean | undefined
  /**
   * Returns the address of a name such as `@alice`, or throws a GdnError for an unknown name. Undefined if names aren't
   * allowed.
   */
  addressOf?: (name: string) => string
  /** Called once before `addressOf`, and only if the manifest may contain a name. */
  openNames?: () => Promise<void>
  /** Returns a text that changes when the address of any name changes. */
  namesDigest?: () => Promise<string>
  /** Resolves ENS names such as `alice.eth`. Undefined if ENS names aren't allowed. */
  ensNames?: EnsNames | undefined
  /** Whether local files can be uploaded. */
  localFiles: boolean
  /** Folders whose files are allowed, in addition to the manifest's own folder. */
  fileFolders?: readonly string[]
  /** Returns the reason why the command rejects a valid row, or null if the command accepts it. */
  checkRow?: ((row: ManifestRow) => RowProblem | null) | undefined
  /** Called for the URL of each file, even if the URL is invalid, with its location. */
  onFileUrl?: ((url: string, place: Place) => void) | undefined
  /** Called for each local file with its location. */
  onLocalFile?: (path: string, place: Place) => void
  /** Called for each valid row with its columns, or with null if the row is a metadata object of the API. */
  onRow?: ((row: ManifestRow, columns: readonly (Column | undefined)[] | null) => void) | undefined
  /** Called for each row with a problem. */
  onInvalidRow?: (() => void) | undefined
  /** Called with the cells of each row of a CSV file, including the cells of ignored columns. */
  onCells?: ((line: number, cells: readonly string[]) => void) | undefined
  /**
   * Called for a local file that may be damaged, or that some marketplaces may not display (`isMarketplaceWarning`).
   */
  onFileWarning?: ((warning: ManifestIssue, isMarketplaceWarning: boolean) => void) | undefined
  /** Called for each CSV cell that began with `'` before a formula. The `'` is removed. */
  onUnescaped?: ((place: Place) => void) | undefined
  /** Called with the columns whose names differ from the documented names, and with their documented names. */
  onMapped?: (mapped: readonly ColumnMapping[]) => void
}
