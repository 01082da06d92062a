import { checkOptions } from '../batch/check-options.ts'
import { lookingAtRun } from '../batch/dry-run.ts'
import { readManifestRows, refuseTypedRow } from '../batch/gather.ts'
import { findReplacedRows, pairRows, type RowPairs } from '../batch/identity/check-rows.ts'
import { refuseClaimed, refuseNftsOfOthers } from '../batch/identity/claim.ts'
import { refuseExchanged } from '../batch/identity/exchanged.ts'
import { keepNames, refuseRenamed } from '../batch/identity/pinned-names.ts'
import { refuseRenumbered } from '../batch/identity/renumbered.ts'
import { findSecondEdition } from '../batch/identity/second-edition.ts'
import type { StoredPair } from '../batch/identity/store-pairs.ts'
import { newDuplicates } from '../batch/rows/duplicate-rows.ts'
import type { KeptRow } from '../batch/rows/manifest-row.ts'
import { withRoomForMarker } from '../batch/rows/marker.ts'
import { secondEditionText } from '../batch/rows/other-edition.ts'
import { isContentKey, type RowKey } from '../batch/rows/row-key.ts'
import { movedRuns } from '../batch/runs/moved-run.ts'
import type { StoredRun } from '../batch/runs/stored-run.ts'
import { type ResentRow, resentRows } from '../batch/send/list-resendable.ts'
import type { Duplicates } from '../batch/types.ts'
import { refuseOtherBackend, refuseSilentBackend } from '../client/backend.ts'
import { learnSupport } from '../client/learn-support.ts'
import { GdnError } from '../core/errors.ts'
import { addBurn, addChanges, addNamed, blockMints } from '../state/plan-tables.ts'
import { type NftNow, statesOf } from '../state/row-outcomes.ts'
import { pageOf, pagesOf, type RowRecord } from '../state/rows.ts'
import { createTables } from '../state/temporary-tables.ts'
import type { OperationState } from '../state/transitions.ts'
import { type Abilities, hasOtherOwner, LASTING, type NftChange } from './compare.ts'
import { addDriftedReceivers } from './drifted-receivers.ts'
import { OtherLabels } from './find-labels.ts'
import { type Candidate, type NftSource, ownerHistories, readCandidates } from './find-nfts.ts'
import { FAILED, HAS_ID, UNRESOLVED } from './mint-changes.ts'
import { NftsWithoutRow } from './nfts-without-row.ts'
import { addOtherContents, refuseExchangedContents } from './other-contents.ts'
import { OtherDrop } from './other-drop.ts'
import { isEdit, noteOfOtherEdition } from './other-edition.ts'
import { noteOfMove, noteOfMovedRun, notesOfPlan } from './plan-notes.ts'
import { burnsIn, plannedChanges, rowsWithChanges, updatesOf } from './plan-rows.ts'
import { type ChangePlan, type PlanCounts, type PlanDeps, type PlanOptions, plannedRun } from './planned.ts'
import { type BurnedRow, burnsOf } from './prune.ts'
import { readPage } from './read-page.ts'
import { RowComparer } from './row-comparer.ts'
import { SavedChanges } from './saved-changes.ts'
import { SeenNfts } from './seen-nfts.ts'
import { countUnedited } from './unedited-rows.ts'
import { unstoredPairs } from './unstored-pairs.ts'
import { VanishedRows } from './vanished-rows.ts'

/** Number of rows in a page. The reference IDs of a page are looked up with one request, and its NFTs with another. */
const PAGE = 1_000

/**
 * Compares a manifest with the existing NFTs and passes the plan to `use`. Memory use doesn't grow with the manifest,
 * because rows and changes are in temporary tables. Sends no request that changes anything, and writes nothing to the
 * state directory.
 *
 * @throws GdnError `invalid_manifest`, `run_busy`, `already_accepted`, `edited_rows`, `seems_minted`, `wrong_backend`,
 *   and errors of the server
 */
