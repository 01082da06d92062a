import type { StoredPair } from '../batch/identity/store-pairs.ts'
import type { StoredRow } from '../batch/rows/manifest-row.ts'
import type { BatchClient, BatchOptions, Duplicates, FieldChange, Items, Run, RunRef } from '../batch/types.ts'
import type { LocalContents } from '../files/local-content.ts'
import type { ManifestRow } from '../manifest/row.ts'
import type { Drop } from '../state/drops.ts'
import type { Relabeling } from '../state/plan-tables.ts'
import type { NftState } from '../state/row-outcomes.ts'
import type { Update } from './apply-updates.ts'
import type { Action, NftChange } from './compare.ts'

export interface PlanOptions extends BatchOptions {
  /** Whether to overwrite changes that others made to NFTs. */
  takeOver?: boolean
  /** The labels that the run's label replaces according to a saved plan. If absent, `adopt` applies to all labels. */
  adoptLabels?: readonly string[] | undefined
  /** Returns the reason why the collection doesn't permit transfers; null if it does, or if this is unknown. */
  whyNoTransfers(): Promise<string | null>
  /**
   * If rows of the manifest are minted unrevealed, returns why rows without NFTs can't be minted with their own
   * metadata. Returns null if they can.
   *
   * @param reading the options that the run stores; null if the run has not begun
   */
  whyNoMints(reading: Run['reading'] | null): Promise<string | null>
  /** Returns why rows can't be minted because another drop hides them; null if all rows can be minted. */
  whyHidden?(check: HiddenCheck): Promise<string | null>
  /** The row that was drawn for each slot of a shuffled drop, counted from 1. */
  drawnRows?: Uint32Array | undefined
  /** The number of slots of a sealed drop. Slots without NFTs are abandoned, because they can't be minted anymore. */
  sealedSlots?: number | undefined
  /**
   * Returns a function that checks whether a row is row `n`, counted from 1, of the run's commitment. Returns null if
   * this machine has no record of the committed rows.
   */
  committedRows?(): Promise<((row: ManifestRow, n: number) => Promise<boolean>) | null>
  /** Whether to burn NFTs of this run whose rows were removed from the manifest. */
  prune?: boolean
  /** Returns the reason why the collection doesn't permit burns; null if it does, or if this is unknown. */
  whyNoBurns(): Promise<string | null>
  /** Whether the rows are from a saved plan, whose changes are compared with the new plan. */
  isSaved?: boolean
}

/** Rows of a run that another drop may hide. */
export interface HiddenCheck {
  /** The rows to send for the first time, or again after they failed. */
  rows: () => AsyncIterable<{ row: ManifestRow }>
  /** The rows with an unknown outcome that the run sends again, with the content that was sent. */
  resent: () => AsyncIterable<{ row: Pick<ManifestRow, 'metadata' | 'localFiles'> }>
  run: Pick<Drop, 'id' | 'name' | 'again'>
}

export interface PlanDeps {
  client: BatchClient
  readManifest: (saved: SavedPlanReader) => Items
  contents: LocalContents
  onProgress?(done: number): void
}

/** Receives the changes of a saved plan while it is read. */
export interface SavedPlanReader {
  /** Receives the changes of each row, in order. */
  row(changes: readonly NftChange[]): Promise<void>
  /** Receives the change of an NFT without a row. */
  burn(change: PlannedChange): Promise<void>
}

/** Counts rows by outcome and changes by action. A row may have both an update and a transfer. */
export type PlanCounts = Record<Action, number> & {
  rows: number
  /** Number of rows that match their NFTs. */
  unchanged: number
  /** Number of slots of a sealed drop that weren't minted. */
  abandoned: number
  /** Number of rows without an ID whose NFTs were given an ID. They count as impossible. */
  identified: number
  /**
   * Number of rows whose NFT was burned or keeps its placeholder. They count as drift, which `takeOver` doesn't
   * resolve.
   */
  lasting: number
  /** Number of removed rows whose NFTs are kept because others changed them. They count as drift. */
  keptBurns: number
  /** Number of removed rows whose NFTs can't be burned. They count as impossible. */
  impossibleBurns: number
  /** Number of rows that are minted again because their last mint failed. They also count as mints. */
  retries: number
  /** Number of rows that the run has sent but that aren't in the manifest. */
  vanished: number
}

/** A change with its row. */
export interface PlannedChange extends NftChange {
  key: string
  /** Line of the row; null for the burn of an NFT whose row was removed. */
  line: number | null
  title: string
  /** For a mint, the receiver of the NFT with its ENS name. */
  receiver?: string | undefined
  /** The fields to display, with the names of local files and receivers. Default: `fields`. */
  shown?: FieldChange[] | undefined
}

/** A row whose changes differ from the saved plan. */
export interface DifferingPlanRow {
  key: string
  line: number | null
  /** The current changes. */
  changes: NftChange[]
  /** Describes the difference from the saved plan. */
  what: string
}

export interface RowChanges {
  row: StoredRow
  changes: NftChange[]
}

/** A run, and its properties in the local state. */
export interface PlannedRun extends RunRef {
  /** The cost limit of the run in the local state, in wei; null if there is none. */
  maxCost: bigint | null
  /** Whether the NFTs are minted with creatednft. */
  dynamic: boolean
  /** The maximum number of rows per request. */
  chunkSize: number
  /** Whether rows are minted in the manifest's order. */
  inOrder: boolean
  /** Whether this machine has minted rows of the run. */
  isKnown: boolean
  /** Whether the run began with `--again`. */
  again: boolean
}

export const plannedRun = ({ id, name, again, maxCost, dynamic, chunkSize, inOrder, setId }: Drop): PlannedRun => ({
  id,
  name,
  again,
  maxCost,
  dynamic,
  chunkSize,
  inOrder,
  isKnown: setId !== null,
})

/** The differences between a manifest and the existing NFTs. */
export interface ChangePlan {
  run: PlannedRun
  counts: PlanCounts
  notes: readonly string[]
  /**
   * Note that the manifest may be another edition: most minted rows have other content, or another run has minted the
   * rows with other content. Null for any other plan.
   */
  otherEdition: string | null
  /** Rows whose changes differ from the saved plan. `rows` contains only the first of them. */
  changedSinceSaved: { count: number; rows: DifferingPlanRow[] }
  /** The earlier path of a moved manifest; null if it wasn't moved. `apply` stores the new path. */
  movedFrom: string | null
  /** NFTs with another label on the server. `apply` replaces these labels. */
  relabeled: { count: number; labels: readonly string[]; pages(): AsyncGenerator<Relabeling[]> }
  /** Rows that got an ID after they were minted. `apply` stores their NFTs. */
  paired: readonly StoredPair[]
  /**
   * Checks for edited rows.
   *
   * @throws GdnError `edited_rows` if a mint would refuse to send rows because they may be edits of sent rows
   */
  refuseEdited(how?: { onlyMints?: boolean }): Promise<void>
  /** Yields the current state of the NFTs of this run that were changed after their mint. */
  seen(): AsyncGenerator<NftState[]>
  /** Returns the rows to mint that equal an earlier row. */
  duplicates(): Promise<Duplicates>
  /** Number of rows that need no mint, but whose mint has no recorded final outcome. */
  unsettled: number
  /** Number of rows of the run that are recorded as deployed. */
  deployed: number
  /** Yields all changes in the order of the manifest, followed by burns. */
  changes(): AsyncGenerator<PlannedChange>
  rows(): AsyncGenerator<RowChanges>
  /** Yields the changes of NFTs without a row. */
  burns(): AsyncGenerator<PlannedChange>
  updates(): AsyncGenerator<Update>
}
