import { refuseMintedBefore } from '../batch/minted/earlier-mints.ts'
import { formatUnmatchedNftsNote, readRenamedRunNotes } from '../batch/runs/moved-run.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import type { NftSource } from './find-nfts.ts'
import type { PlanOptions } from './planned.ts'
import { BURN_HINT, findNftsWithoutRow, readNftsWithoutRowNames, readNftsWithoutRowNotes } from './prune.ts'

/**
 * The NFTs of a collection to which no row of a plan refers. They are requested at most once, and only if the plan
 * needs them.
 */
export class NftsWithoutRow {
  readonly #run: StoredRun
  readonly #source: NftSource
  readonly #options: PlanOptions
  #ids: Promise<string[] | null> | undefined

  constructor(run: StoredRun, source: NftSource, options: PlanOptions) {
    this.#run = run
    this.#source = source
    this.#options = options
  }

  /** Returns the IDs of the NFTs; null if the server doesn't list the collection's NFTs. */
  async #find(): Promise<string[] | null> {
    this.#ids ??= findNftsWithoutRow(this.#run, this.#source)
    return await this.#ids
  }

  /** Returns notes for `--prune` about NFTs that another machine may have minted for removed rows. */
  async readPruneNotes(): Promise<string[]> {
    const hasRun = this.#run.drop.setId !== null
    // Without reference IDs, gdn can't determine which NFTs this run has minted.
    if (hasRun && !this.#source.hasReferences) return []
    const ids = await this.#find()
    if (ids !== null) return await readNftsWithoutRowNotes(this.#source, ids)
    return hasRun ? [] : [BURN_HINT]
  }

  /** Returns notes about a manifest that may have been renamed. Used if a plan mints all rows. */
  async readRenameNotes(): Promise<string[]> {
    const notes = await this.#run.read((sql) => readRenamedRunNotes(sql, this.#options))
    if (notes.length > 0 || !this.#source.hasReferences || this.#options.prune === true) return notes
    const unnamed = (await this.#find()) ?? []
    return unnamed.length === 0
      ? []
      : [formatUnmatchedNftsNote(unnamed.length), await readNftsWithoutRowNames(this.#source, unnamed)]
  }

  /**
   * Refuses to mint rows that seem to be minted already. `gdn batch mint` makes the same check for a new run.
   *
   * @param mints positions of the rows
   * @throws GdnError `seems_minted`
   */
  async refuseMintedRows(mints: readonly number[]): Promise<void> {
    const ids = (await this.#find()) ?? []
    const { hasReferences } = this.#source
    await refuseMintedBefore(this.#run, this.#source, { positions: new Set(mints), ids, hasReferences })
  }
}