export async function withPlan<Result>(
  options: PlanOptions,
  deps: PlanDeps,
  use: (plan: ChangePlan) => Promise<Result>,
): Promise<Result> {
  checkOptions(options)
  return await lookingAtRun(options, async (store) => {
    const { drop } = store
    const { backend } = options
    if (backend !== undefined) {
      if (drop.setId !== null) refuseOtherBackend(`the run ${drop.name}`, drop.backend, backend)
      refuseSilentBackend(backend)
    }
    const saved = new SavedChanges(store.state)
    await saved.begin()
    await keepNames(store, options)
    const items = withRoomForMarker(deps.readManifest(saved), drop.marker ?? undefined)
    const { names, notes, typed } = await readManifestRows(store, items, 'draft')
    await saved.flush()
    await learnSupport(deps.client, options.signal)
    await refuseTypedRow(deps.client, typed, { file: drop.manifest, signal: options.signal })
    const pairs = await pairRows(store, options, deps.client, 'draft')
    const planner = new Planner(store, options, deps, saved, pairs)
    planner.notes.push(...notes)
    await planner.run()
    return await use({
      run: plannedRun(drop),
      counts: planner.counts,
      notes: planner.notes,
      otherEdition: planner.otherEdition,
      changedSinceSaved: saved.changedSinceSaved,
      movedFrom: store.movedFrom,
      relabeled: planner.relabeled,
      paired: planner.paired,
      ...(await planner.recorded()),
      async refuseEdited() {
        if (drop.setId !== null) await refuseRenamed(store, 'draft', names)
        await planner.refuseEdited()
      },
      seen: () => planner.seen(),
      duplicates: () => planner.duplicates(),
      changes: () => plannedChanges(store, deps.contents, options.drawnRows),
      rows: () => rowsWithChanges(store),
      burns: () => burnsIn(store),
      updates: () => updatesOf(store, deps.contents, options.drawnRows),
    })
  })
}

const isUnknown = (state: OperationState | undefined): boolean =>
  state === 'sent' || state === 'unknown' || state === 'absent'

/**
 * Plans the changes of a manifest in these phases:
 * 1. Compare the rows with their NFTs, page by page, and store the changes in temporary tables.
 * 2. Block all mints if a row is hidden in another collection. Refuse NFTs with another label, unless they are adopted.
 * 3. Plan the burns of NFTs whose rows were removed, if `prune` is set. Otherwise, record the burned ones.
 * 4. Refuse changes of rows and NFTs that belong to other runs, and changes that seem to be a mistake.
 * 5. Add the notes about the plan.
 */
class Planner {
  readonly counts: PlanCounts = {
    rows: 0,
    unchanged: 0,
    mint: 0,
    update: 0,
    transfer: 0,
    burn: 0,
    drift: 0,
    impossible: 0,
    abandoned: 0,
    identified: 0,
    lasting: 0,
    keptBurns: 0,
    impossibleBurns: 0,
    retries: 0,
    vanished: 0,
  }
  readonly notes: string[] = []
  readonly #store: StoredRun
  readonly #options: PlanOptions
  readonly #deps: PlanDeps
  readonly #saved: SavedChanges
  readonly #labels: OtherLabels
  readonly #comparer: RowComparer
  /** Rows that got an ID after they were minted, with the pairs to store. */
  readonly paired: StoredPair[]
  readonly #pairs: RowPairs
  /** The NFTs of rows that were minted under another key, by row position. */
  readonly #pairedNfts: ReadonlyMap<number, string>
  readonly #mints: number[] = []
  /** Number of rows whose recorded outcome is unknown, although the server has their NFTs. */
  #mintedUnsettled = 0
  readonly #vanished = new VanishedRows()
  /** Number of new rows without an ID. */
  #newUnnamed = 0
  /** Number of rows that need a change, although their content matches the last recorded content. */
  #unedited = 0
  /** Number of revealed NFTs to update. */
  #revealed = 0
  /** Number of minted rows whose content was edited afterwards, apart from files. */
  #edited = 0
  otherEdition: string | null = null
  #noTransfersReason: string | null | undefined
  readonly #seen: SeenNfts
  readonly #otherDrop: OtherDrop

