import { addressProblem } from '../../../api/address.ts'
import type { Blockchain } from '../../../api/blockchains.ts'
import { DuplicateRows, namedTwiceIssue } from '../../../batch/rows/duplicate-rows.ts'
import { openRun, runStatus } from '../../../batch/runs/runs.ts'
import type { RunStatus } from '../../../batch/types.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { count } from '../../../core/count.ts'
import { GdnError } from '../../../core/errors.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { withTimeout } from '../../../core/with-timeout.ts'
import { issuesError } from '../../../manifest/manifest-error.ts'
import { type ManifestOptions, type ManifestSummary, validateManifest } from '../../../manifest/read.ts'
import type { ManifestIssue } from '../../../manifest/row.ts'
import { RowWarnings } from '../../../manifest/row-warnings.ts'
import { MARKETPLACES, type Marketplace } from '../../../marketplace/rules.ts'
import { checkFiles, type FileCheck, FileUrls, printWarnings } from '../../batch/check-files.ts'
import {
  addCheckFlag,
  addShuffleFlags,
  addTargetFlags,
  addUnrevealedFlag,
  type BatchMintFlags,
  TARGET_ALIASES,
} from '../../batch/options/flags.ts'
import {
  addRunSelection,
  formatManifestFlags,
  formatPlanFlags,
  formatUnrevealedFlags,
} from '../../batch/options/format-flags.ts'
import {
  MappedColumns,
  manifestOptions,
  manifestSource,
  resolveManifestPath,
  warnOfUnreadProjectFile,
  withEnsNames,
} from '../../batch/options/manifest-options.ts'
import { duplicateWarnings } from '../../batch/report/row-warnings.ts'
import { checkShuffleFlags } from '../../batch/reveal/shuffled.ts'
import { addRunServerFlag, configuredServer } from '../../batch/runs/resolve-server.ts'
import { RowsOnServer } from '../../batch/runs/rows-on-server.ts'
import { GdnCommand, wrongAddressError } from '../../command.ts'
import { type ResolvedCollection, resolveCollection } from '../../connect/resolve-collection.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, oneOf } from '../../flags/common.ts'
import { createPreview } from '../../image/preview.ts'
import { safe } from '../../io/io.ts'
import { createOutput, type View } from '../../render/output.ts'
import { type MarketplaceCheck, openMarketplaceCheck } from './marketplace-check.ts'

const VIEW: View = {
  fields: [
    'valid',
    'rows',
    'issue_count',
    'receivers',
    'files',
    'blockchain',
    'contract_address',
    'mapped_columns',
    'checked_files',
    'rows_on_server',
    'warnings',
    'findings',
    'hints',
  ],
  columns: ['valid', 'rows', 'issue_count', 'receivers', 'files'],
  id: 'valid',
  // The warnings and mapped columns are printed before the card.
  card: ({ mapped_columns: _mapped, warnings, findings, hints: _hints, ...record }) => [
    ...Object.entries(record),
    ['warnings', (warnings as readonly unknown[]).length],
    ...(findings === undefined ? [] : [['findings', (findings as readonly unknown[]).length] as const]),
  ],
}

export interface ValidateFlags extends BatchMintFlags {
  preview?: boolean
  for?: Marketplace
}

export function command(deps: Deps, run = validate): GdnCommand {
  return new GdnCommand({
    about:
      'The command checks every row, field and local file, and reports errors and warnings with their line and column. With --json, it lists up to 1,000 errors. The exit code is 2 if there is an error. With --check-files, the command also requests every file URL and applies the file rules of a gdn backend. The command reports a problem that may be temporary, such as an unavailable server, as a warning. With --preview, the command draws the local images of the first rows in a terminal. To choose how gdn draws them, set GDN_IMAGES to kitty, iterm, sixel, blocks or off. To see all images in a browser, use gdn batch preview. If a server and a collection with a maximum supply are selected, the command warns of rows that exceed the remaining supply. The command also counts the rows that the server already has, for example because another machine minted them.\nWith --for, the command also checks the rules of a marketplace. For each finding, it prints the row, the column, the rule and the source of the rule. If a collection is selected, the command checks its image, banner and description.',
    examples: [
      ['Validate a manifest', 'gdn batch validate drop.csv -b polygon'],
      ['Also check the file URLs', 'gdn batch validate drop.csv -b polygon --check-files'],
      ['Check a manifest against the rules of OpenSea', 'gdn batch validate drop.csv -b polygon --for opensea'],
      ['Show the first images', 'gdn batch validate drop.csv -b polygon --preview'],
      ['Validate a manifest from standard input', 'make-rows | gdn batch validate - -b polygon --json'],
    ],
    aliases: TARGET_ALIASES,
  })
    .argument('<manifest>')
    .with(
      addTargetFlags,
      addCheckFlag,
      (own) => addUnrevealedFlag(own, 'Also check the placeholder, and apply the rules for unrevealed drops'),
      addShuffleFlags,
    )
    .valueFlag('--for <marketplace>', 'Check the rules of a marketplace', oneOf(MARKETPLACES))
    .switchFlag('--preview', 'Draw the images of the first rows (terminal only)')
    .with(addServerFlags, addOutputFlags)
    .action(async (manifest: string, flags: ValidateFlags) => await run(deps, manifest, flags))
}

