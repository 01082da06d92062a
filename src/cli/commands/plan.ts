import { resolve } from 'node:path'
import { DuplicateRows } from '../../batch/rows/duplicate-rows.ts'
import { count } from '../../core/count.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { EXIT } from '../../core/exit-codes.ts'
import { NOTHING_SENT_HINT, withNothingSent } from '../../core/nothing-sent.ts'
import { shellWord } from '../../core/shell-word.ts'
import { LocalContents } from '../../files/local-content.ts'
import { NOT_COMMITTED_REASON, NOT_REVEALED_REASON } from '../../plan/compare.ts'
import {
  OTHER_RUN_UNREVEALED_REASON,
  UNREVEALED_MINT_REASON,
  UNREVEALED_RETRY_REASON,
} from '../../plan/mint-changes.ts'
import { refuseOtherFile, savePlan } from '../../plan/plan-file.ts'
import type { ChangePlan, PlannedChange } from '../../plan/planned.ts'
import { describeDropState } from '../../reveal/drop-state.ts'
import { type OpenedManifest, openManifest } from '../batch/mint-manifest.ts'
import { addDuplicatesFlag, TARGET_ALIASES } from '../batch/options/flags.ts'
import { formatPlanFlags, formatServerFlags } from '../batch/options/format-flags.ts'
import { duplicateWarnings, printWarningsBriefly } from '../batch/report/row-warnings.ts'
import { formatBeaconFlag } from '../batch/reveal/next-reveal.ts'
import { GdnCommand } from '../command.ts'
import { refuseAboveLimit } from '../cost/run-limit.ts'
import type { Connection, Deps, QuoteSpending } from '../deps.ts'
import { addOutputFlags, addServerFlags, notEmpty, type OutputMode } from '../flags/common.ts'
import { safe } from '../io/io.ts'
import { checkPlanMaxSupply } from '../plan/check-plan-max-supply.ts'
import { collectImpossibleChanges, type ImpossibleChanges } from '../plan/impossible-changes.ts'
import { addPlanFlags, type PlanFlags as OpenFlags, openPlan, type PlanSource } from '../plan/open-plan.ts'
import { planMarkdown } from '../plan/plan-markdown.ts'
import { estimatePlanReservation, estimateTypicalPlanUse } from '../plan/plan-use.ts'
import {
  firstChanges,
  formatOnlyMintCommand,
  noteRecord,
  PLAN_VIEW,
  pendingCount,
  pendingPairs,
  planLines,
  planRecord,
  printPlanNotes,
} from '../plan/plan-view.ts'
import { createOutput, type DataRecord, type Output } from '../render/output.ts'
import { withDraw } from '../reveal/with-draw.ts'

export interface PlanFlags extends Omit<OpenFlags, 'output'> {
  output?: OpenFlags['output'] | 'markdown'
  detailedExitCode?: boolean
  prune?: boolean
  out?: string
}

export function command(deps: Deps, run = plan): GdnCommand {
  return new GdnCommand({
    about:
      "The command compares each row with its NFT. It finds the NFT by the ID of the row, or else by the row's content. It prints the mints, updates and transfers that gdn apply would make, the changes that were made outside the manifest, and the changes that are impossible. It sends nothing. With -o markdown, it prints a comment for a pull request. If the server can update NFTs, the command compares local files by content.",
    examples: [
      ['Show the differences', 'gdn plan drop.csv -c 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811 -b polygon'],
      ['Exit with code 10 if there are changes', 'gdn plan drop.csv --detailed-exit-code --quiet'],
      ['Save the plan, and apply exactly this plan', 'gdn plan drop.csv --out plan.json && gdn apply plan.json'],
      ['Write a comment for a pull request', 'gdn plan drop.csv -o markdown > plan.md'],
    ],
    aliases: TARGET_ALIASES,
  })
    .argument('<manifest>')
    .with(addPlanFlags)
    .switchFlag('--prune', 'Burn NFTs of this run whose rows are no longer in the manifest')
    .with(addDuplicatesFlag)
    .switchFlag('--detailed-exit-code', 'Exit with code 10 if there are changes, including impossible ones')
    .valueFlag('--out <file>', 'Save the plan for `gdn apply`', notEmpty)
    .with(addServerFlags, (own) => addOutputFlags(own, ['markdown'], (file) => `To save the plan, use --out ${file}.`))
    .action(async (manifest: string, flags: PlanFlags) => {
      await run(deps, manifest, flags).catch((error: unknown) => {
        throw withNothingSent(error, NOTHING_SENT_HINT)
      })
    })
}

