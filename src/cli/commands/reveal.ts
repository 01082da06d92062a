import { resolve } from 'node:path'
import { isEvm } from '../../api/blockchains.ts'
import { formatIsoSeconds } from '../../api/shuffle-rule.ts'
import { count } from '../../core/count.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import { NO_MANIFEST_HINT } from '../../manifest/source.ts'
import { reasonSuffix, toPendingCode } from '../../operations/waiting.ts'
import { type Outcomes, RESUME_HINT } from '../../plan/make-changes.ts'
import { type RevealPlan, type SkippedRow, withRevealPlan } from '../../reveal/plan-reveal.ts'
import {
  type ReadCommitment,
  readCommitment,
  uncommittableProblem,
  withFirstCommitment,
} from '../../reveal/read-commitment.ts'
import { editedWhileReadError, findCommittedRun, findRowEdits } from '../../reveal/unrevealed.ts'
import { provenanceOfCall } from '../../verify/abi.ts'
import { missingManifestHint, type OpenedManifest, openManifest } from '../batch/mint-manifest.ts'
import { addTargetFlags, TARGET_ALIASES } from '../batch/options/flags.ts'
import { formerFoldersText } from '../batch/reveal/former-folders.ts'
import { readCommitments } from '../batch/reveal/shuffled-drop.ts'
import { editedRowsError, refuseStandardInput, updateRevealedHint } from '../batch/reveal/unrevealed.ts'
import { GdnCommand } from '../command.ts'
import { addBeaconFlags } from '../connect/open-beacon.ts'
import { addReaderFlags, openVerifier } from '../connect/open-verifier.ts'
import { addPriceFlag } from '../cost/fees.ts'
import { addMaxCostFlag } from '../cost/limit.ts'
import { withRunPaid } from '../cost/paid.ts'
import type { Deps } from '../deps.ts'
import { addOutputFlags, addServerFlags, addTimeoutFlag, integer, notEmpty } from '../flags/common.ts'
import { addRefreshFlags } from '../flags/opensea.ts'
import { safe } from '../io/io.ts'
import type { Progress } from '../io/progress.ts'
import { createOutput, type DataRecord, type View } from '../render/output.ts'
import { checkAbandonedRows, type Draw, UNDRAWN_STATE } from '../reveal/draw.ts'
import { committedGeneration, refuseOtherName } from '../reveal/other-name.ts'
import {
  type CommittedDrop,
  hasUndrawnRows,
  noMintedRowsError,
  type RevealContext,
  type RevealFlags,
  type RevealResult,
  revealRows,
} from '../reveal/reveal-rows.ts'
import { throwManifestErrors } from './batch/validate.ts'

const FIELDS = [
  ...['run', 'blockchain', 'contract_address', 'provenance', 'rows', 'revealed', 'to_reveal', 'pending', 'failed'],
  ...['unknown', 'not_minted', 'left'],
]
const DRAW_FIELDS = ['seal', 'round', 'round_at']
const ROW_FIELDS = ['unrevealed_rows', 'unrevealed_rows_left_out']
const VIEW: View = withRunPaid({
  fields: [...FIELDS, ...DRAW_FIELDS, ...ROW_FIELDS],
  columns: FIELDS,
  id: 'run',
  // The rows are printed before the card. Their long headings would leave no room for the hash on a line.
  card: (record) =>
    [...FIELDS, ...DRAW_FIELDS.filter((field) => record[field] !== null)].map((field) => [field, record[field]]),
})

