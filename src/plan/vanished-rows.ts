import { missingRows } from '../batch/rows/edited-rows.ts'
import { isContentKey } from '../batch/rows/row-key.ts'
import type { RunStore } from '../batch/runs/run-store.ts'
import type { Place } from './find-nfts.ts'
import { type BurnedRow, lookAtGone } from './prune.ts'

/** The rows of a run that were sent and are no longer in the manifest. Rows that have their NFTs are not counted. */
export class VanishedRows {
  /** The keys of the rows, by their operations. */
  readonly #keys = new Map<string, string>()
  /** Their operations, by their NFTs. */
  readonly #operations = new Map<string, string>()
  /** Operations whose NFTs rows of the manifest have. */
  readonly #renamed = new Set<string>()
  /** Operations whose rows new ones have replaced. */
  readonly #replaced = new Set<string>()
  /** The names of the first rows. */
  #first: string[] = []

  /** @param paired rows that got an ID since their mint */
  async begin({ state, drop }: RunStore, paired: Parameters<typeof missingRows>[3]): Promise<void> {
    if (drop.setId === null) return
    const missing = await state.read((sql) => missingRows(sql, drop, 'draft', paired, { withReplaced: true }))
    for (const { id, key, nft, replaced } of missing) {
      this.#keys.set(id, key)
      if (replaced === 1) this.#replaced.add(id)
      if (nft !== null) this.#operations.set(nft, id)
    }
  }

  /** Removes the rows whose NFTs belong to rows in the manifest. */
  addNamed(nfts: readonly string[]): void {
    for (const nft of nfts) {
      const id = this.#operations.get(nft)
      if (id !== undefined && this.#keys.delete(id)) this.#renamed.add(id)
    }
  }

  /** Takes away the rows whose NFTs were burned, returns them, and reads the names of the first others. */
  async takeBurned(store: RunStore, place: Place): Promise<BurnedRow[]> {
    if (this.all === 0) return []
    const { burned, first } = await lookAtGone(store, place)
    for (const { id } of burned) this.#keys.delete(id)
    this.#first = first
    return burned
  }

  /** All rows. */
  get all(): number {
    return this.#keys.size
  }

  /** Rows that a new row may be an edit of. */
  get count(): number {
    return [...this.#keys.keys()].filter((id) => !this.#replaced.has(id)).length
  }

  get first(): readonly string[] {
    return this.#first
  }

  /** Rows without an ID. */
  get unnamed(): number {
    return [...this.#keys].filter(([id, key]) => !this.#replaced.has(id) && isContentKey(key)).length
  }

  get renamed(): ReadonlySet<string> {
    return this.#renamed
  }
}