export async function plan(deps: Deps, manifest: string, { output: mode, ...flags }: PlanFlags): Promise<void> {
  const isMarkdown = mode === 'markdown'
  if (isMarkdown && flags.json) {
    throw new GdnError('usage', '--json and --output markdown contradict each other', { hint: 'Use one of them.' })
  }
  const outputFlags = isMarkdown || mode === undefined ? flags : { ...flags, output: mode }
  const output = createOutput(deps.io, outputFlags, PLAN_VIEW, { manifest })
  const saveAs = flags.out === undefined ? null : resolve(deps.cwd, flags.out)
  if (saveAs !== null) await refuseOtherFile(saveAs)
  const opened = await openManifest(deps, manifest, flags)
  const source: Source = { ...opened, contents: new LocalContents(deps.signals.signal), prune: flags.prune === true }
  let duplicates = new DuplicateRows()
  const manifestRows: Source = {
    ...source,
    async *read() {
      duplicates = new DuplicateRows()
      for await (const item of opened.read()) {
        if ('row' in item) duplicates.add(item.row)
        yield item
      }
    },
  }
  const connection = await deps.connect(source.settings, 'bulk')
  try {
    const drawn = await withDraw(deps, connection, manifestRows, flags)
    if ((drawn.drawn != null || drawn.sealed != null) && saveAs !== null) throw unsavablePlanError(flags.prune === true)
    const planning = { deps, connection, manifest, flags, source, drawn }
    await openPlan(deps, connection, drawn, { takeOver: flags.takeOver === true }, async (changePlan) => {
      const pending = pendingCount(changePlan.counts)
      if (pending > 0) {
        await quotePlan(planning, changePlan)
        printWarningsBriefly(deps, [...drawn.warnings.all, ...duplicateWarnings(drawn.warnings.file, duplicates)])
      }
      await printPlan(planning, changePlan, isMarkdown ? null : output)
      // Don't save a plan if `apply` would refuse its edited rows.
      if (changePlan.counts.mint > 0) await changePlan.refuseEdited()
      await checkPlanMaxSupply(deps, connection, drawn, changePlan)
      if (saveAs !== null) await save(planning, changePlan, saveAs)
      if (flags.detailedExitCode && pendingCount(changePlan.counts) + pendingPairs(changePlan) > 0)
        deps.setExitCode(EXIT.changesPending)
    })
  } finally {
    await connection.client.close()
  }
}

type Source = PlanSource & OpenedManifest & { prune: boolean }

/** State that the steps of the command share. */
interface PlanContext {
  deps: Deps
  connection: Connection
  manifest: string
  flags: Omit<PlanFlags, 'output'>
  source: Source
  /** The source with the contents that were drawn for the rows of a shuffled drop. */
  drawn: Source
}

/**
 * Prints the changes, the notes on them and the next steps.
 *
 * @param output null for Markdown
 */
async function printPlan(planning: PlanContext, changePlan: ChangePlan, output: Output | null): Promise<void> {
  const { manifest, flags } = planning
  const { io } = planning.deps
  const isList = output?.mode === 'table'
  // Without a terminal, the list includes all changes.
  const isBrief = isList && io.stdoutTty
  const isForPeople = isBrief && flags.fields === undefined
  const all = await collectImpossibleChanges(changePlan)
  // If the user selects columns, the table has one row for each change.
  const obstacles = isList && !isForPeople ? { ...all, folded: new Map() } : all
  if (output === null) await io.data(await planMarkdown(manifest, changePlan, obstacles))
  else if (isForPeople) {
    const lines = await planLines(changePlan, obstacles, { columns: io.columns, paint: io.outPaint })
    await io.print(lines.map((line) => `${line}\n`).join(''))
  } else if (isList) {
    const changes = isBrief ? firstChanges(changePlan, obstacles) : changePlan.changes()
    await output.many(toRecords(filterHidden(shownChanges(changes), flags)))
  } else await output.many(toRecords(changePlan.changes(), canListNotes(output.mode) ? changePlan.notes : []))
  if (isList) await noteHidden(planning, changePlan, all)
  const allText = isBrief ? 'Add `-o ndjson` to print all changes.' : null
  const apply = `gdn apply ${shellWord(safe(manifest))}${formatPlanFlags(flags)}`
  printPlanNotes(io, changePlan, obstacles, {
    allText,
    onlyMint: formatOnlyMintCommand(apply, changePlan, flags.newRows),
  })
}