export async function validate(deps: Deps, manifest: string, flags: ValidateFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW, { manifest })
  const { unrevealed } = flags
  const drop = unrevealed === undefined ? null : await import('../../batch/reveal/unrevealed.ts')
  drop?.refuseStandardInput(manifest)
  checkShuffleFlags(flags)
  const settings = await deps.settings(flags)
  refuseContract(settings.contract, null)
  await warnOfUnreadProjectFile(deps, manifest, settings)
  const validation = { deps, manifest, flags, settings }
  const options = { ...(await resolveReadingOptions(validation)), checkRow: drop?.checkUncommittable(flags) }
  const checks = await openChecks(validation)
  const { mapped, urls, rowWarnings, duplicates, marketplaceCheck } = checks
  const preview = flags.preview && output.mode === 'table' ? createPreview(deps) : null
  const validated = await validateManifest(manifestSource(deps, manifest), withChecks(options, checks), preview?.add)
  await preview?.draw()
  const check = urls === null ? null : await checkFiles(deps, urls, await findServer(settings))
  const { rows, receivers, files, target } = validated
  const contractAddress = target.contractAddress ?? settings.contract?.value ?? null
  const sent = await findEarlierRun(validation, checks, { ...validated, contractAddress })
  const warnings = [
    ...rowWarnings.all,
    ...duplicateWarnings(rowWarnings.file, duplicates),
    ...sent.warnings,
    ...(check?.warnings ?? []),
  ]
  printWarnings(deps.io, { warnings })
  const namedTwice = duplicates.namedTwice.map((pair) => namedTwiceIssue(rowWarnings.file, pair))
  const findings = (await marketplaceCheck?.finish()) ?? null
  throwManifestErrors(validated, {
    errors: [...namedTwice, ...(check?.errors ?? []), ...(findings?.errors ?? [])],
    warnings: [...warnings, ...(findings?.warnings ?? [])],
  })
  if (unrevealed !== undefined && target.blockchain !== null) {
    await drop?.openPlaceholder(deps, unrevealed, target.blockchain)
  }
  if (target.contractAddress === null) refuseContract(settings.contract, target.blockchain)
  await output.one({
    valid: true,
    rows,
    issue_count: 0,
    receivers,
    files,
    blockchain: target.blockchain,
    contract_address: contractAddress,
    mapped_columns: mapped.all,
    ...(check === null ? {} : { checked_files: check.checked }),
    ...(sent.rows === null ? {} : { rows_on_server: sent.rows }),
    warnings,
    ...findings?.fields,
  })
  const summary = `${count(rows, 'row')} for ${count(receivers, 'receiver')}: no errors.`
  if (manifest === '-') return deps.io.note(summary)
  const collection = contractAddress ?? sent.run?.contractAddress ?? null
  const { text, isComplete } = await nextStep(validation, rows, sent)
  const missing = isComplete ? [] : await missingFlags(deps, settings, collection, target.blockchain)
  deps.io.note([`${summary} ${text}`, ...missing].join('\n'))
}

/** State that the steps of the command share. */
interface Validation {
  deps: Deps
  manifest: string
  flags: ValidateFlags
  settings: Settings
}

async function resolveReadingOptions({ deps, flags, settings }: Validation): Promise<ManifestOptions> {
  const manifestFlags = manifestOptions(deps, { ...flags, dynamic: flags.unrevealed !== undefined }, settings)
  const blockchain =
    manifestFlags.blockchain ?? settings.blockchain?.value ?? (await findCollection(deps, settings))?.blockchain ?? null
  return { ...withEnsNames(deps, settings, flags, manifestFlags), blockchain }
}

/** Data that the command collects while it reads the rows. */
interface Checks {
  mapped: MappedColumns
  urls: FileUrls | null
  rowWarnings: RowWarnings
  duplicates: DuplicateRows
  /** Looks up the rows on the server; null if this isn't possible. */
  rowsOnServer: RowsOnServer | null
  marketplaceCheck: MarketplaceCheck | null
}

