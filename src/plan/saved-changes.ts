import type { NftRecord } from '../api/nft-record.ts'
import { isSameAddress } from '../api/same-address.ts'
import { formatKey } from '../batch/rows/row-key.ts'
import { chunksOf } from '../core/chunks-of.ts'
import type { State } from '../state/open-state.ts'
import { addSavedBurn, addSavedChanges, savedBurns, savedChangesBetween, takeSavedBurn } from '../state/plan-tables.ts'
import { createTables } from '../state/temporary-tables.ts'
import type { NftChange } from './compare.ts'
import type { Candidate } from './find-nfts.ts'
import type { ChangePlan, DifferingPlanRow, PlannedChange } from './planned.ts'

const PAGE_SIZE = 1_000
const MAX_LISTED_CHANGES = 50

/** Returns the part of a change that must be the same when a saved plan is applied. */
const comparisonKey = ({ action, want, fields, nftGdnId, revision, transfers, reference }: NftChange): string =>
  JSON.stringify([action, want, fields, nftGdnId, revision, want === 'transfer' ? transfers : null, reference])

/**
 * Returns the first change that isn't in the saved plan; undefined if all are.
 *
 * @param lastUpdate the reference ID of the update that set the NFT's metadata
 */
function firstUnsavedChange(
  current: readonly NftChange[],
  saved: readonly NftChange[],
  lastUpdate: string | null,
): NftChange | undefined {
  const savedKeys = new Set(saved.map(comparisonKey))
  // If the saved plan's own update created the current revision, ignore the revision number, which depends on the other
  // updates in the collection.
  const savedUpdate = saved.find(({ action, reference }) => action === 'update' && reference === lastUpdate)
  const asSaved = (change: NftChange): NftChange =>
    savedUpdate === undefined ? change : { ...change, revision: savedUpdate.revision }
  return current.map(asSaved).find((change) => !savedKeys.has(comparisonKey(change)))
}

/** Describes what changed since the plan was saved, for a change that isn't in the saved plan. */
function describeDifference(current: NftChange, saved: readonly NftChange[]): string {
  const was = saved.find(({ want }) => want === current.want)
  const before = new Map(was?.fields.map(({ field, from }) => [field, from]))
  const other = current.fields.find(({ field, from }) => !before.has(field) || before.get(field) !== from)
  if (other !== undefined) return `${other.field} is ${other.from ?? 'unset'}`
  if (was === undefined || was.action !== current.action) return current.reason ?? current.action
  const appliedField = was.fields.find(({ field }) => current.fields.every((change) => change.field !== field))
  if (appliedField !== undefined) return `${appliedField.field} is ${appliedField.to ?? 'unset'}`
  if (was.revision !== current.revision) return 'its metadata was updated'
  return was.transfers === current.transfers ? 'the change differs from the plan' : 'it was transferred'
}

/**
 * Returns a description of the receiver if another machine made a saved mint or transfer to another address of the
 * row's ENS name. Otherwise, returns null, because a change that is no longer required was made as saved.
 */
function otherReceiverText(
  receiver: string,
  nft: NftRecord | undefined,
  current: readonly NftChange[],
  saved: readonly NftChange[],
): string | null {
  const isMade = (want: 'mint' | 'transfer') => saved.some((change) => change.want === want) && current.length === 0
  const isTransfer = isMade('transfer')
  if (nft === undefined || !(isTransfer || isMade('mint'))) return null
  const to = isTransfer ? nft.receiver_wallet_address : (nft.minted_to ?? nft.receiver_wallet_address)
  return to == null || isSameAddress(to, receiver) ? null : `${isTransfer ? 'its owner is' : 'it was minted to'} ${to}`
}

/** The changes of a saved plan by row position, in a temporary table. */
export class SavedChanges {
  readonly #state: Pick<State, 'scratch'>
  #position = 0
  readonly changedSinceSaved: ChangePlan['changedSinceSaved'] = { count: 0, rows: [] }
  #bufferedChanges: [position: number, changes: string][] = []