/** Prints the number of unrevealed NFTs, and how to reveal them. */
async function noteHidden(planning: PlanContext, { counts }: ChangePlan, { all }: ImpossibleChanges): Promise<void> {
  const { deps, connection, manifest, flags, source, drawn } = planning
  const { io } = deps
  const countOf = (wantedReason: string) => all.find(({ reason }) => reason === wantedReason)?.count ?? 0
  const hidden = countOf(NOT_REVEALED_REASON) + countOf(NOT_COMMITTED_REASON)
  if (hidden === 0) return
  const revealCommand = `gdn reveal ${shellWord(safe(manifest))}${formatPlanFlags(flags)}`
  const state = drawn.sealed?.state ?? null
  if (state !== null) io.note(`${describeDropState(state, deps.now())}.`)
  // If a sent row is missing from the manifest, its ID has changed.
  const isKnown = countOf(NOT_COMMITTED_REASON) + countOf(OTHER_RUN_UNREVEALED_REASON) + counts.vanished > 0
  const isIncomplete = countOf(UNREVEALED_MINT_REASON) + countOf(UNREVEALED_RETRY_REASON) + counts.abandoned > 0
  const { isEditedSince } = await import('../reveal/find-draw.ts')
  const isEdited = isKnown || (await isEditedSince(deps, connection, source, isIncomplete))
  const instruction = isEdited
    ? 'To reveal the drop, first restore the edited rows'
    : `To reveal ${hidden === 1 ? 'it' : 'them'}`
  io.note(
    `${count(hidden, 'NFT')} ${hidden === 1 ? 'is' : 'are'} not revealed yet. ${instruction}: ${revealCommand}${state === null ? '' : formatBeaconFlag(state)}`,
  )
}

async function save({ deps, flags, drawn }: PlanContext, changePlan: ChangePlan, path: string): Promise<void> {
  const allowDuplicates = flags.allowDuplicates === true
  await savePlan(path, changePlan, { ...drawn, takeOver: flags.takeOver === true, allowDuplicates })
  const applyCommand = `gdn apply ${shellWord(safe(flags.out ?? ''))}${formatServerFlags(flags)}`
  const asks = !allowDuplicates && changePlan.counts.mint > 0 && (await changePlan.duplicates()).count > 0
  deps.io.note(savedText(changePlan, `${applyCommand}${asks ? ' --allow-duplicates' : ''}`))
}

const unsavablePlanError = (prunes: boolean) =>
  flagError(
    '--out',
    "the plan of a shuffled drop can't be saved, because a saved plan doesn't contain the draw",
    `Nothing was saved. Run \`gdn apply\` with the manifest. The command shows the plan before it prompts.${prunes ? ' To burn an NFT without a row, run `gdn nft burn <nft_gdn_id>`.' : ''}`,
  )

/** Reports the cost of a plan. If the plan includes mints, `apply` limits the cost in the same way as `batch mint`. */
async function quotePlan({ deps, connection, drawn }: PlanContext, plan: ChangePlan): Promise<void> {
  if (deps.quote === null) return
  const { blockchain } = drawn.options
  const { counts, run } = plan
  const storedMaxCost = run.maxCost === null ? null : { wei: run.maxCost, isSet: false }
  const minting = { id: run.id, isOperation: false, canLimit: true, accepted: 0, maxCost: storedMaxCost }
  const nfts = { kind: 'nft', count: pendingCount(counts), run: counts.mint > 0 ? minting : null } as const
  const refuseAbove: Parameters<QuoteSpending>[2] = async ({ commandLimit, only }) => {
    const limited = { blockchain, run: run.id, commandLimit, storedLimit: run.maxCost }
    await refuseAboveLimit(deps, connection, { ...limited, reserved: () => estimatePlanReservation(plan, { only }) })
  }
  await deps.quote({ connection, blockchain, ...nfts }, () => estimateTypicalPlanUse(plan), refuseAbove)
}

/** Returns the next step for a saved plan. `apply` refuses a plan with an impossible change. */
function savedText({ counts: { impossible, mint, burn }, otherEdition }: ChangePlan, applyCommand: string): string {
  if (impossible === 0) {
    const inScript = burn === 0 ? '' : `\nIn a script, add --yes --max-burns ${burn}.`
    return `The plan is saved. To apply exactly this plan: ${applyCommand}${inScript}`
  }
  const refused = 'The plan is saved, but gdn apply refuses it because a change is impossible.'
  return mint === 0 || otherEdition !== null
    ? refused
    : `${refused} To mint only its new rows: ${applyCommand} --only mint`
}

/**
 * Omits NFTs that differ only because they aren't revealed yet, unless the user selects columns. A note contains their
 * number.
 */
async function* filterHidden(
  changes: AsyncIterable<PlannedChange>,
  { fields }: Pick<PlanFlags, 'fields'>,
): AsyncGenerator<PlannedChange> {
  for await (const change of changes) if (fields !== undefined || change.reason !== NOT_REVEALED_REASON) yield change
}

/** Yields changes with their fields formatted for display. */
async function* shownChanges(changes: AsyncIterable<PlannedChange>): AsyncGenerator<PlannedChange> {
  for await (const change of changes) yield { ...change, fields: change.shown ?? change.fields }
}

const canListNotes = (mode: OutputMode): boolean => mode === 'json' || mode === 'ndjson'

async function* toRecords(
  changes: AsyncIterable<PlannedChange>,
  notes: readonly string[] = [],
): AsyncGenerator<DataRecord> {
  for await (const change of changes) yield planRecord(change)
  for (const note of notes) yield noteRecord(note)
}