async function openChecks({ deps, manifest, flags, settings }: Validation): Promise<Checks> {
  const rowWarnings = new RowWarnings(manifest === '-' ? 'stdin' : manifest, {
    forMarketplace: flags.for !== undefined,
  })
  const path = flags.unrevealed === undefined ? await resolveManifestPath(deps, manifest) : null
  return {
    mapped: new MappedColumns(deps.io, settings),
    urls: flags.checkFiles === true ? new FileUrls() : null,
    rowWarnings,
    duplicates: new DuplicateRows(),
    rowsOnServer: path === null || !(await isServerNamed(settings)) ? null : new RowsOnServer(path),
    marketplaceCheck: await openMarketplaceCheck(deps, settings, flags.for, rowWarnings.file),
  }
}

/** Adds the checks to the options for reading the manifest. */
function withChecks(
  options: ManifestOptions,
  { mapped, urls, rowWarnings, duplicates, rowsOnServer, marketplaceCheck }: Checks,
): ManifestOptions {
  const { onRow, onInvalidRow, ...onWarning } = rowWarnings.begin()
  return {
    ...options,
    ...onWarning,
    onMapped: mapped.add,
    onFileUrl: urls?.begin(),
    onRow(row, columns) {
      onRow(row, columns)
      duplicates.add(row)
      rowsOnServer?.add(row)
      marketplaceCheck?.add(row, columns)
    },
    onInvalidRow() {
      onInvalidRow()
      marketplaceCheck?.skip()
    },
  }
}

/** The manifest's earlier run, and its rows that the server already has. */
interface EarlierRun extends FoundOnServer {
  /** The run on the selected server and in the collection; null if there is none. */
  run: RunStatus | null
}

async function findEarlierRun(
  validation: Validation,
  { rowWarnings: { file }, rowsOnServer }: Checks,
  { rows, issueCount, contractAddress, target }: ManifestSummary & { contractAddress: string | null },
): Promise<EarlierRun> {
  const { deps, manifest, settings } = validation
  const run =
    manifest === '-' || issueCount > 0 ? null : await findRunOfManifest(validation, contractAddress ?? undefined)
  const collection = issueCount > 0 ? null : { contractAddress, blockchain: target.blockchain }
  const counts = { file, rows, sent: sentRows(run), onServer: rowsOnServer }
  return { run, ...(await checkServerAndSupply(deps, settings, collection, counts)) }
}

interface NextStep {
  /** The next step, as a sentence. */
  text: string
  /** Whether the command selects the server and the collection. */
  isComplete: boolean
}

/** Returns the next step for a valid manifest. */
async function nextStep({ deps, manifest, flags }: Validation, rows: number, sent: EarlierRun): Promise<NextStep> {
  const args = `${shellWord(safe(manifest))}${formatManifestFlags(flags)}`
  const { run } = sent
  const elsewhere = sent.rows !== null && sent.rows > sentRows(run) ? sent.rows : 0
  const step = (text: string): NextStep => ({ text, isComplete: false })
  if (elsewhere > 0)
    return step(
      `The server already has ${elsewhere === rows ? 'all rows' : `${elsewhere} of the rows`}. ${elsewhere === 1 ? 'This row was' : 'These rows were'} minted on another machine or with another state directory. To show the differences: gdn plan ${args}`,
    )
  if (run === null || !isMinted(run))
    return step(`To preview the mint: gdn batch mint ${args}${formatUnrevealedFlags(flags)} --dry-run`)
  const select = formatPlanFlags(addRunSelection(run, await addRunServerFlag(deps, run, flags)))
  const plan = `gdn plan ${shellWord(safe(manifest))}${select}`
  return {
    text: `The run ${safe(run.name)} has minted this manifest. To show the differences: ${plan}`,
    isComplete: true,
  }
}

/** Returns the manifest's run on the selected server and in the collection; null if there is none. */
async function findRunOfManifest(
  { deps, manifest, settings }: Validation,
  collection: string | undefined,
): Promise<RunStatus | null> {
  const { stateDir } = settings
  try {
    const server = (await isServerNamed(settings)) ? await configuredServer(deps, settings) : undefined
    const limits = { server, collection, cwd: deps.cwd }
    return await runStatus(await openRun(stateDir, manifest, limits))
  } catch (error) {
    // Validation works without the run, so ignore the error.
    if (error instanceof GdnError) return null
    throw error
  }
}

/** Returns whether a run has minted every row. */
const isMinted = ({ counts: { pending, accepted, unknown, failed } }: RunStatus): boolean =>
  pending + accepted + unknown + failed === 0

/** Returns the number of a run's rows that are, or may be, in the supply. */
function sentRows(run: RunStatus | null): number {
  if (run === null) return 0
  const { accepted, unknown, deployed } = run.counts
  return accepted + unknown + deployed
}

/**
 * Maximum time to wait for a server, in milliseconds. The time is short, because a manifest can be validated without a
 * server.
 */