  constructor(state: Pick<State, 'scratch'>) {
    this.#state = state
  }

  async begin(): Promise<void> {
    await this.#state.scratch((sql) => createTables(sql, 'saved', 'saved_burns'))
  }

  readonly row = async (changes: readonly NftChange[]): Promise<void> => {
    const position = this.#position++
    if (changes.length === 0) return
    this.#bufferedChanges.push([position, JSON.stringify(changes)])
    if (this.#bufferedChanges.length >= PAGE_SIZE) await this.flush()
  }

  readonly burn = async (change: PlannedChange): Promise<void> => {
    await this.#state.scratch((sql) => addSavedBurn(sql, change.nftGdnId, change))
  }

  async flush(): Promise<void> {
    const waiting = this.#bufferedChanges
    this.#bufferedChanges = []
    await this.#state.scratch((sql) => {
      for (const row of waiting) addSavedChanges(sql, ...row)
    })
  }

  /**
   * Finds rows with a change that isn't in the saved plan. A row with fewer changes than in the saved plan was partly
   * applied, which isn't a difference.
   */
  async compare(
    candidates: readonly Candidate[],
    compared: readonly [number, NftChange[]][],
    nftOf: (candidate: Candidate) => NftRecord | undefined,
  ): Promise<void> {
    const [first, last] = [compared[0]?.[0] ?? 0, compared.at(-1)?.[0] ?? -1]
    const rows = await this.#state.scratch((sql) => savedChangesBetween(sql, first, last))
    const saved = new Map(rows.map(({ position, changes }) => [position, JSON.parse(changes) as NftChange[]]))
    for (const [at, [position, changes]] of compared.entries()) {
      const candidate = candidates[at]
      if (candidate === undefined) continue
      const { key, row } = candidate.row
      const nft = nftOf(candidate)
      const before = saved.get(position) ?? []
      const replanned = { key: formatKey(key), line: row.line, changes }
      const elsewhere = otherReceiverText(row.receiver, nft, changes, before)
      if (elsewhere !== null) this.#add({ ...replanned, what: elsewhere })
      else this.#compare(replanned, changes, before, nft?.revision_reference_id ?? null)
    }
  }

  /** Compares the change of an NFT without a row with the saved change. */
  async compareBurn(change: PlannedChange): Promise<void> {
    const saved = await this.#state.scratch((sql) => takeSavedBurn(sql, change.nftGdnId))
    this.#compare(change, [change], saved === undefined ? [] : [JSON.parse(saved) as NftChange])
  }

  /**
   * Finds saved burns that this machine wouldn't make, because its run hasn't minted the NFT. Skips burned NFTs.
   *
   * @param isBurned returns which of the changed NFTs are already burned
   */
  async compareRemainingBurns(
    isBurned: (changes: readonly PlannedChange[]) => Promise<ReadonlySet<string>>,
  ): Promise<void> {
    const remaining = await this.#state.scratch(savedBurns)
    for (const chunk of chunksOf(remaining, PAGE_SIZE)) {
      const page = chunk.map(({ change }) => JSON.parse(change) as PlannedChange)
      const burned = await isBurned(page)
      for (const change of page) {
        if (burned.has(change.nftGdnId ?? '')) continue
        const reason = 'this machine has no run that minted it'
        this.#compare({ key: change.key, line: null }, [{ ...change, action: 'impossible', fields: [], reason }])
      }
    }
  }

  #compare(
    { key, line }: Pick<DifferingPlanRow, 'key' | 'line'>,
    changes: NftChange[],
    saved: readonly NftChange[] = [],
    lastUpdate: string | null = null,
  ): void {
    const other = firstUnsavedChange(changes, saved, lastUpdate)
    if (other !== undefined) this.#add({ key, line, changes, what: describeDifference(other, saved) })
  }

  #add(row: DifferingPlanRow): void {
    this.changedSinceSaved.count++
    if (this.changedSinceSaved.rows.length < MAX_LISTED_CHANGES) this.changedSinceSaved.rows.push(row)
  }
}