export function command(deps: Deps, run = reveal): GdnCommand {
  return new GdnCommand({
    about:
      'The command reveals NFTs that were minted with gdn batch mint --unrevealed. It updates each NFT at most once with the metadata of its row, and waits for the outcome. It needs only the manifest and its files, which must match the commitment that was made on the chain before the mint. After an interruption, or after you mint more rows, run the same command again. The updates count toward the cost limit of the run. To raise the limit, use --max-cost.',
    examples: [
      ['Reveal a drop', 'gdn reveal drop.csv -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon'],
      ['Check the manifest without sending anything', 'gdn reveal drop.csv --dry-run'],
    ],
    aliases: TARGET_ALIASES,
  })
    .argument('<manifest>')
    .with(addTargetFlags)
    .valueFlag('--run <name>', "Name that identifies the run (the manifest's path)", notEmpty)
    .switchFlag('--adopt', 'Use the NFTs of a manifest that was moved or renamed')
    .valueFlag(
      '--abandon-rows <count>',
      'Number of unminted rows of a shuffled drop to abandon permanently',
      integer(0, Number.MAX_SAFE_INTEGER),
    )
    .switchFlag('--dry-run', 'Check the manifest and its NFTs without sending anything', 'Sending and waiting')
    .with((own) => addMaxCostFlag(own, 'the run'), addPriceFlag, addRefreshFlags, addTimeoutFlag)
    .switchFlag('-y, --yes', "Don't prompt", 'Sending and waiting')
    .with(addReaderFlags, (own) => addBeaconFlags(own, 'Verifying'), addServerFlags, addOutputFlags)
    .action(async (manifest: string, flags: RevealFlags) => await run(deps, manifest, flags))
}

export async function reveal(deps: Deps, manifest: string, flags: RevealFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW, { manifest })
  refuseStandardInput(manifest)
  const current = await openRevealable(deps, manifest, flags)
  const { settings } = current
  const { blockchain, contractAddress } = current.options
  const marketplace = flags.refresh === true ? await import('../marketplace/refresh-updated.ts') : null
  const refresher = await marketplace?.openUpdatedRefresher(deps, flags, { settings, blockchain, run: manifest })
  const hashed = await hashRows(deps, current)
  const generation = await committedGeneration(current.options, hashed.commitment)
  const opened = { ...current, options: { ...current.options, generation } }
  const connection = await deps.connect(settings, 'bulk')
  const progress = await io.progress('Finding the NFTs of the rows')
  try {
    const drop = await openDrop({ deps, connection, opened, flags }, hashed, progress)
    await withDropPlan(drop, progress, async (plan) => {
      printPlan(drop, plan)
      const result = await revealRows(drop, plan)
      await output.one(toRevealRecord(drop, plan, result))
      const problem = result.error ?? revealError(result.outcomes) ?? noMintedRowsError(plan)
      if (flags.dryRun && problem === null) io.note('Nothing was sent.')
      if (problem !== null) throw problem
      if (flags.dryRun !== true) await refresher?.refresh(connection, contractAddress, result.nftGdnIds)
    })
  } finally {
    progress.stop()
    await Promise.all([connection.client.close(), refresher?.close()])
  }
}

async function openRevealable(deps: Deps, manifest: string, flags: RevealFlags): Promise<OpenedManifest> {
  const opened = await openManifest(deps, manifest, flags, { checkRow: uncommittableProblem }).catch(
    (error: unknown) => {
      const isMissing = error instanceof GdnError && error.hint === NO_MANIFEST_HINT
      throw isMissing ? error.with({ hint: missingManifestHint(resolve(deps.cwd, manifest)) }) : error
    },
  )
  const { blockchain } = opened.options
  if (!isEvm(blockchain)) throw new GdnError('usage', `NFTs on ${blockchain} can't be revealed`)
  return opened
}

/** Checks the commitment to the rows, and draws the rows if they are shuffled. */
async function openDrop(command: RevealContext, hashed: ReadCommitment, progress: Progress): Promise<CommittedDrop> {
  const { deps, connection, opened } = command
  const { blockchain, contractAddress: contract_address } = opened.options
  const rows = withFirstCommitment(hashed, await readCommitments(deps, connection, contract_address)) ?? hashed
  await checkCommitment(command, rows)
  const { provenance } = rows.commitment
  await refuseOtherName(opened.options, provenance)
  const checkPlan = (plan: RevealPlan) => {
    const intent = { collection: { blockchain, contract_address }, manifest: { provenance } }
    deps.checkPlan?.(intent, { rows: { to_reveal: plan.pending } })
  }
  const committed = { ...command, rows, checkPlan }
  return { ...committed, draw: await drawIfShuffled(committed, progress) }
}

