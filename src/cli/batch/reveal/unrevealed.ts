import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import { hasFailed } from '../../../api/nft-status.ts'
import { RENAMED_MANIFEST_HINT } from '../../../batch/minted/seems-minted.ts'
import { referenceScope } from '../../../batch/rows/row-key.ts'
import type { BatchOptions, PlannedEvent } from '../../../batch/types.ts'
import { lacksEndpoint } from '../../../client/responses.ts'
import type { RunLimit } from '../../../client/run-limit.ts'
import { count } from '../../../core/count.ts'
import { flagError, GdnError, type Place } from '../../../core/errors.ts'
import { sha256Hex } from '../../../core/sha256-hex.ts'
import { type ManifestItem, readManifest } from '../../../manifest/read.ts'
import type { ManifestRow } from '../../../manifest/row.ts'
import { readDropState } from '../../../reveal/drop-state.ts'
import { createRowLookup, findLeavesUrl } from '../../../reveal/provenance-in.ts'
import {
  type ReadCommitment,
  readCommitment,
  uncommittableProblem,
  withFirstCommitment,
} from '../../../reveal/read-commitment.ts'
import {
  type CommittedRun,
  editedWhileReadError,
  findCommittedRun,
  findRowEdits,
  leavesPath,
  type Placeholder,
  type RowEdits,
  readPlaceholder,
  storeLeaves,
  unrevealedItems,
} from '../../../reveal/unrevealed.ts'
import type { Connection, Deps } from '../../deps.ts'
import { safe } from '../../io/io.ts'
import { changeOnce } from '../../request/change-once.ts'
import type { BatchMintFlags } from '../options/flags.ts'
import { formatApplyCommand, formatServerFlags } from '../options/format-flags.ts'
import { manifestOptions } from '../options/manifest-options.ts'
import { hasList } from '../receivers/receiver-list.ts'
import { formerFoldersText } from './former-folders.ts'
import {
  checkPlainMint,
  checkRepeatedMint,
  checkUnrevealedMintPlan,
  refusePlaceholder,
  uncommittedError,
  warnOfRepeatedHiddenRows,
} from './minted-unrevealed.ts'
import {
  otherCommitmentError,
  otherRuleError,
  repeatedShuffleError,
  resolveShuffleRule,
  sealedError,
} from './shuffled.ts'

/** Returns a check for rows that a commitment can't include. */
export const checkUncommittable =
  ({ shuffle }: Pick<BatchMintFlags, 'shuffle'>) =>
  (row: ManifestRow) =>
    uncommittableProblem(row, shuffle === true)

interface PreparedMint {
  options: BatchOptions
  read: () => AsyncIterable<ManifestItem>
  check?: ((connection: Connection) => Promise<void>) | undefined
  /** Called with the planned rows, also in a dry run. Throws to refuse the run. */
  checkPlan?: ((planned: PlannedEvent, connection: Connection) => Promise<void>) | undefined
  beforeSending?: ((planned: PlannedEvent, connection: Connection, limit: RunLimit) => Promise<void>) | undefined
  others?: number
}

/**
 * Prepares the mint of a manifest with `--unrevealed`. This mint first writes a commitment to the real rows to the
 * chain, and then mints the rows with the placeholder's metadata. Without the flag, returns the manifest unchanged.
 * `check` then refuses the manifest if its rows were minted unrevealed or the collection is committed to it. A list of
 * receivers can't be minted unrevealed.
 *
 * @throws GdnError `refused` if the run is resumed without the flag that it was started with, or the reverse;
 * `edited_rows` if the manifest was edited after the commitment; `invalid_input`
 */