const SERVER_TIMEOUT_MS = 5000

interface ValidationCounts {
  file: string
  /** Number of rows of the manifest. */
  rows: number
  /** Number of rows that this machine has sent and that didn't fail. */
  sent: number
  /** Looks up the rows on the server; null if this isn't possible. */
  onServer: RowsOnServer | null
}

interface FoundOnServer {
  /** Number of rows that the server already has; null if unknown. */
  rows: number | null
  warnings: ManifestIssue[]
}

/**
 * Counts the rows that the server already has, and warns if the other rows exceed the maximum supply of the selected
 * collection. Returns nothing if no collection or server is selected, or if the server doesn't respond.
 */
async function checkServerAndSupply(
  deps: Deps,
  settings: Settings,
  collection: { contractAddress: string | null; blockchain: Blockchain | null } | null,
  { file, rows, sent, onServer }: ValidationCounts,
): Promise<FoundOnServer> {
  const { contractAddress = null, blockchain = null } = collection ?? {}
  const result: FoundOnServer = { rows: null, warnings: [] }
  if (contractAddress === null || blockchain === null || rows <= sent || !(await isServerNamed(settings))) return result
  const { signal } = deps.signals
  try {
    const { client } = await deps.connect(settings)
    const { findMaxSupplyProblem, MAX_SUPPLY_HINT } = await import('../../../batch/supply.ts')
    const target = { contractAddress, blockchain, manifestPath: null, signal }
    result.rows = onServer === null ? null : await withTimeout(onServer.count(client, target), SERVER_TIMEOUT_MS)
    const problem = await withTimeout(
      findMaxSupplyProblem(client, target, rows - Math.max(sent, result.rows ?? 0)),
      SERVER_TIMEOUT_MS,
    )
    if (problem !== null) result.warnings.push({ place: { file }, message: problem, hint: MAX_SUPPLY_HINT })
  } catch (error) {
    if (!(error instanceof GdnError) || signal.aborted) throw error
  }
  return result
}

/** Lists the flags and settings that minting still needs. Validation itself needs neither a server nor a collection. */
async function missingFlags(
  deps: Deps,
  settings: Settings,
  contract: string | null,
  blockchain: Blockchain | null,
): Promise<string[]> {
  const hasServer = await isServerNamed(settings)
  const targetSettings = {
    ...settings,
    blockchain: blockchain === null ? settings.blockchain : { value: blockchain, from: '' },
  }
  const hasCollection = contract !== null || (await findCollection(deps, targetSettings)) !== null
  return [
    ...(!hasServer ? ['Also select a server with --local, --base-url <url>, or a profile (`gdn init`).'] : []),
    ...(hasCollection
      ? []
      : ['Also select a collection with -c <address>. Run `gdn collection create` to create one.']),
  ]
}

/**
 * Rejects an invalid address in the flag or the configuration. An address in a column is checked with its row.
 *
 * @param blockchain null if unknown. If so, only EVM addresses can be checked.
 */
function refuseContract(contract: Settings['contract'], blockchain: Blockchain | null): void {
  if (contract === null) return
  const { value, from } = contract
  if (blockchain === null && !/^0x[0-9a-f]+$/i.test(value)) return
  const problem = addressProblem(value, blockchain ?? 'polygon')
  if (problem !== null) throw wrongAddressError(value, problem, from)
}

/** If rows or files have problems, throws one error with the first problems and the number of all problems. */
export function throwManifestErrors(
  summary: Pick<ManifestSummary, 'issues' | 'issueCount'>,
  check: Pick<FileCheck, 'errors' | 'warnings'> | null,
): void {
  const issues = [...summary.issues, ...(check?.errors ?? [])]
  const issueCount = summary.issueCount + (check?.errors.length ?? 0)
  if (issueCount === 0) return
  throw issuesError('invalid_manifest', issues, issueCount, check === null ? {} : { warnings: check.warnings })
}

/**
 * Returns the specified collection, or else the only collection that this machine created. Returns null if there are
 * none or several, or if no server is specified.
 */
export async function findCollection(deps: Deps, settings: Settings): Promise<ResolvedCollection | null> {
  try {
    return await resolveCollection(deps, settings, await settings.server())
  } catch {
    return null
  }
}

/**
 * Returns the server that will fetch the files; null if unknown. Files can be checked without a server, but private
 * addresses are allowed only if the server is on this machine.
 */
async function findServer(settings: Settings): Promise<Server | null> {
  try {
    return await settings.server()
  } catch {
    return null
  }
}

/** Returns whether a server is specified, even if it is unreachable. */
async function isServerNamed(settings: Settings): Promise<boolean> {
  try {
    await settings.server()
    return true
  } catch (error) {
    return !(error instanceof GdnError && error.code === 'usage')
  }
}
