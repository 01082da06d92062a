import type { StoredPair } from '../batch/identity/store-pairs.ts'
import type { KeptRow } from '../batch/rows/manifest-row.ts'
import type { BatchClient, BatchOptions, Duplicates, FieldChange, Items, RunRef } from '../batch/types.ts'
import type { LocalContents } from '../files/local-content.ts'
import type { Drop } from '../state/drops.ts'
import type { Relabeling } from '../state/plan-tables.ts'
import type { NftNow } from '../state/row-outcomes.ts'
import type { Update } from './apply-updates.ts'
import type { Action, Change } from './compare.ts'

export interface PlanOptions extends BatchOptions {
  /** Change NFTs back that others have changed. */
  takeOver?: boolean
  /** The labels that the label of the run replaces, as a saved plan has them; without it, `adopt` decides for all. */
  adoptLabels?: readonly string[] | undefined
  /** Why the collection doesn't permit transfers; null if it does, or if that isn't known. */
  noTransfers(): Promise<string | null>
  /** Whether the collection is committed to the manifest, whose rows are minted unrevealed. */
  isCommitted(): Promise<boolean>
  /** Burn NFTs of this run whose rows are no longer in the manifest. */
  prune?: boolean
  /** Why the collection doesn't permit burns; null if it does, or if that isn't known. */
  noBurns(): Promise<string | null>
  /** Compare the plan with the changes that were saved with its rows. */
  isSaved?: boolean
}

export interface PlanDeps {
  client: BatchClient
  readManifest: (saved: SavedReader) => Items
  contents: LocalContents
  onProgress?(done: number): void
}

/** Takes the changes of a saved plan while it is read. */
export interface SavedReader {
  /** Takes the changes of each row, in order. */
  row(changes: readonly Change[]): Promise<void>
  /** Takes the changes of NFTs without a row. */
  burn(change: PlannedChange): Promise<void>
}

/** Rows by their outcome, and changes by action. A row may have an update and a transfer. */
export type PlanCounts = Record<Action, number> & {
  rows: number
  /** Rows that are as the manifest says. */
  unchanged: number
  /** Rows without an ID whose NFTs got one. They count as impossible. */
  identified: number
  /** Rows whose NFT was burned. They count as drift, which nothing takes over. */
  burned: number
  /** Removed rows whose NFTs are kept because others changed them. They count as drift. */
  keptBurns: number
  /** Removed rows whose NFTs can't be burned. They count as impossible. */
  impossibleBurns: number
  /** Mints of rows whose last mint failed. */
  retries: number
  /** Rows that the run has sent, and that are no longer in the manifest. */
  vanished: number
}

/** A change with its row. */
export interface PlannedChange extends Change {
  key: string
  /** Null for the burn of an NFT whose row is gone. */
  line: number | null
  title: string
  /** The owner of an NFT that is to be minted. */
  receiver?: string | undefined
  /** The fields for people: local files by their names, not by their URLs. By default, the same as `fields`. */
  shown?: FieldChange[] | undefined
}

/** A row that changed on the server since a plan was saved. */
export interface MovedRow {
  key: string
  line: number | null
  /** The current changes. */
  changes: Change[]
  /** The difference from the saved plan. */
  what: string
}

/** A row with its changes. */
export interface RowChanges {
  row: KeptRow
  changes: Change[]
}

/** A run as this machine knows it. */
export interface PlannedRun extends RunRef {
  /** The limit of its cost that is kept here, in wei; null if there is none. */
  maxCost: bigint | null
  /** Whether its NFTs are minted with creatednft. */
  dynamic: boolean
  /** Whether this machine has minted rows of it. */
  isKnown: boolean
}

export const plannedRun = ({ id, name, maxCost, dynamic, setId }: Drop): PlannedRun => ({
  id,
  name,
  maxCost,
  dynamic,
  isKnown: setId !== null,
})

/** The differences between a manifest and the existing NFTs. */
export interface ChangePlan {
  run: PlannedRun
  counts: PlanCounts
  /** Notes for people about the plan. */
  notes: readonly string[]
  /** Rows whose changes differ from the saved plan. `rows` has the first of them. */
  moved: { count: number; rows: MovedRow[] }
  /** The earlier path of the manifest, which was moved; null if it wasn't. `apply` stores the new one. */
  movedFrom: string | null
  /** NFTs that have another label on the server, which `apply` replaces. */
  relabeled: { count: number; labels: readonly string[]; pages(): AsyncGenerator<Relabeling[]> }
  /** Rows that got an ID since their mint, and whose NFTs `apply` stores. */
  paired: readonly StoredPair[]
  /** Throws where a mint would refuse to send rows, because they may be edited rows. @throws GdnError `edited_rows` */
  refuseEdited(): Promise<void>
  /** NFTs of this run that were changed after their mint, as they are now. */
  seen(): AsyncGenerator<NftNow[]>
  /** Rows to be minted that equal an earlier one. */
  duplicates(): Promise<Duplicates>
  /** Rows whose mint is recorded as not ended, but which need no mint. */
  unsettled: number
  /** Rows of the run that are recorded as deployed. */
  deployed: number
  /** All changes in the order of the manifest, burns at the end. */
  changes(): AsyncGenerator<PlannedChange>
  /** All rows with their changes. */
  rows(): AsyncGenerator<RowChanges>
  /** The changes of NFTs without a row. */
  burns(): AsyncGenerator<PlannedChange>
  /** The updates. */
  updates(): AsyncGenerator<Update>
}