export async function openUnrevealed(
  deps: Deps,
  { options, read }: PreparedMint,
  flags: BatchMintFlags,
): Promise<PreparedMint> {
  if (hasList(flags)) return { options, read }
  const { unrevealed: file } = flags
  if (file !== undefined && flags.newRows === true) {
    const hint = 'The rows of an unrevealed drop are fixed. Omit the flag. To mint more rows, use another manifest.'
    throw flagError('--new-rows', "can't be used with --unrevealed", hint)
  }
  const keptRun = await findCommittedRun(options)
  const hasSent = keptRun !== undefined && keptRun.counts.pending < keptRun.counts.total
  const isRepeated = flags.again === true || keptRun?.isAgain === true
  const mint: MintInput = { deps, options, read, flags, keptRun, hasSent, isRepeated }
  const phase = keptRun === undefined ? undefined : readDropState(keptRun)?.phase
  if (file === undefined && keptRun !== undefined && (phase === 'sealed' || phase === 'drawn')) {
    const drop = { isRevealed: phase === 'drawn', isWhole: keptRun.counts.deployed === keptRun.counts.total }
    const check = async (connection: Connection) => {
      const refusal = await checkPlainMint(deps, connection, { options, read }, flags)
      throw refusal ?? sealedError(options.manifestPath, drop, flags)
    }
    return { options, read, check }
  }
  if (keptRun !== undefined && (keptRun.commitment !== null) !== (file !== undefined))
    throw flagMismatchError(mint, keptRun)
  return file === undefined ? openPlainMint(mint) : await openUnrevealedMint(mint, file)
}

/** A manifest to mint, and the run that the mint resumes. */
interface MintInput {
  deps: Deps
  options: BatchOptions
  read: () => AsyncIterable<ManifestItem>
  flags: BatchMintFlags
  /** Undefined if the run has not begun. */
  keptRun: CommittedRun | undefined
  /** Whether the run has sent rows. */
  hasSent: boolean
  /** Whether the run mints rows again. */
  isRepeated: boolean
}

