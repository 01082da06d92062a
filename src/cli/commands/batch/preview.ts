import { realpath } from 'node:fs/promises'
import { basename, dirname, extname } from 'node:path'
import { isSameAddress } from '../../../api/same-address.ts'
import { DuplicateRows } from '../../../batch/rows/duplicate-rows.ts'
import { openOutcomes } from '../../../batch/runs/run-rows.ts'
import { listRuns, type Run } from '../../../batch/runs/runs.ts'
import type { Settings } from '../../../config/settings.ts'
import { count } from '../../../core/count.ts'
import { HashTable } from '../../../manifest/hash-table.ts'
import { type ManifestItem, type ManifestReading, readManifest } from '../../../manifest/read.ts'
import type { InvalidRow, ManifestIssue, ManifestRow } from '../../../manifest/row.ts'
import { addTargetFlags, type BatchMintFlags, TARGET_ALIASES } from '../../batch/options/flags.ts'
import {
  MappedColumns,
  manifestOptions,
  manifestSource,
  resolveManifestPath,
  warnOfUnreadProjectFile,
  withEnsNames,
} from '../../batch/options/manifest-options.ts'
import { printDuplicates } from '../../batch/report/row-warnings.ts'
import { resolveServer } from '../../batch/runs/resolve-server.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type View } from '../../render/output.ts'
import type { CardRarity, ManifestCardOptions } from '../../sheet/manifest-card.ts'
import { addSheetFlags, openSheet, resolveOutputFile, type SheetFlags } from '../../sheet/resolve-output-file.ts'
import { SheetFile } from '../../sheet/sheet-file.ts'
import { findCollection, throwManifestErrors } from './validate.ts'

export interface PreviewFlags extends BatchMintFlags, SheetFlags {
  remoteImages?: boolean
}

const FIELDS = [
  'file',
  'rows',
  'errors',
  'receivers',
  'blockchain',
  'contract_address',
  'mapped_columns',
  'run',
  'minted',
]
// The mapped columns are already printed while the manifest is read.
const SHOWN_FIELDS = FIELDS.filter((field) => field !== 'mapped_columns')
const VIEW: View = {
  fields: FIELDS,
  columns: FIELDS,
  id: 'file',
  // The card counts only valid rows, like the page.
  card: (record) =>
    SHOWN_FIELDS.map(
      (field) => [field === 'rows' && record.errors !== 0 ? 'valid rows' : field, record[field]] as const,
    ),
}

export function command(deps: Deps, run = preview): GdnCommand {
  return new GdnCommand({
    about:
      "The command writes one HTML file that shows each row with its image, its metadata and the errors that gdn batch validate reports. It sends no rows to a server. You can open the file from disk. The page supports paging and search, and opens quickly even with 100,000 rows. The page links to local images instead of containing them, so move the page and the images together. If rows have traits, the page shows the rank and the rarest traits of each row, computed as in gdn batch rarity. The page shows images on the web as links, unless --remote-images lets the browser load them. If a run on this machine has sent a row, the page shows the row's status and token ID. If the manifest has errors, the command still writes the page, and the exit code is 2. The page replaces an earlier preview.",
    examples: [
      ['Preview a drop in the browser', 'gdn batch preview drop.csv -b polygon --open'],
      ['Write the preview to another path', 'gdn batch preview drop.csv -b polygon --to ~/Desktop/drop.html'],
    ],
    aliases: TARGET_ALIASES,
  })
    .argument('<manifest>')
    .with((own) => addSheetFlags(own, '<manifest>-preview.html'))
    .switchFlag('--remote-images', 'Let the page load images from the web')
    .with(addTargetFlags, addServerFlags, addOutputFlags)
    .action(async (manifest: string, flags: PreviewFlags) => await run(deps, manifest, flags))
}

const MAX_STORED_ISSUES = 1000

const hasImageOnTheWeb = ({ metadata }: ManifestRow) =>
  metadata.file_fields.some(({ key, url }) => key === 'image' && /^https?:/i.test(url))

const OTHER_COLLECTIONS_NOTE =
  'The manifest also has runs in other collections. To show the NFTs of another run, add --contract <address>.'

