import { isEvm } from '../../../api/blockchains.ts'
import type { ShuffleRule } from '../../../api/shuffle-rule.ts'
import { listCollection } from '../../../batch/minted/list-collection.ts'
import { RowLookup } from '../../../batch/minted/lookup.ts'
import { seemsMintedAsError } from '../../../batch/minted/seems-minted.ts'
import type { StoredRow } from '../../../batch/rows/manifest-row.ts'
import type { BatchOptions, PlannedEvent, PlannedMints } from '../../../batch/types.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import type { ManifestItem } from '../../../manifest/read.ts'
import type { ManifestRow } from '../../../manifest/row.ts'
import { IN_PROGRESS_REASON } from '../../../plan/compare.ts'
import { OTHER_RUN_UNREVEALED_REASON, UNREVEALED_MINT_REASON } from '../../../plan/mint-changes.ts'
import type { ChangePlan, HiddenCheck, RowChanges } from '../../../plan/planned.ts'
import {
  allowHiddenRows,
  findHiddenRows,
  type HiddenRows,
  type PublicationTarget,
} from '../../../reveal/hidden-rows.ts'
import {
  type Content,
  type ReadCommitment,
  readCommitment,
  withFirstCommitment,
} from '../../../reveal/read-commitment.ts'
import { countUnrevealed, type UnrevealedMints } from '../../../reveal/rows-with-nfts.ts'
import type { StoredCommitment } from '../../../reveal/unrevealed.ts'
import { isListDrop } from '../../../state/drops.ts'
import type { Connection, Deps } from '../../deps.ts'
import type { BatchMintFlags } from '../options/flags.ts'
import { formatApplyCommand } from '../options/format-flags.ts'
import { formerFoldersText } from './former-folders.ts'
import { formatShuffleRule, otherCommitmentError, repeatedShuffleError, sealedError } from './shuffled.ts'
import { findSeal, readCommitments } from './shuffled-drop.ts'

/** A manifest to mint, and its collection. */
interface MintInput {
  options: BatchOptions
  read: () => AsyncIterable<ManifestItem>
}

/**
 * The commitment of the collection: to this manifest, to its rows with a different shuffle rule, only to other
 * manifests, or none.
 */
type CollectionCommitment =
  | { to: 'none' }
  /** Whether rows of any of the manifests are shuffled. */
  | { to: 'others'; areShuffled: boolean }
  | {
      to: 'this' | 'other rule'
      rule: ShuffleRule | null
      /** Whether the drop is sealed, so that no more of its rows can be minted. */
      isSealed: boolean
    }

/**
 * Returns the commitment of the collection.
 *
 * @param ownRows the rows with their commitment, if its rule is known. Default: the collection's rule
 */
async function findCollectionCommitment(
  deps: Deps,
  connection: Connection,
  { options: { blockchain, contractAddress, manifestPath }, read }: MintInput,
  ownRows?: ReadCommitment,
): Promise<CollectionCommitment> {
  // Standard input can't be read again, so a commitment never covers it.
  if (!isEvm(blockchain) || manifestPath === null) return { to: 'none' }
  const { client } = connection
  await client.learnCapabilities({ signal: deps.signals.signal })
  if (client.supports('updates') !== true) return { to: 'none' }
  // Without the permission to read, the result is the same as for a collection without a commitment.
  const valid = await readCommitments(deps, connection, contractAddress)
  if (valid.length === 0) return { to: 'none' }
  const rows = ownRows ?? (await readCommitment(read()))
  const match = rows === null ? null : withFirstCommitment(rows, valid)
  if (match === null) return { to: 'others', areShuffled: valid.some(({ shuffle_margin }) => shuffle_margin != null) }
  const { provenance, rule } = match.commitment
  const to = ownRows === undefined || ownRows.commitment.provenance === provenance ? 'this' : 'other rule'
  return { to, rule, isSealed: findSeal(valid, provenance) !== undefined }
}

/** Returns the error if `--again` would mint the rows of a committed shuffled drop a second time; null otherwise. */
export async function checkRepeatedMint(
  deps: Deps,
  connection: Connection,
  minting: MintInput,
): Promise<GdnError | null> {
  const commitment = await findCollectionCommitment(deps, connection, minting)
  if (commitment.to === 'none') return null
  if (commitment.to !== 'others') return commitment.rule === null ? null : repeatedShuffleError('--again')
  if (!commitment.areShuffled) return null
  // The manifest may have been edited since its commitment, so look for its rows under the reference IDs that they have
  // without --again.
  const { hidden, revealed } = await countUnrevealedRows(
    { ...minting, options: { ...minting.options, again: false } },
    connection,
  )
  return hidden + revealed > 0 ? repeatedShuffleError('--again') : null
}