async function withDropPlan(
  drop: CommittedDrop,
  progress: Progress,
  use: (plan: RevealPlan) => Promise<void>,
): Promise<void> {
  const { deps, connection, opened, rows, draw } = drop
  const planned = { ...opened.options, signal: deps.signals.signal }
  const onProgress = (done: number) => progress.update(`Finding the NFTs of the rows: ${done}`)
  const reading = { client: connection.client, readManifest: opened.read, rows, drawn: draw.drawn, onProgress }
  await withRevealPlan(planned, reading, async (plan) => {
    progress.stop()
    await use(plan)
  })
}

/** Prints the rows that the plan doesn't reveal. */
function printPlan(drop: CommittedDrop, plan: RevealPlan): void {
  const { deps, rows, draw, flags } = drop
  if (rows.commitment.rule !== null) checkAbandonedRows(plan, flags.abandonRows)
  if (noMintedRowsError(plan) !== null) return
  printSkippedRows(deps, plan, hasUndrawnRows(drop))
  const missing = plan.notMinted - plan.undeployed
  if (flags.dryRun && hasUndrawnRows(drop) && draw.seal === null && missing > 0 && flags.abandonRows === undefined)
    deps.io.note(`To seal the drop without ${missing === 1 ? 'it' : 'them'}, add --abandon-rows ${missing}.`)
}

function toRevealRecord(
  { opened, rows, draw }: CommittedDrop,
  plan: RevealPlan,
  { outcomes, paid }: RevealResult,
): DataRecord {
  const { done, failed, unknown, pending } = outcomes
  return {
    run: plan.run.name,
    blockchain: opened.options.blockchain,
    contract_address: opened.options.contractAddress,
    provenance: rows.commitment.provenance,
    rows: plan.rows,
    revealed: plan.revealed + done,
    to_reveal: plan.pending - done,
    pending,
    failed: failed.count,
    unknown: unknown.count,
    not_minted: plan.notMinted,
    left: plan.left,
    seal: draw.seal,
    round: draw.round,
    round_at: draw.roundAt === null ? null : formatIsoSeconds(draw.roundAt),
    unrevealed_rows: plan.leftRows,
    unrevealed_rows_left_out: plan.notMinted + plan.left - plan.leftRows.length,
    ...paid,
  }
}

/** Draws the rows if they are shuffled. */
async function drawIfShuffled(committed: Omit<CommittedDrop, 'draw'>, progress: Progress): Promise<Draw> {
  const { deps, connection, ...revealing } = committed
  const { rule } = revealing.rows.commitment
  if (rule === null) {
    if (revealing.flags.abandonRows === undefined) return UNDRAWN_STATE
    throw flagError('--abandon-rows', 'is only for shuffled drops', 'Nothing was sent. Omit the flag.')
  }
  progress.stop()
  const { drawRows } = await import('../reveal/draw-rows.ts')
  return await drawRows(deps, connection, { ...revealing, rule })
}

const MAX_LISTED_ISSUES = 1_000

async function hashRows({ io }: Deps, { read }: OpenedManifest): Promise<ReadCommitment> {
  const progress = await io.progress('Hashing the rows and their files')
  const rows = await readCommitment(read()).finally(() => progress.stop())
  if (rows !== null) return rows
  const issues: ManifestIssue[] = []
  let issueCount = 0
  for await (const item of read()) {
    if ('issue' in item && issueCount++ < MAX_LISTED_ISSUES) issues.push(item.issue)
  }
  throwManifestErrors({ issues, issueCount }, null)
  throw editedWhileReadError('the manifest')
}

/**
 * Checks that a commitment on the chain matches the manifest.
 *
 * @throws GdnError `edited_rows`; `refused` if no commitment matches the manifest; `unreachable`
 */
