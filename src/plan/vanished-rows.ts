import { findRemovedSentRows } from '../batch/rows/edited-rows.ts'
import { isContentKey } from '../batch/rows/row-key.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import type { NftSource } from './find-nfts.ts'
import { type BurnedRow, findRemovedRows } from './prune.ts'

/** The rows that a run has sent but that aren't in the manifest. Excludes rows whose NFTs belong to other rows. */
export class RemovedSentRows {
  /** The key of each row, by operation. */
  readonly #keys = new Map<string, string>()
  /** The operation of each row, by NFT. */
  readonly #operations = new Map<string, string>()
  /** Operations whose NFTs belong to rows of the manifest. */
  readonly renamedOperations = new Set<string>()
  /** Operations whose rows were replaced by new rows. */
  readonly #replaced = new Set<string>()
  /** The names of the first rows. */
  firstNames: readonly string[] = []

  /**
   * Reads the rows from the state.
   *
   * @param paired the rows that got an ID after their mint
   */
  async begin({ state, drop }: StoredRun, paired: Parameters<typeof findRemovedSentRows>[3]): Promise<void> {
    if (drop.setId === null) return
    const missing = await state.read((sql) => findRemovedSentRows(sql, drop, 'draft', paired, { withReplaced: true }))
    for (const { id, key, nft, replaced } of missing) {
      this.#keys.set(id, key)
      if (replaced === 1) this.#replaced.add(id)
      if (nft !== null) this.#operations.set(nft, id)
    }
  }

  /** Removes the rows whose NFTs belong to rows in the manifest. */
  removeNamed(nfts: readonly string[]): void {
    for (const nft of nfts) {
      const id = this.#operations.get(nft)
      if (id !== undefined && this.#keys.delete(id)) this.renamedOperations.add(id)
    }
  }

  /** Removes the rows whose NFTs were burned and returns them. Also stores the names of the first remaining rows. */
  async takeBurned(run: StoredRun, source: NftSource): Promise<BurnedRow[]> {
    if (this.totalCount === 0) return []
    const { burned, firstNames } = await findRemovedRows(run, source)
    for (const { id } of burned) this.#keys.delete(id)
    this.firstNames = firstNames
    return burned
  }

  get totalCount(): number {
    return this.#keys.size
  }

  /** Number of rows that were not replaced. A new row may be an edit of one of them. */
  get unreplacedCount(): number {
    return [...this.#keys.keys()].filter((id) => !this.#replaced.has(id)).length
  }

  /** Number of rows without an ID that weren't replaced. */
  get withoutIdCount(): number {
    return [...this.#keys].filter(([id, key]) => !this.#replaced.has(id) && isContentKey(key)).length
  }
}
