import type { NftRecord } from '../api/nft-record.ts'
import { hasFailed } from '../api/nft-status.ts'
import { refuseNftsOfOthers, refuseTaken } from '../batch/claim.ts'
import { lookingAtRun } from '../batch/dry-run.ts'
import { type Duplicates, newDuplicates } from '../batch/duplicate-rows.ts'
import { refuseMintedBefore } from '../batch/earlier-mints.ts'
import { findReplaced } from '../batch/edited-rows.ts'
import { readRows } from '../batch/gather.ts'
import { withRoomForMarker } from '../batch/marker.ts'
import { withMintedElsewhere } from '../batch/minted-elsewhere.ts'
import { rowsWithMovedFiles } from '../batch/moved-files.ts'
import { movedRuns, noteOfUnnamed, notesOfRenamed } from '../batch/moved-run.ts'
import { shownLabel, shownLabels } from '../batch/other-labels.ts'
import { findPairs, type Pair, pairedOf, renamedOf } from '../batch/pairing.ts'
import { isContentKey } from '../batch/row-key.ts'
import { checkOptions } from '../batch/run.ts'
import type { RunStore } from '../batch/run-store.ts'
import type { StoredPair } from '../batch/store-pairs.ts'
import { refuseOtherBackend, refuseSilentBackend } from '../client/backend.ts'
import { learnSupport } from '../client/learn-support.ts'
import { countGone } from '../state/draft-rows.ts'
import { addBurn, addChanges, addNamed } from '../state/plan-tables.ts'
import type { NftNow } from '../state/row-outcomes.ts'
import { pageOf, pagesOf, type RowRecord } from '../state/rows.ts'
import { createTables } from '../state/temporary-tables.ts'
import { updateReference, updatesPrefix } from './apply-updates.ts'
import { readPage } from './burned-copies.ts'
import { type Abilities, BURNED, type Change, compareRow, isMoved, type Seen } from './compare.ts'
import { OtherLabels } from './find-labels.ts'
import { type Candidate, type OwnerHistory, ownerHistories, type Place, readRecords } from './find-nfts.ts'
import { OtherDrop } from './other-drop.ts'
import { burnsIn, changesOf, rowsOf, updatesOf } from './plan-rows.ts'
import { type ChangePlan, type PlanCounts, type PlanDeps, type PlanOptions, plannedRun } from './planned.ts'
import { type BurnedRow, burnsOf, findUnnamed, lookAtGone, notesOfUnnamed, WHERE_TO_BURN } from './prune.ts'
import { SavedChanges } from './saved-changes.ts'
import { SeenNfts } from './seen-nfts.ts'
import { unstoredPairs } from './unstored-pairs.ts'

/** Rows that are compared together: one request for their reference IDs, and one for their NFTs. */
const PAGE = 1_000