async function checkCommitment(
  { deps, connection, opened, flags }: RevealContext,
  rows: ReadCommitment,
): Promise<void> {
  const { options } = opened
  const { blockchain, contractAddress: to, stateDir } = options
  const { provenance } = rows.commitment
  const { verifier, close } = await openVerifier(deps, flags, blockchain, connection.server)
  try {
    const [committed] =
      'reason' in verifier ? [] : await verifier.chain.call([{ to, data: provenanceOfCall(provenance) }])
    if (committed?.kind === 'value' && committed.data !== '0x' && BigInt(committed.data) > 0n) return
    if (committed === undefined || committed.kind === 'failed') {
      const why = 'reason' in verifier ? verifier.reason : (committed?.message ?? 'no response')
      throw new GdnError('unreachable', `the commitment of ${to} can't be read: ${why}`, {
        hint: 'Nothing was sent. Use --rpc-url <url> to read the commitment from a node of the chain.',
      })
    }
  } finally {
    await close()
  }
  const committedRun = await findCommittedRun(options)
  if (committedRun?.commitment) {
    const edits = await findRowEdits(stateDir, committedRun.commitment, rows)
    throw editedRowsError(committedRun, options.manifestPath, edits, flags)
  }
  throw new GdnError(
    'refused',
    `no commitment of the collection ${to} matches this manifest with ${count(rows.commitment.rowCount, 'row')}`,
    {
      place: { file: options.manifestPath ?? undefined },
      hint: `Nothing was sent. Use the manifest and files from the mint, with the rows in the same order. ${updateRevealedHint(options.manifestPath, flags)} To list the rows that differ, run the command on the machine that minted them.${formerFoldersText(options.manifestPath)}`,
      details: { provenance },
    },
  )
}

const MAX_LISTED_ROWS = 5

/** @param isUndrawn whether the rows of a shuffled drop aren't drawn yet, so that only its slots are known */
function printSkippedRows({ io }: Deps, plan: RevealPlan, isUndrawn: boolean): void {
  const { notMinted, undeployed, left, leftRows } = plan
  if (isUndrawn) printSlots(io, { missing: notMinted - undeployed, undeployed })
  const all = isUndrawn ? left : notMinted + left
  if (all === 0) return
  io.note(`${isUndrawn ? count(all, 'NFT') : count(all, 'row')} will not be revealed:`)
  for (const row of leftRows.slice(0, MAX_LISTED_ROWS)) io.note(`  ${formatPlace(row)}: ${safe(row.reason)}`)
  if (all > MAX_LISTED_ROWS) io.note(`  and ${all - MAX_LISTED_ROWS} more`)
}

/** Returns the line of a row. In a shuffled drop, adds the row's key. Before the draw, returns only the slot. */
function formatPlace({ line, key, slot }: SkippedRow): string {
  if (line === null) return `slot ${slot}`
  return slot === undefined || key === null ? `line ${line}` : `line ${line} (${safe(key)})`
}

function printSlots(io: Deps['io'], { missing, undeployed }: { missing: number; undeployed: number }): void {
  const are = (n: number) => (n === 1 ? 'is' : 'are')
  if (undeployed > 0) io.note(`${count(undeployed, 'NFT')} ${are(undeployed)} not deployed yet.`)
  if (missing === 0) return
  const rows = missing === 1 ? 'The row that the draw assigns to it is' : 'The rows that the draw assigns to them are'
  io.note(`${count(missing, 'slot')} ${are(missing)} not minted. ${rows} known after the reveal.`)
}

/** Returns the error for rows that were not revealed; null if all were. */
function revealError({ failed, unknown, pending, reason, held, unsent }: Outcomes): GdnError | null {
  const hint = RESUME_HINT
  const details = { failed_rows: failed.first, unknown_rows: unknown.first }
  const reasons = [...unknown.first, ...failed.first]
    .slice(0, MAX_LISTED_ROWS)
    .map(({ line, reason }) => `\n  line ${line}: ${reason}`)
    .join('')
  if (unknown.count > 0) {
    const message = `the outcome of ${count(unknown.count, 'update')} is unknown${reasons}`
    return new GdnError('unknown_outcome', message, { hint, details })
  }
  if (failed.count > 0) {
    const message = `${count(failed.count, 'row')} could not be revealed${reasons}`
    return new GdnError('batch_failed_rows', message, { hint, details })
  }
  if (pending === 0 && !unsent) return null
  const message = `${count(pending, 'update')} ${pending === 1 ? 'is' : 'are'} still pending${reasonSuffix(reason ?? held)}`
  return new GdnError(toPendingCode(reason), message, { hint, details })
}