/** Returns the runs of a manifest in the collection and on the server that the flags specify, newest first. */
async function findRuns(deps: Deps, manifest: string, flags: PreviewFlags, stateDir: string): Promise<Run[]> {
  const path = await resolveManifestPath(deps, manifest)
  if (path === null) return []
  const server = await resolveServer(deps, flags)
  const { contract } = flags
  const fits = (run: Run) =>
    run.manifestPath === path &&
    (server === undefined || server.has(run)) &&
    (contract === undefined || isSameAddress(run.contractAddress, contract))
  return (await listRuns(stateDir)).filter(fits)
}

/**
 * Reads a manifest and ranks its valid rows by rarity. Returns the rarities by row number, starting at 0; null if no
 * row has a trait.
 */
async function rankRows(
  { io, signals }: Deps,
  reading: ManifestReading,
): Promise<((row: number) => CardRarity | null) | null> {
  const { MAX_RAREST_TRAITS, Rarity, traitText } = await import('../../../marketplace/rarity.ts')
  const rarity = new Rarity()
  const progress = await io.progress('Counting the traits')
  try {
    for await (const block of reading.blocks()) {
      for (const item of block) if ('row' in item) rarity.add(item.row.metadata.attribute ?? [])
      signals.signal.throwIfAborted()
    }
  } finally {
    progress.stop()
  }
  const ranking = rarity.rank()
  if (!ranking.hasScores) return null
  return (row) => {
    const rank = ranking.ranks[row]
    // The manifest may have grown since its rows were ranked.
    if (rank === undefined) return null
    return { rank, rankedRows: ranking.size, rarest: ranking.rarestTraits(row, MAX_RAREST_TRAITS).map(traitText) }
  }
}

export async function preview(deps: Deps, manifest: string, flags: PreviewFlags): Promise<void> {
  const { io } = deps
  const output = createOutput(io, flags, VIEW, { manifest })
  const name = manifest === '-' ? 'stdin' : basename(manifest)
  const { path, replace } = await resolveOutputFile(deps, `${basename(name, extname(name))}-preview.html`, {
    ...flags,
    kind: 'preview',
  })
  const settings = await deps.settings(flags)
  const mapped = new MappedColumns(io, settings)
  const reading = await openReading(deps, manifest, { flags, settings, mapped })
  // The rank of the first row depends on all rows, so the manifest is read twice. Standard input can't be read twice.
  const rarities = manifest === '-' ? null : await rankRows(deps, reading)
  const [{ rowCard, invalidRowCard }, { previewTop }, { PAGE_END }] = await Promise.all([
    import('../../sheet/manifest-card.ts'),
    import('../../sheet/preview-top.ts'),
    import('../../sheet/page.ts'),
  ])
  const folder = await realpath(dirname(path)).catch(() => dirname(path))
  const cardOptions = { place: { page: path, folder }, remoteImages: flags.remoteImages ?? false }
  const [run = null, ...olderRuns] = await findRuns(deps, manifest, flags, settings.stateDir)
  const outcomes = run === null ? null : await openOutcomes(run)
  const sheet = await SheetFile.open(path)
  const progress = await io.progress('Reading the manifest')
  const cards = new CardWriter({ sheet, renderers: { rowCard, invalidRowCard }, cardOptions, outcomes, rarities })
  try {
    for await (const block of reading.blocks()) {
      for (const item of block) await cards.add(item)
      progress.update(`Reading the manifest: ${count(cards.rows, 'row')}`)
      deps.signals.signal.throwIfAborted()
    }
    await cards.writePendingCard()
    // If the file itself can't be read, there is nothing to preview.
    if (cards.rows === 0 && cards.issues.every(({ place }) => place.line === undefined))
      throwManifestErrors(cards, null)
    const begun = run === null ? null : { name: run.name, sent: cards.sentRows, minted: cards.minted }
    const top = { name, target: reading.target, remoteImages: cardOptions.remoteImages, now: deps.now(), run: begun }
    await sheet.finish(previewTop({ ...cards.figures, ...top }), PAGE_END, replace)
  } finally {
    progress.stop()
    await Promise.all([sheet.close(), outcomes?.close()])
  }
  const { rows, minted } = cards
  const { blockchain, contractAddress } = reading.target
  await output.one({
    file: path,
    rows,
    errors: cards.issueCount,
    receivers: cards.figures.receivers,
    blockchain,
    contract_address: contractAddress,
    mapped_columns: mapped.all,
    run: run?.name ?? null,
    minted,
  })
  io.note(`Wrote ${safe(path)}`)
  if (!io.settings.machine) printDuplicates(deps, cards.duplicates, manifest)
  if (run !== null && minted > 0) io.note(`The run ${safe(run.name)} has minted ${minted} of ${count(rows, 'row')}.`)
  const isOtherCollection = (other: Run) => !isSameAddress(other.contractAddress, run?.contractAddress ?? '')
  if (olderRuns.some(isOtherCollection)) io.note(OTHER_COLLECTIONS_NOTE)
  if (flags.open) await openSheet(deps, path)
  throwManifestErrors(cards, null)
}

