import {
  adoptedElsewhereError,
  type OtherLabel,
  otherLabelsError,
  toOtherLabels,
} from '../batch/identity/other-labels.ts'
import { findOtherLabels, type Pair } from '../batch/identity/pairing.ts'
import { MAX_LISTED_ROWS } from '../batch/rows/max-listed-rows.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import { GdnError } from '../core/errors.ts'
import { assignedNfts, readMintLabels } from '../state/known-nfts.ts'
import { addRelabeled, type Relabeling, relabeledPage } from '../state/plan-tables.ts'
import { createTables } from '../state/temporary-tables.ts'
import type { Candidate } from './find-nfts.ts'

/** Maximum number of labels. If the NFTs have more labels, the manifest isn't that of a moved drop. */
const MAX_LABELS = 20
const PAGE_SIZE = 1_000

/**
 * Collects the rows of a plan whose NFTs have a different label on the server. Either the state has no record of those
 * NFTs, or this machine minted them and another machine adopted them afterwards.
 */
export class LabelConflicts {
  count = 0
  readonly labels = new Set<string>()
  readonly #run: StoredRun
  readonly #own: string | null
  readonly #firstRows: OtherLabel[] = []
  /** Number of collected rows that this machine minted. */
  #ownCount = 0

  /**
   * Creates an instance without rows.
   *
   * @param ownLabel the label of the run; null if the run has none
   */
  constructor(run: StoredRun, ownLabel: string | null) {
    this.#run = run
    this.#own = ownLabel
  }

  /**
   * Creates the temporary table, and adds the rows that got an ID after they were minted.
   *
   * @param pairs the rows that got an ID after they were minted
   */
  async begin(pairs: readonly Pair[]): Promise<void> {
    await this.#run.state.scratch((sql) => createTables(sql, 'relabeled'))
    await this.#take(findOtherLabels(pairs, this.#own))
  }

  async add(candidates: readonly Candidate[]): Promise<void> {
    const labeled = candidates.flatMap(({ row: { key, row }, reference, record }) => {
      if (record === null) return []
      const { operation, nft_gdn_id: nftGdnId, reference_label: label } = record
      return toOtherLabels({ key, line: row.line }, { nftGdnId, operation, reference, label }, this.#own)
    })
    await this.#take(labeled)
  }

  /**
   * Adds NFTs without a record in the state, and NFTs that this machine minted with a label that was replaced
   * afterwards. If the manifest was moved, adds all NFTs.
   */
  async #take(labeled: readonly OtherLabel[]): Promise<void> {
    if (labeled.length === 0) return
    const { movedFrom } = this.#run
    const nfts = labeled.map(({ nftGdnId }) => nftGdnId)
    const { given, minted } = await this.#run.read((sql) => ({
      given: assignedNfts(sql, nfts),
      minted: readMintLabels(sql, nfts),
    }))
    const isReplaced = ({ nftGdnId, label }: OtherLabel) => (minted.get(nftGdnId) ?? label) !== label
    const conflicting = labeled.filter(
      (otherLabel) => movedFrom !== null || !given.has(otherLabel.nftGdnId) || isReplaced(otherLabel),
    )
    for (const otherLabel of conflicting) {
      if (movedFrom === null && isReplaced(otherLabel)) this.#ownCount++
      this.count++
      if (this.labels.size <= MAX_LABELS) this.labels.add(otherLabel.label)
      if (this.#firstRows.length < MAX_LISTED_ROWS) this.#firstRows.push(otherLabel)
    }
    await this.#run.state.scratch((sql) => {
      for (const otherLabel of conflicting) addRelabeled(sql, otherLabel)
    })
  }

  /**
   * Checks that the labels of the collected rows may be replaced.
   *
   * @param adopt true to permit all labels, or the labels that a saved plan replaces
   * @throws GdnError `seems_minted` if a label must not be replaced
   */
  refuseUnlessAdopted(adopt: boolean | readonly string[]): void {
    if (this.count === 0 || this.#own === null) return
    const isAdopted = (label: string) => (typeof adopt === 'boolean' ? adopt : adopt.includes(label))
    const isTooMany = this.labels.size > MAX_LABELS
    if (!isTooMany && [...this.labels].every(isAdopted)) return
    const { count, labels } = this
    const errorOf = this.#ownCount === count ? adoptedElsewhereError : otherLabelsError
    const error = errorOf({ firstRows: this.#firstRows, count, labels, ownLabel: this.#own })
    if (!isTooMany || adopt === false) throw error
    throw new GdnError('seems_minted', error.message, {
      hint: `Nothing was sent. --adopt can adopt the NFTs of at most ${MAX_LABELS} labels.`,
      details: error.details,
    })
  }

  /** Yields the labels to replace, in pages. */
  async *pages(): AsyncGenerator<Relabeling[]> {
    for (let after = 0; ; ) {
      const page = await this.#run.state.scratch((sql) => relabeledPage(sql, after, PAGE_SIZE))
      const last = page.at(-1)
      if (last === undefined) return
      after = last.n
      yield page
    }
  }
}