/**
 * Returns the error for a manifest that must not be minted without `--unrevealed`; null if it can be minted. The error
 * means that rows were minted unrevealed, or that the collection is committed to the manifest. Reads the manifest only
 * if the collection has a commitment.
 */
export async function checkPlainMint(
  deps: Deps,
  connection: Connection,
  minting: MintInput,
  flags: BatchMintFlags,
): Promise<GdnError | null> {
  const commitment = await findCollectionCommitment(deps, connection, minting)
  if (commitment.to === 'none') return null
  const mints = await countUnrevealedRows(minting, connection)
  if (commitment.to === 'this') {
    if (commitment.isSealed) return sealedDropError(mints, minting.options, flags)
    return mints.revealed > 0 ? alreadyRevealedError(mints, minting.options, flags) : committedError(commitment.rule)
  }
  return mints.hidden + mints.revealed > 0 ? otherManifestError(mints, minting.options) : null
}

interface UnrevealedMintInput extends MintInput {
  /** The manifest's rows with their commitment. */
  rows: ReadCommitment
  /** Whether this machine has begun the run. */
  isKnown: boolean
  flags: BatchMintFlags
}

/**
 * Returns the error for a manifest that can't be minted with `--unrevealed`, because another machine or run has minted
 * its rows; null if it can be minted. Also returns whether the collection is committed to the manifest.
 */
export async function checkUnrevealedMintPlan(
  deps: Deps,
  connection: Connection,
  minting: UnrevealedMintInput,
): Promise<{ refusal: GdnError | null; isCommitted: boolean }> {
  const commitment = await findCollectionCommitment(deps, connection, minting, minting.rows)
  return {
    refusal: await checkUnrevealedMint(deps, connection, minting, commitment),
    isCommitted: commitment.to === 'this',
  }
}

async function checkUnrevealedMint(
  deps: Deps,
  connection: Connection,
  minting: UnrevealedMintInput,
  commitment: CollectionCommitment,
): Promise<GdnError | null> {
  const { options, read, rows, isKnown, flags } = minting
  if (commitment.to === 'other rule') return otherCommitmentError(commitment.rule)
  const ids = new Set<string>()
  const mints = await countUnrevealed(options, connection.client, read(), ids)
  if (commitment.to === 'others' && mints.hidden + mints.revealed > 0)
    return uncommittedError(options, rows.commitment.provenance)
  const isNew = options.adopt !== true && !isKnown
  if (commitment.to === 'this' && commitment.isSealed && (mints.others > 0 || isNew))
    return sealedDropError(mints, options, flags)
  const isRefused = commitment.to === 'this' && mints.revealed > 0 && isNew
  if (isRefused) return alreadyRevealedError(mints, options, flags)
  // A server that doesn't support commitments refuses the mint.
  const isChecked = options.lookup !== false && connection.client.supports('updates') === true
  if (mints.others === 0 || !isChecked) return null
  return await findPlainMints(deps, connection, minting, { knownIds: ids, isCommitted: commitment.to === 'this' })
}

/**
 * Returns the error if rows are in the collection with their real metadata, but their run has no NFTs for them; null
 * otherwise. NFTs that are part of the run's commitment don't count, because the run itself finds them.
 *
 * @param knownIds the IDs of the run's NFTs
 */
async function findPlainMints(
  { signals: { signal } }: Deps,
  { client }: Connection,
  { options, read }: UnrevealedMintInput,
  { knownIds, isCommitted }: { knownIds: ReadonlySet<string>; isCommitted: boolean },
): Promise<GdnError | null> {
  const source = { client, signal }
  // Without the permission to list, the run itself reports that it can't look for its rows.
  const listed = await listCollection(source, options, true, [])
  const unknown = [...(listed ?? [])].filter((id) => !knownIds.has(id))
  if (unknown.length === 0) return null
  const lookup = new RowLookup(() => validRows(read()), options.markerKey)
  await lookup.read(source, unknown, () => {})
  let rows = 0
  for await (const _ of lookup.findRows()) rows++
  return rows > 0
    ? seemsMintedAsError(
        `with ${rows === 1 ? 'its' : 'their'} own metadata`,
        rows,
        isCommitted ? '--no-lookup' : '--again',
      )
    : null
}

async function* validRows(items: AsyncIterable<ManifestItem>): AsyncGenerator<StoredRow> {
  let position = 0
  for await (const item of items) if ('row' in item) yield { key: '', content: '', position: position++, row: item.row }
}