/**
 * Compares a manifest with what exists, and passes the plan. Memory does not grow with the manifest: rows and changes
 * are in temporary tables. Nothing is sent that has an effect, and the state directory is unchanged.
 *
 * @throws GdnError `invalid_manifest`, `run_busy`, `already_accepted`, `seems_minted`, `wrong_backend`, and errors of the server
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
    await readRows(store, withRoomForMarker(deps.readManifest(saved), drop.marker ?? undefined), 'draft')
    await saved.flush()
    const planner = new Planner(store, options, deps, saved)
    await planner.run()
    return await use({
      run: plannedRun(drop),
      counts: planner.counts,
      notes: planner.notes,
      moved: saved.moved,
      movedFrom: store.movedFrom,
      relabeled: planner.relabeled,
      paired: planner.paired,
      refuseEdited: () => planner.refuseEdited(),
      seen: () => planner.seen(),
      duplicates: () => planner.duplicates(),
      changes: () => changesOf(store, deps.contents),
      rows: () => rowsOf(store),
      burns: () => burnsIn(store),
      updates: () => updatesOf(store, deps.contents),
    })
  })
}

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
    burned: 0,
    retries: 0,
    vanished: 0,
  }
  readonly notes: string[] = []
  readonly #store: RunStore
  readonly #options: PlanOptions
  readonly #deps: PlanDeps
  readonly #saved: SavedChanges
  readonly #labels: OtherLabels
  /** Rows that got an ID since their mint, and whose pairs are to be stored. */
  readonly paired: StoredPair[] = []
  #pairs: ReadonlyMap<number, Pair> = new Map()
  readonly #mints: number[] = []
  /** The names of the first rows that were minted and are no longer in the manifest. */
  readonly #gone: string[] = []
  /** Rows without an ID that were minted and are no longer in the manifest, and new ones. */
  #vanishedUnnamed = 0
  #newUnnamed = 0
  #noTransfers: string | null | undefined
  #isUnrevealed: boolean | undefined
  /** NFTs of the collection that no row names; null where the server doesn't list it. */
  #unnamed: string[] | null | undefined
  readonly #seen: SeenNfts
  readonly #doubts: OtherDrop

  constructor(store: RunStore, options: PlanOptions, deps: PlanDeps, saved: SavedChanges) {
    this.#store = store
    this.#options = options
    this.#deps = deps
    this.#saved = saved
    this.#labels = new OtherLabels(store, options.label ?? null)
    this.#seen = new SeenNfts(store)
    this.#doubts = new OtherDrop(options.label ?? null)
  }

  get relabeled(): ChangePlan['relabeled'] {
    const labels = this.#labels
    return { count: labels.count, labels: [...labels.labels], pages: () => labels.pages() }
  }

  async run(): Promise<void> {
    const { state, drop } = this.#store
    const { client, onProgress } = this.#deps
    const { contractAddress, blockchain, signal, backend, origin, takeOver = false } = this.#options
    await learnSupport(client, signal)
    const hasReferences = client.supportsReferences() === true
    const hasUpdates = client.supportsUpdates() === true
    const place: Place = { client, contractAddress, blockchain, signal, hasReferences, hasUpdates }
    const scope = JSON.stringify(['plan', backend?.id ?? origin, blockchain, contractAddress.toLowerCase()])
    const can = { updates: hasUpdates, takeOver, sendersOwn: !hasReferences, marker: drop.marker }
    await this.#findPairs()
    await this.#labels.begin([...this.#pairs.values()])
    await state.scratch((sql) => createTables(sql, 'changes', 'burns', 'named'))
    await this.#seen.begin()
    for await (const page of pagesOf(state, (sql, after, limit) => pageOf(sql, 'draft', after, limit), PAGE)) {
      await this.#comparePage(page, { place, scope, can })
      onProgress?.(this.counts.rows)
    }
    const { adoptLabels, adopt = false } = this.#options
    this.#labels.refuseUnlessAdopted(adoptLabels ?? adopt)
    if (this.#options.prune === true) await this.#prune(place, scope)
    else if (this.counts.vanished > 0) {
      const { burned, first } = await lookAtGone(this.#store, place)
      for (const row of burned) await this.#seen.addBurned(row)
      this.counts.vanished -= burned.length
      this.#gone.push(...first)
    }
    await this.#refuseTaken()
    if (drop.setId === null && !adopt && this.#options.isSaved !== true) {
      const note = this.#doubts.refuse()
      if (note !== null) this.notes.push(note)
    }
    await this.#refuseMinted(place)
    await this.#noteMove(place)
    this.#note({ hasReferences, hasUpdates })
  }

  /** Finds the rows that were minted without an `id` and have one now, and counts rows that vanished. */
  async #findPairs(): Promise<void> {
    const { state, drop } = this.#store
    const pairs = await findPairs(this.#store, this.#options, this.#deps.client, 'draft')
    for (const pair of pairs) this.paired.push({ ...pair, key: pair.row.key })
    if (drop.setId !== null) pairs.push(...(await state.read((sql) => rowsWithMovedFiles(sql, drop, 'draft'))))
    this.#pairs = new Map(pairs.map((pair) => [pair.row.position, pair]))
    if (drop.setId === null) return
    const gone = await state.read((sql) => countGone(sql, drop))
    const renamed = renamedOf(pairs).length
    this.counts.vanished = gone.n - renamed
    this.#vanishedUnnamed = gone.unnamed - renamed
  }

  async #comparePage(
    rows: readonly RowRecord[],
    { place, scope, can }: { place: Place; scope: string; can: Omit<Abilities, 'noTransfers'> },
  ): Promise<void> {
    const { page, candidates, records } = await readPage(this.#store, place, rows)
    await this.#labels.add(candidates)
    const paired = candidates.filter((candidate) => {
      candidate.nftGdnId ??= this.#pairs.get(candidate.row.position)?.nftGdnId ?? null
      return candidate.nftGdnId !== null && !records.has(candidate.nftGdnId)
    })
    for (const [id, record] of await readRecords(place, paired)) records.set(id, record)
    this.paired.push(...(await unstoredPairs(this.#store, place, this.#deps.client, candidates)))
    const named = candidates.flatMap(({ nftGdnId }) => nftGdnId ?? [])
    await this.#store.state.scratch((sql) => addNamed(sql, named))
    const nftOf = ({ nftGdnId }: Candidate) => (nftGdnId === null ? undefined : records.get(nftGdnId))
    const moved = candidates.flatMap((candidate) => {
      const nft = nftOf(candidate)
      if (nft === undefined || nft.burned === true) return []
      return isMoved(candidate.row.row, nft.receiver_wallet_address ?? null, can) ? [{ candidate, nft }] : []
    })
    const histories = await ownerHistories(this.#store, place, scope, moved)
    if (moved.length > 0) this.#noTransfers ??= await this.#options.noTransfers()
    const noTransfers = this.#noTransfers ?? null
    const found: [number, Change[]][] = []
    for (const candidate of candidates) {
      const history = histories.get(candidate.row.position)
      found.push([
        candidate.row.position,
        await this.#changesOf(candidate, nftOf(candidate), { ...can, noTransfers }, history),
      ])
    }
    this.#count(found)
    this.#doubts.add(candidates, found)
    await this.#seen.add(page, candidates, records, found)
    for (const [at, [, changes]] of found.entries()) {
      const isNew = candidates[at]?.sent === null && changes.some(({ action }) => action === 'mint')
      if (isNew && isContentKey(candidates[at]?.row.key ?? '')) this.#newUnnamed++
    }
    if (this.#options.isSaved === true) await this.#saved.compare(candidates, found)
    await this.#store.state.scratch((sql) => {
      for (const [position, changes] of found) addChanges(sql, position, changes)
    })
  }

  async #changesOf(
    candidate: Candidate,
    nft: NftRecord | undefined,
    can: Abilities,
    history: OwnerHistory | undefined,
  ): Promise<Change[]> {
    const { row } = candidate.row
    if (row.id === null && candidate.named?.alias != null) {
      return [{ ...NO_NFT, nftGdnId: candidate.nftGdnId, action: 'impossible', want: 'mint', reason: HAS_ID }]
    }
    const missing = nft === undefined ? mintOf(candidate) : failedMint(candidate, nft)
    if (missing !== null) {
      this.#isUnrevealed ??= await this.#readUnrevealed()
      return [this.#isUnrevealed ? { ...missing, action: 'impossible', reason: UNREVEALED } : missing]
    }
    if (nft === undefined) return [unknownNft(candidate)]
    const update = updateReference(candidate.reference, nft.revision ?? 0)
    const seen: Seen = {
      nft,
      isOwnerOurs: history?.isOurs ?? true,
      isMoving: history?.isMoving ?? false,
      isMetadataOurs:
        (nft.revision ?? 0) === 0 || nft.revision_reference_id?.startsWith(updatesPrefix(candidate.reference)) === true,
      isUpdating: nft.pending_change?.reference_id === update,
    }
    const { contents } = this.#deps
    const localFiles = await Promise.all(
      // Other servers may return any URL for an upload.
      row.localFiles.map(async ({ key, path }) => ({ key, url: can.updates ? (await contents.of(path)).url : null })),
    )
    const references = { update, transfer: history?.reference ?? null }
    return compareRow({ ...row, localFiles }, seen, can).map((one) =>
      one.action === 'update' || one.action === 'transfer' ? { ...one, reference: references[one.action] } : one,
    )
  }

  /** Returns whether the rows are minted with a placeholder: by the run, or before it has begun by the collection. */
  async #readUnrevealed(): Promise<boolean> {
    const { reading, setId } = this.#store.drop
    return setId === null ? await this.#options.isCommitted() : reading.provenance !== undefined
  }

  /** Plans the burns of NFTs whose rows are gone. */
  async #prune(place: Place, scope: string): Promise<void> {
    const { state } = this.#store
    const isSaved = this.#options.isSaved === true
    let position = 0
    const burned: BurnedRow[] = []
    const noBurns = await this.#options.noBurns()
    const onBurned = (row: BurnedRow) => void burned.push(row)
    for await (const change of burnsOf(this.#store, place, { scope, noBurns, onBurned })) {
      this.counts[change.action]++
      if (isSaved) await this.#saved.compareBurn(change)
      await state.scratch((sql) => addBurn(sql, position++, change))
    }
    for (const row of burned) await this.#seen.addBurned(row)
    if (!isSaved) return await this.#noteUnnamed(place)
    await this.#saved.compareLeftBurns(async (nfts) => {
      const records = await readRecords(
        place,
        nfts.map((nftGdnId) => ({ nftGdnId })),
      )
      return new Set([...records.values()].filter(({ burned }) => burned === true).map(({ nft_gdn_id }) => nft_gdn_id))
    })
  }

  /** Names NFTs that may be of rows that are gone, and that another machine minted. */
  async #noteUnnamed(place: Place): Promise<void> {
    const hasRun = this.#store.drop.setId !== null
    // Without reference IDs, nothing tells which NFTs this run has minted.
    if (hasRun && !place.hasReferences) return
    const ids = await this.#findUnnamed(place)
    if (ids !== null) this.notes.push(...notesOfUnnamed(ids))
    else if (!hasRun) this.notes.push(WHERE_TO_BURN)
  }

  #count(found: readonly [number, Change[]][]): void {
    const { counts } = this
    for (const [position, changes] of found) {
      counts.rows++
      if (changes.length === 0) counts.unchanged++
      for (const { action, reason } of changes) {
        counts[action]++
        if (reason === BURNED) counts.burned++
        if (action !== 'mint') continue
        this.#mints.push(position)
        if (reason?.startsWith(FAILED) === true) counts.retries++
      }
    }
  }

  /** @throws GdnError `already_accepted` if another run on this machine has rows to be minted, or NFTs to be changed */
  async #refuseTaken(): Promise<void> {
    const { update, transfer } = this.counts
    if (update + transfer > 0) await this.#store.state.scratch((sql) => refuseNftsOfOthers(sql, this.#store))
    const pending = this.#mints
    const renamed = renamedOf([...this.#pairs.values()]).map(({ row }) => row)
    if (pending.length + renamed.length === 0) return
    const options = this.#options
    await this.#store.read((sql) =>
      refuseTaken(sql, this.#store, { ...options, newRows: true }, { rows: 'draft', isRead: true, pending, renamed }),
    )
  }

  seen(): AsyncGenerator<NftNow[]> {
    return this.#seen.pages()
  }

  /** Refuses edited rows without an ID as the mint does, which would send them as new ones. */
  async refuseEdited(): Promise<void> {
    const { drop } = this.#store
    if (this.#options.newRows === true || drop.setId === null) return
    const pairs = pairedOf([...this.#pairs.values()])
    const known = { ...pairs, operations: new Set([...pairs.operations, ...this.#seen.burned]) }
    const asked = { rows: 'draft', paired: known } as const
    const paired = await withMintedElsewhere(this.#store, this.#options, this.#deps.client, asked)
    await this.#store.read((sql) => findReplaced(sql, drop, 'draft', { newRows: false, setId: drop.setId, paired }))
  }

  async duplicates(): Promise<Duplicates> {
    const minted = new Set(this.#mints)
    return await this.#store.read((sql) => newDuplicates(sql, this.#store.drop, 'draft', (at) => minted.has(at)))
  }

  async #noteMove(place: Place): Promise<void> {
    const { movedFrom, drop } = this.#store
    if (movedFrom !== null) {
      this.notes.push(`The manifest was moved from ${movedFrom}. gdn apply stores its path with the run ${drop.name}`)
    }
    if (drop.setId !== null) return
    await this.#noteRenamed(place)
    for (const { name, manifest } of await this.#store.read((sql) => movedRuns(sql, this.#options))) {
      this.notes.push(`The run ${name} is of a manifest that is gone: ${manifest}. If it was moved here, add --adopt`)
    }
  }

  /** Refuses rows that seem to be minted, as the mint of a new run does. @throws GdnError `seems_minted` */
  async #refuseMinted(place: Place): Promise<void> {
    const { adopt, isSaved } = this.#options
    if (this.#store.drop.setId !== null || adopt === true || isSaved === true || this.#mints.length === 0) return
    const ids = (await this.#findUnnamed(place)) ?? []
    const { hasReferences } = place
    await refuseMintedBefore(this.#store, place, { positions: new Set(this.#mints), ids, hasReferences })
  }

  async #findUnnamed(place: Place): Promise<string[] | null> {
    if (this.#unnamed === undefined) this.#unnamed = await findUnnamed(this.#store, place)
    return this.#unnamed
  }

  /** Says that the manifest may have been renamed, if no row has an NFT. */
  async #noteRenamed(place: Place): Promise<void> {
    const { mint, rows } = this.counts
    if (mint === 0 || mint < rows) return
    const renamed = await this.#store.read((sql) => notesOfRenamed(sql, this.#options))
    this.notes.push(...renamed)
    if (renamed.length > 0 || !place.hasReferences || this.#options.prune === true) return
    const others = (await this.#findUnnamed(place)) ?? []
    if (others.length > 0) this.notes.push(noteOfUnnamed(others.length))
  }

  #notePairs(): void {
    const rowsOf = (pairs: readonly StoredPair[]) =>
      pairs.length === 1 ? '1 row got an ID since its mint' : `${pairs.length} rows got an ID since their mint`
    const wanted = this.paired.filter(({ alias }) => alias === 'wanted')
    const here = this.paired.filter(({ alias }) => alias === 'impossible')
    if (wanted.length > 0) this.notes.push(`${rowsOf(wanted)}. gdn apply stores which NFTs they belong to`)
    if (here.length > 0)
      this.notes.push(`${rowsOf(here)}. The server can't store which NFTs they belong to: only this machine knows it`)
  }

  #note({ hasReferences, hasUpdates }: Pick<Place, 'hasReferences' | 'hasUpdates'>): void {
    const { vanished } = this.counts
    const { count, labels } = this.relabeled
    if (count > 0) {
      const nfts = count === 1 ? '1 NFT has' : `${count} NFTs have`
      this.notes.push(
        `${nfts} the label ${shownLabels(labels)}. gdn apply replaces it with ${shownLabel(this.#options.label ?? '')}`,
      )
    }
    this.#notePairs()
    if (vanished > 0 && this.#options.prune !== true) {
      const rows = vanished === 1 ? '1 row that was minted is' : `${vanished} rows that were minted are`
      const isEdited = this.#vanishedUnnamed > 0 && this.#newUnnamed > 0
      const edited = isEdited ? '. Without an id, an edited row is a new row: it would be minted in addition' : ''
      this.notes.push(`${rows} no longer in the manifest${edited}`)
      const more = vanished > this.#gone.length ? `, and ${vanished - this.#gone.length} more` : ''
      if (this.#gone.length > 0) this.notes.push(`Without a row: ${this.#gone.join(', ')}${more}`)
      const nfts = vanished === 1 ? 'Its NFT is' : 'Their NFTs are'
      if (hasUpdates) this.notes.push(`${nfts} burned only by a plan that was saved with --prune and --out`)
    }
    if (!hasReferences && this.#store.drop.setId === null) {
      this.notes.push('The server has no reference IDs, and this machine has no run of this manifest: all rows are new')
    }
  }
}

const UNREVEALED = 'it is minted unrevealed: use gdn batch mint --unrevealed'
const HAS_ID = 'the NFT of this row got an ID: add it to the row, or mint the row with another ID'
const FAILED = 'its last mint failed'
const NO_NFT = { nftGdnId: null, tokenId: null, revision: null, transfers: null, reference: null, fields: [] }

/** Returns the mint of a row without an NFT; null if it has one. */
function mintOf({ nftGdnId, sent }: Candidate): Change | null {
  if (nftGdnId !== null) return null
  return { ...NO_NFT, action: 'mint', want: 'mint', reason: sent === null ? null : whyAgain(sent) }
}

function whyAgain({ state, reason }: NonNullable<Candidate['sent']>): string | null {
  if (state === 'failed') return `${FAILED}: ${reason ?? 'the server returned no reason'}`
  const isOpen = state === 'sent' || state === 'unknown' || state === 'absent'
  return isOpen ? 'its outcome is unknown, and is resolved before it is sent again' : null
}

/** Returns the mint of a row whose NFT failed without effect; null for any other NFT. */
function failedMint({ named }: Candidate, { status, error }: { status: string; error?: unknown }): Change | null {
  if (!hasFailed(status) || named !== null) return null
  const reason = `${FAILED}: ${typeof error === 'string' ? error : 'the server returned no reason'}`
  return { ...NO_NFT, action: 'mint', want: 'mint', reason }
}

/** An accepted mint whose NFT the server does not return. */
const unknownNft = ({ nftGdnId }: Candidate): Change => ({
  ...NO_NFT,
  nftGdnId,
  action: 'impossible',
  want: 'mint',
  reason: 'it was accepted, but the server does not return its NFT',
})