/** Returns the error for a run that is resumed without the flag that it was started with, or the reverse. */
function flagMismatchError({ flags, hasSent }: MintInput, { run, commitment, counts }: CommittedRun): GdnError {
  if (commitment === null) {
    return otherRunError(
      `the run ${run} was started without --unrevealed`,
      `To resume it, omit --unrevealed.${hasSent ? '' : ` To mint its rows unrevealed, first remove it with \`gdn batch rm ${run}\`.`}`,
    )
  }
  const resume =
    counts.failed > 0 && counts.pending === 0
      ? `To retry its failed rows, run \`gdn batch retry ${run}${formatServerFlags(flags)}\`.`
      : 'To resume it, add --unrevealed <file>.'
  return otherRunError(
    `the run ${run} was started with --unrevealed`,
    `${resume} To reveal its NFTs, run \`gdn reveal\`.`,
  )
}

async function refuseAgain({ deps, options, read }: MintInput, connection: Connection): Promise<void> {
  const refusal = await checkRepeatedMint(deps, connection, { options, read })
  if (refusal !== null) throw refusal
}

/** Returns how to mint a manifest without `--unrevealed`. */
function openPlainMint(mint: MintInput): PreparedMint {
  const { deps, options, read, flags } = mint
  // If the run has sent rows or was started with --again, its rows are minted with their real metadata on purpose.
  if (mint.hasSent) return { options, read }
  if (mint.isRepeated) return { options, read, check: (connection) => refuseAgain(mint, connection) }
  let isUnchecked = false
  return {
    options,
    read: () => (isUnchecked ? expectInvalidItem(read()) : read()),
    check: async (connection) => {
      const refusal = await checkPlainMint(deps, connection, { options, read }, flags).catch(async (error: unknown) => {
        // The plan reports invalid rows first, because the user can fix them without the server.
        isUnchecked = !deps.signals.signal.aborted && (await hasInvalidRow(read))
        if (!isUnchecked) throw error
        return null
      })
      if (refusal !== null) throw refusal
    },
  }
}

/** Returns how to mint a manifest with the placeholder in the file. */
async function openUnrevealedMint(mint: MintInput, file: string): Promise<PreparedMint> {
  const { deps, options, read, flags, keptRun, isRepeated } = mint
  const { blockchain, stateDir } = options
  refuseStandardInput(options.manifestPath ?? '-')
  const placeholder = await openPlaceholder(deps, file, blockchain)
  const progress = await deps.io.progress('Hashing the rows and their files')
  const rule = resolveShuffleRule(flags, keptRun)
  const rows = await readCommitment(read(), rule).finally(() => progress.stop())
  // A row is invalid, so the rows are read again to report the problems.
  if (rows === null) return { options, read: () => expectInvalidItem(read()) }
  await refuseOtherRows(mint, rows)
  const { provenance, seed } = rows.commitment
  let isCommitted = false
  const reference = commitmentReference(provenance, isRepeated ? null : (keptRun?.scope ?? toRunScope(options)))
  const mayShareNewCommitment = isRepeated || mint.hasSent
  const toCommitting = (planned: PlannedEvent): CommitInput => {
    const takesOver = options.adopt === true || options.lookup === false
    const mayShare = mayShareNewCommitment || (takesOver && isCommitted)
    return { options, planned, rows, reference, mayShare, mayShareNewCommitment, flags }
  }
  const committedRow = await createRowLookup(rows.commitment)
  return {
    // Only these NFTs must be dynamic. The collection itself doesn't have to be.
    options: {
      ...options,
      dynamic: true,
      reading: { ...options.reading, provenance, seed: seed.toString('hex'), shuffle: rule ?? undefined },
      // The rows may have been edited since an earlier commitment. Until the new commitment exists, they may still have
      // NFTs from the earlier one.
      isOfOtherDrop(metadata) {
        return isCommitted && findLeavesUrl(metadata) !== undefined && committedRow(metadata) === null
      },
      committedRow,
    },
    read: () => unrevealedItems(read(), placeholder, rows, leavesPath(stateDir, provenance)),
    // The commitment is one more transaction.
    others: 1,
    check: async (connection) => {
      await refusePlaceholder(options, placeholder, provenance)
      isCommitted = await refuseMinted(mint, rows, connection)
    },
    checkPlan: async (planned, connection) =>
      void (await checkDeployedCommitment(deps, connection, toCommitting(planned))),
    beforeSending: async (planned, connection, limit) => {
      await storeLeaves(stateDir, rows)
      await commit(deps, connection, { ...toCommitting(planned), limit })
    },
  }
}

/**
 * Refuses rows or a shuffle rule that differ from those of the run, and flags that can't be used for a shuffled drop.
 */
async function refuseOtherRows({ options, flags, keptRun }: MintInput, rows: ReadCommitment): Promise<void> {
  const { provenance, rule } = rows.commitment
  if (rule !== null && flags.again === true) throw repeatedShuffleError('--again')
  if (rule !== null && options.lookup === false && flags.dryRun !== true) {
    const hint = 'Nothing was minted. Omit the flag, so that gdn looks for slots that are already minted.'
    throw flagError('--no-lookup', "can't be used for a shuffled drop", hint)
  }
  if (!keptRun?.commitment) return
  const { shuffle } = keptRun.commitment
  if (shuffle?.marginSeconds !== rule?.marginSeconds) throw otherRuleError(keptRun.run, shuffle)
  if (keptRun.commitment.provenance !== provenance) {
    throw editedRowsError(
      keptRun,
      options.manifestPath,
      await findRowEdits(options.stateDir, keptRun.commitment, rows),
      flags,
    )
  }
}

/**
 * Refuses rows that another machine or run minted. Returns whether the collection is known to be committed to the
 * manifest.
 */
async function refuseMinted(mint: MintInput, rows: ReadCommitment, connection: Connection): Promise<boolean> {
  const { deps, options, read, flags, keptRun, isRepeated } = mint
  const { rule, provenance } = rows.commitment
  if (isRepeated && !mint.hasSent && rule === null) await refuseAgain(mint, connection)
  // If this machine's run has unsent rows, another machine may have minted them.
  const isSent = keptRun?.counts.pending === 0
  // Failed rows of a sealed drop can't be minted either.
  if (isRepeated || (isSent && (rule === null || keptRun.counts.failed === 0))) return false
  const isKnown = keptRun !== undefined
  const minting = { options, read, rows, isKnown, flags }
  const verdict = await checkUnrevealedMintPlan(deps, connection, minting)
  if (verdict.refusal !== null) throw verdict.refusal
  const warning = isKnown ? null : await warnOfRepeatedHiddenRows(minting, provenance)
  if (warning !== null) deps.io.warn(warning)
  return verdict.isCommitted
}

/**
 * Reads a manifest in which an earlier pass found an invalid row. Throws if this pass finds none, because the rows have
 * changed and weren't checked.
 */
async function* expectInvalidItem(items: AsyncIterable<ManifestItem>): AsyncGenerator<ManifestItem> {
  let isInvalid = false
  for await (const item of items) {
    isInvalid ||= 'issue' in item
    yield item
  }
  if (!isInvalid) throw editedWhileReadError('the manifest')
}

async function hasInvalidRow(read: () => AsyncIterable<ManifestItem>): Promise<boolean> {
  for await (const item of read()) if ('issue' in item) return true
  return false
}

const PLACEHOLDER_RECEIVER = `0x${'1'.repeat(40)}`

/**
 * Reads the placeholder file of an unrevealed drop.
 *
 * @throws GdnError `usage`, `invalid_input`
 */
export async function openPlaceholder(deps: Deps, file: string, blockchain: Blockchain): Promise<Placeholder> {
  if (!isEvm(blockchain)) {
    throw new GdnError('usage', `NFTs on ${blockchain} can't be revealed`, { place: { flag: '--unrevealed' } })
  }
  const options = { ...manifestOptions(deps, {}), blockchain, receiver: PLACEHOLDER_RECEIVER }
  return await readPlaceholder(readManifest({ path: file }, options), file)
}

/**
 * Refuses standard input.
 *
 * @throws GdnError `usage` for standard input, because the manifest must be read more than once
 */
export function refuseStandardInput(manifest: string): void {
  if (manifest !== '-') return
  throw new GdnError('usage', 'an unrevealed drop needs a manifest file, not standard input', {
    hint: 'Write the manifest to a file first.',
  })
}

const otherRunError = (message: string, hint: string) =>
  new GdnError('refused', message, { place: { flag: '--unrevealed' }, hint: `Nothing was sent. ${hint}` })

const MAX_LISTED_LINES = 10

/**
 * Creates the error for a manifest that was edited after the commitment.
 *
 * @param file the manifest
 * @param edits the rows that differ; null if they are unknown
 */
export function editedRowsError(
  { run, isRevealed, commitment }: Pick<CommittedRun, 'run' | 'isRevealed' | 'commitment'>,
  file: string | null,
  edits: RowEdits | null,
  flags: BatchMintFlags,
): GdnError {
  const { changed = [], added = [], removed = [] } = edits ?? {}
  const lines = [...changed, ...added].sort((a, b) => a - b)
  const parts = [
    ...(changed.length === 0 ? [] : [`${formatRowNoun('line', changed)} ${formatFirstLines(changed)}`]),
    ...(added.length === 0 ? [] : [`added ${formatRowNoun('line', added)} ${formatFirstLines(added)}`]),
    ...(removed.length === 0
      ? []
      : [`removed ${formatRowNoun('row', removed)} ${formatFirstLines(removed)} of the committed rows`]),
  ]
  return new GdnError(
    'edited_rows',
    `the manifest or its files were edited after the run ${run} committed to the rows${parts.length === 0 ? '' : `: ${parts.join('; ')}`}`,
    {
      place: toPlace(file, lines[0]),
      hint: isRevealed
        ? `Nothing was sent. All NFTs of the run are revealed. To edit them, run ${formatApplyCommand(file, flags)}.${commitment?.shuffle ? ' Keep the number and the order of the rows, because the draw depends on them.' : ''} To mint more rows, use another manifest.${formerFoldersText(file)}`
        : `Nothing was sent. Restore these rows and their files. To mint more rows, use another manifest. ${updateRevealedHint(file, flags)}${formerFoldersText(file)}`,
      details: { run, lines, removed: removed.length },
    },
  )
}

const formatRowNoun = (noun: string, rows: readonly number[]): string => (rows.length === 1 ? noun : `${noun}s`)

const formatFirstLines = (rows: readonly number[]): string =>
  `${rows.slice(0, MAX_LISTED_LINES).join(', ')}${rows.length > MAX_LISTED_LINES ? ', …' : ''}`

/**
 * Returns a hint with the command that updates NFTs after their rows were edited. The command requires a complete
 * reveal.
 */
export const updateRevealedHint = (file: string | null, flags: BatchMintFlags): string =>
  `To edit NFTs, first reveal all of them, then run ${formatApplyCommand(file, flags)}.`

const toPlace = (file: string | null, line?: number): Place => ({ file: file ?? undefined, line })

interface CommitInput {
  options: BatchOptions
  flags: BatchMintFlags
  planned: PlannedEvent
  rows: ReadCommitment
  /** The reference ID of the commitment. */
  reference: string
  /** Whether the commitment may come from a run with a different name. */
  mayShare: boolean
  /**
   * Like `mayShare`, but for a commitment that was made after this command started. The run that made it may still be
   * minting.
   */
  mayShareNewCommitment: boolean
}

const toRunScope = ({ runName, manifestPath: manifest }: BatchOptions): string =>
  referenceScope({ runName: runName ?? null, manifest, order: null })

const referencePrefix = (provenance: string) => `provenance:${provenance}:`

/**
 * Returns the reference ID of a commitment. The server accepts each commitment only once. The reference ID therefore
 * shows which run may mint the rows, even if several machines start at the same time.
 *
 * @param scope the scope of the run's reference IDs; null for a run with `--again`
 */
const commitmentReference = (provenance: string, scope: string | null): string =>
  `${referencePrefix(provenance)}${scope === null ? 'again' : sha256Hex(scope).slice(0, 16)}`

/**
 * Returns whether the commitment is on chain.
 *
 * @throws GdnError `refused` if the server doesn't support commitments, if rows were minted without this commitment, or
 * if the collection first committed to the rows with a different shuffle rule; `seems_minted` if a run with a different
 * name made the commitment
 */
async function checkDeployedCommitment(
  deps: Deps,
  { client }: Connection,
  { options, planned, rows, reference, mayShare, flags }: Omit<CommitInput, 'mayShareNew'>,
): Promise<boolean> {
  const { contractAddress: contract_address } = options
  const { provenance } = rows.commitment
  const { provenances } = await client
    .call('getprovenances', { contract_address }, { signal: deps.signals.signal })
    .catch((error: unknown) => {
      if (!lacksEndpoint(error)) throw error
      throw new GdnError('refused', "the server doesn't support unrevealed mints", {
        place: { flag: '--unrevealed' },
        hint: 'Nothing was sent. Use a gdn backend.',
      })
    })
  // If two machines commit to the rows with different rules, only the machine whose commitment is first mints them.
  const valid = provenances.filter(({ status }) => !hasFailed(status))
  const first = withFirstCommitment(rows, valid)?.commitment
  if (first !== undefined && first.provenance !== provenance) throw otherCommitmentError(first.rule)
  const onServer = provenances.find((record) => record.provenance === provenance)
  const isBegun = planned.rows.total > planned.rows.pending
  if (onServer === undefined && isBegun) throw uncommittedError(options, provenance)
  const committedBy = onServer?.reference_id ?? ''
  const isOfOther = committedBy.startsWith(referencePrefix(provenance)) && committedBy !== reference
  if (rows.commitment.rule !== null) {
    if (isOfOther) throw repeatedShuffleError('--run')
    const seal = provenances.find((record) => record.seal_of === provenance)
    if (seal !== undefined && planned.rows.pending > 0)
      throw sealedError(options.manifestPath, { isRevealed: false }, flags)
  }
  if (isOfOther && !mayShare) {
    throw committedByOtherError(options, committedBy === commitmentReference(provenance, null))
  }
  return onServer?.status === 'deployed'
}

const committedByOtherError = ({ manifestPath }: BatchOptions, isAgain: boolean) => {
  const which = isAgain ? 'with --again' : 'with another name'
  const message = `a run ${which} has committed the collection to the rows of this manifest`
  return new GdnError('seems_minted', message, {
    place: { file: manifestPath ?? undefined },
    hint: isAgain
      ? 'Nothing was minted. If that run was interrupted on this machine, add --again to resume it. If it was interrupted elsewhere and will not be resumed, add --adopt.'
      : `Nothing was minted. ${RENAMED_MANIFEST_HINT}\nIf that run was interrupted and will not be resumed, add --adopt to mint its rows under this name.`,
  })
}

/** Commits to the rows on chain, unless the commitment exists, and waits for the confirmations. */
async function commit(
  deps: Deps,
  connection: Connection,
  { limit, ...committing }: CommitInput & { limit: RunLimit },
): Promise<void> {
  if (await checkDeployedCommitment(deps, connection, committing)) return
  const { options, rows, reference } = committing
  const { blockchain, contractAddress: contract_address } = options
  const { provenance } = rows.commitment
  const request = { contract_address, provenance, shuffle_margin: rows.commitment.rule?.marginSeconds }
  const change = {
    endpoint: 'commitprovenance' as const,
    note: 'batch mint --unrevealed',
    what: 'the commitment',
    blockchain,
    contract: contract_address,
    content: { ...request, reference },
    limit,
    request: async () => request,
    reference,
  }
  const { timeout } = committing.flags
  await changeOnce(deps, connection, { timeout }, change, async () => {})
  // A run with a different name may have committed to the rows at the same time.
  await checkDeployedCommitment(deps, connection, { ...committing, mayShare: committing.mayShareNewCommitment })
  deps.io.note(`The collection is committed to ${count(rows.commitment.rowCount, 'row')}: ${safe(provenance)}`)
}