  constructor(store: StoredRun, options: PlanOptions, deps: PlanDeps, saved: SavedChanges, pairs: RowPairs) {
    this.#store = store
    this.#options = options
    this.#deps = deps
    this.#saved = saved
    this.#pairs = pairs
    this.#pairedNfts = new Map(pairs.all.map(({ row, nftGdnId }) => [row.position, nftGdnId]))
    this.paired = pairs.identified.map((pair) => ({ ...pair, key: pair.row.key }))
    this.#labels = new OtherLabels(store, options.label ?? null)
    this.#comparer = new RowComparer(store, options, deps.contents)
    this.#seen = new SeenNfts(store)
    this.#otherDrop = new OtherDrop(options.label ?? null)
  }

  get relabeled(): ChangePlan['relabeled'] {
    const labels = this.#labels
    return { count: labels.count, labels: [...labels.labels], pages: () => labels.pages() }
  }

  async run(): Promise<void> {
    const { state, drop } = this.#store
    const { client, onProgress } = this.#deps
    const { contractAddress, blockchain, signal, backend, origin, takeOver = false } = this.#options
    const hasReferences = client.supports('references') === true
    const hasUpdates = client.supports('updates') === true
    const source: NftSource = { client, contractAddress, blockchain, signal, hasReferences, hasUpdates }
    const scope = JSON.stringify(['plan', backend?.id ?? origin, blockchain, contractAddress.toLowerCase()])
    const abilities = { updates: hasUpdates, takeOver, sendersOwn: !hasReferences, marker: drop.marker }
    await this.#vanished.begin(this.#store, this.#pairs.paired)
    await this.#labels.begin(this.#pairs.all)
    await state.scratch((sql) => createTables(sql, 'changes', 'drifted', 'contents', 'burns', 'named'))
    await this.#seen.begin()
    for await (const page of pagesOf(state, (sql, after, limit) => pageOf(sql, 'draft', after, limit), PAGE)) {
      await this.#comparePage(page, { source, scope, abilities: abilities })
      onProgress?.(this.counts.rows)
    }
    this.counts.abandoned = this.#comparer.abandoned
    this.counts.unchanged -= this.counts.abandoned
    await this.#blockHidden()
    const { adoptLabels, adopt = false } = this.#options
    this.#labels.refuseUnlessAdopted(adoptLabels ?? adopt)
    const withoutRow = new NftsWithoutRow(this.#store, source, this.#options)
    if (this.#options.prune === true) await this.#prune(source, scope, withoutRow)
    else for (const row of await this.#vanished.takeBurned(this.#store, source)) await this.#seen.addBurned(row)
    this.counts.vanished = this.#vanished.count
    await this.#refuseClaimed()
    this.otherEdition = await this.#findOtherEdition()
    if (this.otherEdition !== null) this.notes.push(this.otherEdition)
    if (this.#options.isSaved !== true) await this.#refuseDoubtful()
    await this.#noteMove(withoutRow)
    this.notes.push(
      ...notesOfPlan({
        relabeled: this.relabeled,
        label: this.#options.label ?? '',
        paired: this.paired,
        gone: { count: this.#vanished.all, first: this.#vanished.first, unnamed: this.#vanished.unnamed },
        newUnnamed: this.#newUnnamed,
        identified: this.counts.identified === 0 ? null : { run: this.#comparer.isIdElsewhere ? null : drop.name },
        unedited: this.#unedited,
        revealed: this.#revealed,
        prunes: this.#options.prune === true,
        counts: this.counts,
        hasReferences,
        hasUpdates,
        isKnown: drop.setId !== null,
        mayBeMinted: this.#mayBeMinted(),
        isShuffled: drop.reading.shuffle !== undefined || this.#options.sealedSlots !== undefined,
        abandoned: this.#comparer.abandoned,
      }),
    )
  }

  /** Returns a note if the manifest may be another edition of this run or of another one; null otherwise. */
  async #findOtherEdition(): Promise<string | null> {
    const { rows, mint, retries, abandoned } = this.counts
    const second = await findSecondEdition(this.#store, 'draft', this.#mints)
    if (second !== null) return secondEditionText(second)
    const edits = { sent: rows - mint - abandoned, edited: this.#edited - this.#unedited, added: mint - retries }
    return await noteOfOtherEdition(edits, this.#options.manifestPath)
  }

  #mayBeMinted(): boolean {
    const { mint, rows } = this.counts
    const { label = null } = this.#options
    return this.#store.drop.setId === null && label === null && this.#newUnnamed > 0 && mint < rows
  }

  /**
   * Refuses changes that seem to be a mistake.
   * @throws GdnError `edited_rows`, `seems_minted`
   */
  async #refuseDoubtful(): Promise<void> {
    const { drop, state } = this.#store
    const { unchanged, abandoned, rows, mint } = this.counts
    const { adopt = false, allowExchanged: isAllowed = false } = this.#options
    if (unchanged + abandoned === rows) return
    if (!isAllowed) {
      await refuseExchangedContents(this.#store)
      if (drop.setId !== null) await this.#store.read((sql) => refuseRenumbered(sql, drop, 'draft'))
    }
    const mayBeOther = this.otherEdition !== null
    const judged = { rows: 'draft', named: rows - mint, isAllowed, mayBeOther } as const
    const { notes, areTitles } = await state.scratch((sql) => refuseExchanged(sql, drop, judged))
    this.notes.push(...notes)
    const note = drop.setId === null && !adopt && !areTitles ? this.#otherDrop.refuse() : null
    if (note !== null) this.notes.push(note)
  }

  async #comparePage(
    rows: readonly RowRecord[],
    { source, scope, abilities }: { source: NftSource; scope: string; abilities: Omit<Abilities, 'noTransfers'> },
  ): Promise<void> {
    const { page, candidates, records } = await readPage(this.#store, source, rows)
    await this.#labels.add(candidates)
    const paired = candidates.filter((candidate) => {
      candidate.nftGdnId ??= this.#pairedNfts.get(candidate.row.position) ?? null
      return candidate.nftGdnId !== null && !records.has(candidate.nftGdnId)
    })
    for (const [id, record] of await readCandidates(source, paired)) records.set(id, record)
    this.paired.push(...(await unstoredPairs(this.#store, source, this.#deps.client, candidates)))
    const named = candidates.flatMap(({ nftGdnId }) => nftGdnId ?? [])
    await this.#store.state.scratch((sql) => addNamed(sql, named))
    this.#vanished.addNamed(named)
    const nftOf = ({ nftGdnId }: Candidate) => (nftGdnId === null ? undefined : records.get(nftGdnId))
    const moved = candidates.flatMap((candidate) => {
      const nft = nftOf(candidate)
      if (nft === undefined || nft.burned === true) return []
      return hasOtherOwner(candidate.row.row, nft, abilities) ? [{ candidate, nft }] : []
    })
    const histories = await ownerHistories(this.#store, source, scope, moved)
    if (moved.length > 0) this.#noTransfersReason ??= await this.#options.noTransfers()
    const noTransfers = this.#noTransfersReason ?? null
    const changed: [number, NftChange[]][] = []
    for (const candidate of candidates) {
      const history = histories.get(candidate.row.position)
      changed.push([
        candidate.row.position,
        await this.#comparer.changesOf(candidate, nftOf(candidate), { ...abilities, noTransfers }, history),
      ])
    }
    await addDriftedReceivers(this.#store, moved, histories, new Map(changed))
    await addOtherContents(this.#store, candidates, nftOf, new Map(changed))
    this.#count(changed)
    for (const { sent, named } of candidates) if (named !== null && isUnknown(sent?.state)) this.#mintedUnsettled++
    this.#otherDrop.add(candidates, changed)
    this.#unedited += await countUnedited(this.#store, page, candidates, changed)
    await this.#seen.add(page, candidates, records, changed)
    for (const [at, [, changes]] of changed.entries()) {
      const isNew = candidates[at]?.sent === null && changes.some(({ action }) => action === 'mint')
      if (isNew && isContentKey(candidates[at]?.row.key ?? '')) this.#newUnnamed++
    }
    if (this.#options.isSaved === true) await this.#saved.compare(candidates, changed, nftOf)
    await this.#store.state.scratch((sql) => {
      for (const [position, changes] of changed) addChanges(sql, position, changes)
    })
  }

  /** Marks all mints as impossible if a row is hidden in another collection, because the run wouldn't send any row. */
  async #blockHidden(): Promise<void> {
    if (this.#mints.length === 0) return
    const { drop, state } = this.#store
    const check = { rows: () => this.#rowsToSend(), resent: () => this.#rowsToResend(), run: drop }
    const reason = (await this.#options.hiddenMints?.(check)) ?? null
    if (reason === null) return
    await state.scratch((sql) => blockMints(sql, reason))
    this.counts.impossible += this.counts.mint
    this.counts.mint = 0
    this.counts.retries = 0
    this.#mints.length = 0
    this.#newUnnamed = 0
  }

  /** Yields the rows to mint, except those that the server may have accepted. */
  async *#rowsToSend(): AsyncGenerator<KeptRow> {
    for await (const { row, changes } of rowsWithChanges(this.#store, 'JOIN'))
      if (changes.some(({ action, reason }) => action === 'mint' && reason !== UNRESOLVED)) yield row
  }

  /** Yields the rows with an unknown outcome that a mint sends again. Omits rows whose NFTs are on the server. */
  async *#rowsToResend(): AsyncGenerator<ResentRow> {
    const unresolved = new Set<RowKey>()
    for await (const { row, changes } of rowsWithChanges(this.#store, 'JOIN'))
      if (changes.some(({ reason }) => reason === UNRESOLVED)) unresolved.add(row.key)
    if (unresolved.size === 0) return
    for await (const resent of resentRows(this.#store, this.#deps.client, this.#options.signal))
      if (unresolved.has(resent.key)) yield resent
  }

  /** Plans the burns of NFTs whose rows were removed. */
  async #prune(source: NftSource, scope: string, withoutRow: NftsWithoutRow): Promise<void> {
    const { state } = this.#store
    const isSaved = this.#options.isSaved === true
    let position = 0
    const burned: BurnedRow[] = []
    const noBurns = await this.#options.noBurns()
    const onBurned = (row: BurnedRow) => void burned.push(row)
    for await (const change of burnsOf(this.#store, source, { scope, noBurns, onBurned })) {
      this.counts[change.action]++
      if (change.action === 'drift') this.counts.keptBurns++
      if (change.action === 'impossible') this.counts.impossibleBurns++
      if (isSaved) await this.#saved.compareBurn(change)
      await state.scratch((sql) => addBurn(sql, position++, change))
    }
    for (const row of burned) await this.#seen.addBurned(row)
    if (!isSaved) {
      this.notes.push(...(await withoutRow.notesOfPrune()))
      return
    }
    await this.#saved.compareLeftBurns(async (nfts) => {
      const records = await readCandidates(
        source,
        nfts.map((nftGdnId) => ({ nftGdnId })),
      )
      return new Set([...records.values()].filter(({ burned }) => burned === true).map(({ nft_gdn_id }) => nft_gdn_id))
    })
  }

  #count(changed: readonly [number, NftChange[]][]): void {
    const { counts } = this
    for (const [position, changes] of changed) {
      counts.rows++
      if (changes.length === 0) counts.unchanged++
      if (changes.some(isEdit)) this.#edited++
      for (const { action, reason, proof } of changes) {
        counts[action]++
        if (action === 'drift' && LASTING.has(reason)) counts.lasting++
        if (action === 'update' && proof !== undefined) this.#revealed++
        if (reason?.startsWith(HAS_ID) === true) counts.identified++
        if (action !== 'mint') continue
        this.#mints.push(position)
        if (reason?.startsWith(FAILED) === true) counts.retries++
      }
    }
  }

  /**
   * Refuses to mint rows or change NFTs that belong to other runs.
   *
   * @throws GdnError `already_accepted` if another run on this machine has the rows to mint or the NFTs to change
   */
  async #refuseClaimed(): Promise<void> {
    const { update, transfer } = this.counts
    if (update + transfer > 0) await this.#store.state.scratch((sql) => refuseNftsOfOthers(sql, this.#store))
    // Edited rows are checked by `refuseEdited` when the plan is applied.
    const options = { ...this.#options, newRows: true }
    const { renamed } = this.#pairs
    const checked = { rows: 'draft', isRead: true, pending: this.#mints, renamed } as const
    await this.#store.read((sql) => refuseClaimed(sql, this.#store, options, checked))
  }

  /** Counts the mints that are recorded as deployed, and the mints without a recorded final outcome. */
  async recorded(): Promise<Pick<ChangePlan, 'deployed' | 'unsettled'>> {
    const { drop } = this.#store
    const states = drop.setId === null ? [] : await this.#store.read((sql) => statesOf(sql, drop.id))
    const countOf = (wantedState: OperationState) => states.find(({ state }) => state === wantedState)?.n ?? 0
    return { deployed: countOf('deployed'), unsettled: countOf('accepted') + this.#mintedUnsettled }
  }

  seen(): AsyncGenerator<NftNow[]> {
    return this.#seen.pages()
  }

  /** Refuses new rows that may be edits of sent rows, as `gdn batch mint` does. */
  async refuseEdited(): Promise<void> {
    if (this.#options.newRows === true) return
    const { operations, positions } = this.#pairs.paired
    const paired = { operations: new Set([...operations, ...this.#seen.burned, ...this.#vanished.renamed]), positions }
    await findReplacedRows(this.#store, this.#options, this.#deps.client, { rows: 'draft', paired })
  }

  async duplicates(): Promise<Duplicates> {
    const minted = new Set(this.#mints)
    return await this.#store.read((sql) => newDuplicates(sql, this.#store.drop, 'draft', (at) => minted.has(at)))
  }

  /**
   * Adds notes about a moved or renamed manifest.
   * @throws GdnError `seems_minted` if another run minted the rows; `not_found` if the drop is sealed, but no row has
   *   an NFT
   */
  async #noteMove(withoutRow: NftsWithoutRow): Promise<void> {
    const { movedFrom, drop } = this.#store
    const { adopt, isSaved } = this.#options
    const { mint, rows, abandoned } = this.counts
    if (drop.setId === null && adopt !== true && isSaved !== true && mint > 0)
      await withoutRow.refuseMinted(this.#mints)
    if (movedFrom !== null) this.notes.push(noteOfMove(movedFrom, drop.name))
    if (drop.setId !== null) return
    const notes = rows > 0 && this.#comparer.missing === rows ? await withoutRow.notesOfRename() : []
    if (rows > 0 && abandoned === rows) throw noneOfDrop(notes)
    this.notes.push(...notes)
    const moved = await this.#store.read((sql) => movedRuns(sql, this.#options))
    this.notes.push(...moved.map(noteOfMovedRun))
  }
}

/** Returns the error for a sealed drop whose NFTs have none of the reference IDs of the manifest's rows. */
const noneOfDrop = (notes: readonly string[]): GdnError =>
  new GdnError('not_found', 'the drop of these rows is sealed, but no row has an NFT under the name of this file', {
    hint: notes.length > 0 ? `${notes.join('. ')}.` : RENAMED,
  })

const RENAMED = 'If the file was renamed after its rows were minted, add --run <former file name>.'