/**
 * Returns the reason why a plan's rows without NFTs can't be minted with their real metadata; null if they can.
 *
 * @param ownCommitment the commitment of the run; null if the run has not begun
 */
export async function whyNoMints(
  deps: Deps,
  connection: Connection,
  minting: MintInput,
  ownCommitment: StoredCommitment | null,
): Promise<string | null> {
  if (ownCommitment !== null) {
    const rows = await readCommitment(minting.read(), ownCommitment.shuffle)
    return rows?.commitment.provenance === ownCommitment.provenance
      ? UNREVEALED_MINT_REASON
      : OTHER_RUN_UNREVEALED_REASON
  }
  const commitment = await findCollectionCommitment(deps, connection, minting)
  if (commitment.to !== 'none' && commitment.to !== 'others') return UNREVEALED_MINT_REASON
  if (commitment.to === 'none') return null
  const { hidden, revealed } = await countUnrevealedRows(minting, connection)
  return hidden + revealed > 0 ? OTHER_RUN_UNREVEALED_REASON : null
}

/**
 * Counts the rows of a manifest that its run minted unrevealed. If there are none and the run has a name, counts the
 * rows that were minted under the manifest's file name. Doesn't count these rows if all of them are revealed.
 */
async function countUnrevealedRows(
  { options, read }: MintInput,
  { client }: Connection,
): Promise<UnrevealedMints & { isFormer?: boolean }> {
  const mints = await countUnrevealed(options, client, read())
  if (mints.hidden + mints.revealed > 0 || options.runName === undefined) return mints
  const former = await countUnrevealed({ ...options, runName: undefined, label: null }, client, read())
  return former.hidden > 0 ? { ...former, isFormer: true } : mints
}

const NOTHING_SENT_TEXT = 'Nothing was sent.'

const unrevealedFlagError = (message: string, hint: string) =>
  new GdnError('refused', message, { place: { flag: '--unrevealed' }, hint: `${NOTHING_SENT_TEXT} ${hint}` })

function hiddenText({ contract, state, count: rows }: HiddenRows): string {
  const all = count(rows, 'row')
  if (state === 'minted') return `${all} ${rows === 1 ? 'is' : 'are'} minted unrevealed in the collection ${contract}`
  if (state === 'committed') return `the collection ${contract} is committed to ${all} of an unrevealed drop`
  return `the outcome of committing the collection ${contract} to ${all} of an unrevealed drop is unknown`
}

/** Returns the hint on what to do before gdn publishes hidden rows. */
const endProtectionHint = ({ state, run }: HiddenRows): string =>
  state === 'unknown'
    ? `To find out the outcome, mint that drop again with --unrevealed in that collection. If you have abandoned the drop, remove the record of its commitment with \`gdn batch rm ${run}\`.`
    : `To publish them, first ${state === 'committed' ? 'finish minting that drop, and reveal it' : 'reveal that drop'} with \`gdn reveal\` on this machine. If gdn can't reveal them, remove the record of that drop with \`gdn batch rm ${run}\`.`

/**
 * Returns the message for a plan's rows that can't be minted because another drop hides them; null if there are none.
 */
export async function whyHidden(options: BatchOptions, check: HiddenCheck): Promise<string | null> {
  const hidden = await findHiddenInRun(options, check)
  if (hidden === null) return null
  const first =
    hidden.state === 'unknown' ? 'repeat the mint of that drop' : `reveal ${hidden.count === 1 ? 'it' : 'them'}`
  const text = `${hiddenText(hidden)}: ${first} first`
  return hidden.areResent ? `${text}, or run gdn batch reconcile ${check.run.name}` : text
}

/**
 * Returns the rows of a run that another drop hides; null if there are none. `areResent` is true if some of them have
 * an unknown outcome, and may already be minted.
 */
async function findHiddenInRun(
  options: BatchOptions,
  { rows, resent, run }: HiddenCheck,
): Promise<(HiddenRows & { areResent: boolean }) | null> {
  const allowed = runAllowedToPublish(run)
  const all = async function* () {
    yield* rows()
    yield* resent()
  }
  const ownRun = { run: run.id }
  const hidden = await findHiddenRows(options, all, ownRun, allowed)
  return hidden && { ...hidden, areResent: (await findHiddenRows(options, resent, ownRun, allowed)) !== null }
}

/** Returns the ID of a run if its `--again` lets it publish hidden rows; undefined otherwise. */
const runAllowedToPublish = ({ id, again }: Pick<HiddenCheck['run'], 'id' | 'again'>): string | undefined =>
  again ? id : undefined