async function openReading(
  deps: Deps,
  manifest: string,
  { flags, settings, mapped }: { flags: PreviewFlags; settings: Settings; mapped: MappedColumns },
): Promise<ManifestReading> {
  await warnOfUnreadProjectFile(deps, manifest, settings)
  const manifestFlags = manifestOptions(deps, flags, settings)
  const blockchain =
    manifestFlags.blockchain ?? settings.blockchain?.value ?? (await findCollection(deps, settings))?.blockchain
  const options = withEnsNames(deps, settings, flags, manifestFlags)
  return readManifest(manifestSource(deps, manifest), {
    ...options,
    blockchain: blockchain ?? null,
    onMapped: mapped.add,
  })
}

interface CardWriterDeps {
  sheet: SheetFile
  renderers: Pick<typeof import('../../sheet/manifest-card.ts'), 'rowCard' | 'invalidRowCard'>
  cardOptions: ManifestCardOptions
  /** The outcomes of the run's rows; null if there is no run. */
  outcomes: Awaited<ReturnType<typeof openOutcomes>> | null
  rarities: ((row: number) => CardRarity | null) | null
}

/** Writes a card for each row of a manifest, and counts the rows. */
class CardWriter {
  readonly duplicates = new DuplicateRows()
  readonly issues: ManifestIssue[] = []
  rows = 0
  issueCount = 0
  sentRows = 0
  minted = 0
  readonly #deps: CardWriterDeps
  readonly #receivers = new HashTable()
  #onlineImages = 0
  #invalidRows = 0
  /** Errors of the current row, which arrive one at a time. */
  #currentErrors: { issues: ManifestIssue[]; invalidRow: InvalidRow | undefined } | null = null

  constructor(deps: CardWriterDeps) {
    this.#deps = deps
  }

  get figures() {
    const { rows, issues, issueCount } = this
    const counts = { receivers: this.#receivers.size, duplicates: this.duplicates.count }
    return { rows, invalidRows: this.#invalidRows, issues, issueCount, ...counts, onTheWeb: this.#onlineImages }
  }

  async add(item: ManifestItem): Promise<void> {
    await ('row' in item ? this.#addRow(item.row) : this.#addIssue(item))
  }

  async #addRow(row: ManifestRow): Promise<void> {
    const { sheet, renderers, cardOptions, outcomes, rarities } = this.#deps
    await this.writePendingCard()
    this.rows++
    // The user permitted the duplicates of an existing run when the run was started.
    if (outcomes === null) this.duplicates.add(row)
    if (hasImageOnTheWeb(row)) this.#onlineImages++
    this.#receivers.getOrAdd(row.receiver.toLowerCase(), 0)
    const outcome = outcomes === null ? null : await outcomes.findResult(row)
    if (outcome !== null && outcome.status !== 'pending') this.sentRows++
    if (outcome?.status === 'deployed') this.minted++
    await sheet.writeCard(renderers.rowCard(row, cardOptions, outcome, rarities?.(this.rows - 1)))
  }

  async #addIssue({ issue, invalidRow }: Extract<ManifestItem, { issue: unknown }>): Promise<void> {
    this.issueCount++
    if (this.issues.length < MAX_STORED_ISSUES) this.issues.push(issue)
    const current = this.#currentErrors
    const isSame =
      current !== null && current.invalidRow === invalidRow && current.issues[0]?.place.line === issue.place.line
    if (!isSame) await this.writePendingCard()
    this.#currentErrors ??= { issues: [], invalidRow }
    this.#currentErrors.issues.push(issue)
  }

  /** Writes the card of the current row, if it has errors. */
  async writePendingCard(): Promise<void> {
    if (this.#currentErrors === null) return
    const { issues, invalidRow } = this.#currentErrors
    if (invalidRow !== undefined) this.#invalidRows++
    await this.#deps.sheet.writeCard(this.#deps.renderers.invalidRowCard(issues, invalidRow, this.#deps.cardOptions))
    this.#currentErrors = null
  }
}