/**
 * Refuses updates that would publish rows that another drop hides.
 *
 * @throws GdnError `refused`
 */
export async function refuseHiddenUpdates(
  options: BatchOptions,
  { counts, rows, run }: Pick<ChangePlan, 'counts' | 'rows' | 'run'>,
): Promise<void> {
  if (counts.update === 0) return
  const hidden = await findHiddenRows(options, () => rowsToUpdate(rows()), { run: run.id }, runAllowedToPublish(run))
  if (hidden !== null) throw publicationError(hidden, options.manifestPath, { action: 'plan', more: '' })
}

/** Yields the rows of the updates that the server has not accepted. */
async function* rowsToUpdate(rows: AsyncIterable<RowChanges>): AsyncGenerator<{ row: ManifestRow }> {
  for await (const { row, changes } of rows)
    if (changes.some(({ action, reason }) => action === 'update' && reason !== IN_PROGRESS_REASON)) yield row
}

/**
 * Refuses to mint rows that another drop hides, unless `--again` allows the run to publish them.
 *
 * @param isMint whether `gdn batch mint` sends the rows, whose flags the hint can name
 * @throws GdnError `refused`
 */
export async function refuseHidden(
  options: BatchOptions,
  planned: PlannedEvent,
  { again, rows, resent }: PlannedMints,
  isMint: boolean,
): Promise<void> {
  const { run, rows: counts } = planned
  if (options.again === true || counts.pending + counts.unknown === 0) return
  const hidden = await findHiddenInRun(options, { rows, resent, run: { ...run, again } })
  if (hidden === null) return
  const more = hidden.areResent ? reconcileHint(run.name) : hiddenMintHints(options, planned, isMint)
  throw publicationError(hidden, options.manifestPath, { action: 'mint', more })
}

/**
 * Refuses to publish metadata that a drop hides.
 *
 * @throws GdnError `refused`
 */
export async function refuseToPublish(
  publishing: PublicationTarget,
  contents: readonly Content[],
  action: 'mint' | 'update',
): Promise<void> {
  const read = async function* () {
    for (const row of contents) yield { row }
  }
  const hidden = await findHiddenRows(publishing, read, {})
  if (hidden !== null) throw publicationError(hidden, null, { action, more: ' To publish them now, add --again.' })
}

/** Returns the hint on how to find out whether hidden rows are already minted. */
const reconcileHint = (run: string): string =>
  ` To find out whether rows with an unknown outcome are already minted, run \`gdn batch reconcile ${run}\`.`

/**
 * Returns hints on how to mint hidden rows before their drop is revealed. A run that has sent rows can't change the way
 * it mints.
 */
function hiddenMintHints(
  { manifestPath, reading = {} }: BatchOptions,
  { resumed, rows: { total, pending }, run }: PlannedEvent,
  isMint: boolean,
): string {
  if (total > pending) return ''
  const withFlag = (flag: string) => (isMint ? `add ${flag}` : `run \`gdn batch mint\` with ${flag}`)
  if (!resumed) {
    // Rows of standard input and of a list of receivers can't be minted unrevealed.
    const canHide = manifestPath !== null && !isListDrop({ reading })
    const hide = canHide ? ` To mint them unrevealed in this collection, too, ${withFlag('--unrevealed <file>')}.` : ''
    return `${hide} To publish them now, ${withFlag('--again')}.`
  }
  return ` To publish them now, remove the run with \`gdn batch rm ${run.name}\`, and run \`gdn batch mint\` with --again.`
}

/** If `--again` is set, records that the run may publish its hidden rows. */
export async function recordPublishPermission(
  options: BatchOptions,
  { run }: PlannedEvent,
  { rows }: PlannedMints,
): Promise<void> {
  if (options.again === true) await allowHiddenRows(options, rows, run.id)
}

function publicationError(
  hidden: HiddenRows,
  manifestPath: string | null,
  { action, more }: { action: 'plan' | 'mint' | 'update'; more: string },
): GdnError {
  const possessive = hidden.count === 1 ? 'its' : 'their'
  return new GdnError('refused', `${hiddenText(hidden)}, and this ${action} would publish ${possessive} metadata`, {
    place: { file: manifestPath ?? undefined },
    hint: `${NOTHING_SENT_TEXT} ${endProtectionHint(hidden)}${more}`,
  })
}

/** Returns the warning that an unrevealed mint repeats rows that another drop hides; null if it repeats none. */
export async function warnOfRepeatedHiddenRows(
  { options, read }: MintInput,
  provenance: string,
): Promise<string | null> {
  const hidden = await findHiddenRows(options, read, { provenance })
  return hidden === null
    ? null
    : `${hiddenText(hidden)}, and this run mints ${hidden.count === 1 ? 'it' : 'them'} again.`
}

/**
 * Refuses a placeholder with the metadata of a row that another drop hides.
 *
 * @param provenance the provenance hash of the placeholder's drop
 * @throws GdnError `refused`
 */
export async function refusePlaceholder(
  publishing: PublicationTarget,
  placeholder: Content,
  provenance: string,
): Promise<void> {
  const read = async function* () {
    yield { row: placeholder }
  }
  const hidden = await findHiddenRows(publishing, read, { provenance })
  if (hidden === null) return
  throw unrevealedFlagError(
    `${hiddenText(hidden)}, and this placeholder would publish its metadata`,
    'Use another placeholder.',
  )
}

/** Returns the warning that a reveal publishes rows that another drop hides; null if there are none. */
export async function warnOfRevealedHiddenRows(
  { options, read }: MintInput,
  provenance: string,
): Promise<string | null> {
  const hidden = await findHiddenRows(options, read, { provenance })
  return hidden === null
    ? null
    : `${hiddenText(hidden)}, and this reveal publishes ${hidden.count === 1 ? 'its' : 'their'} metadata.`
}

const committedError = (rule: ShuffleRule | null) =>
  unrevealedFlagError(
    `the collection is committed to the rows of this manifest${rule === null ? '' : ` ${formatShuffleRule(rule)}`}`,
    rule === null
      ? 'To start or resume an unrevealed mint of these rows, add --unrevealed <file>. To also mint them with their real metadata, add --again.'
      : `To start or resume the mint of these rows, add --unrevealed <file> and the same shuffle flags.`,
  )

function otherManifestError(
  { hidden, revealed, isFormer = false }: UnrevealedMints & { isFormer?: boolean },
  { manifestPath }: BatchOptions,
): GdnError {
  const former = formerFoldersText(manifestPath)
  const rows = hidden + revealed
  const error = unrevealedFlagError(
    `${count(rows, 'row')} ${rows === 1 ? 'was' : 'were'} minted unrevealed from a committed manifest, and this manifest differs from it`,
    isFormer
      ? 'To resume that drop, restore the committed manifest, omit --run, and add --unrevealed <file>. If this manifest is another drop, rename its file, or add --again.'
      : 'Restore the committed manifest, and add --unrevealed <file>. To mint more rows, use another manifest.',
  )
  return error.with({ hint: `${error.hint}${former}` })
}

function sealedDropError(
  { hidden, revealed, others }: UnrevealedMints,
  { manifestPath }: BatchOptions,
  flags: BatchMintFlags,
): GdnError {
  const error = sealedError(manifestPath, { isRevealed: revealed > 0, isWhole: others === 0 }, flags)
  return hidden + revealed > 0 ? error : error.with({ hint: `Nothing was minted. ${OTHER_MANIFEST_HINT}` })
}

const OTHER_MANIFEST_HINT =
  'To mint more rows, use another manifest. If the file was renamed after its rows were minted, add --run <former file name>, and --adopt on the machine that minted them.'

function alreadyRevealedError(
  { hidden, revealed, others }: UnrevealedMints,
  { manifestPath }: BatchOptions,
  flags: BatchMintFlags,
): GdnError {
  const edit = `To edit NFTs, run ${formatApplyCommand(manifestPath, flags)}. To mint more rows, use another manifest.`
  if (hidden + others === 0) {
    return unrevealedFlagError(
      'all rows of this manifest are already minted and revealed',
      `There is nothing left to mint. ${edit}`,
    )
  }
  const rest = others === 0 ? '' : 'To mint the other rows, add --unrevealed <file> and --adopt. '
  return unrevealedFlagError(
    `${count(revealed, 'row')} of this manifest ${revealed === 1 ? 'is' : 'are'} already revealed`,
    `${rest}To reveal all NFTs, run \`gdn reveal\`. ${edit}`,
  )
}

/** Creates the error for a manifest that has minted rows, but that no commitment of the collection matches. */
export const uncommittedError = ({ manifestPath }: BatchOptions, provenance: string): GdnError =>
  new GdnError(
    'refused',
    'rows of this manifest are minted, but no commitment of the collection matches the manifest',
    {
      place: { file: manifestPath ?? undefined },
      hint: `${NOTHING_SENT_TEXT} If the manifest was edited after the mint, restore it. To mint it as another drop, add --again.${formerFoldersText(manifestPath)}`,
      details: { provenance },
    },
  )
