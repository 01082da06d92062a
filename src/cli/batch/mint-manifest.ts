import { access, constants, realpath } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { isRevealedHere, listRuns } from '../../batch/runs/runs.ts'
import type { BatchOptions } from '../../batch/types.ts'
import type { Server } from '../../config/server.ts'
import type { Settings } from '../../config/settings.ts'
import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { NOTHING_SENT_HINT, withNothingSent } from '../../core/nothing-sent.ts'
import { shellWord } from '../../core/shell-word.ts'
import type { ManifestItem, ManifestOptions } from '../../manifest/read.ts'
import { readManifest } from '../../manifest/read.ts'
import { RowWarnings } from '../../manifest/row-warnings.ts'
import { NO_MANIFEST_HINT } from '../../manifest/source.ts'
import { runOrigin } from '../../operations/run-origin.ts'
import { isUnrevealed, type StoredList } from '../../state/drops.ts'
import { isValidName } from '../../wallet/names.ts'
import { type ResolvedCollection, resolveCollection } from '../connect/resolve-collection.ts'
import type { Deps } from '../deps.ts'
import { safe } from '../io/io.ts'
import { createOutput } from '../render/output.ts'
import { FileUrls } from './check-files.ts'
import { LocalFiles } from './local-files.ts'
import type { BatchMintFlags } from './options/flags.ts'
import { formatManifestFlags, formatServerFlags, formatUnrevealedFlags } from './options/format-flags.ts'
import {
  MappedColumns,
  manifestOptions,
  manifestSource,
  resolveManifestPath,
  warnOfUnreadProjectFile,
  withEnsNames,
} from './options/manifest-options.ts'
import { findRunLabel } from './options/run-options.ts'
import { checkListFlags, formatListFlags, hasList, listRunName } from './receivers/receiver-list.ts'
import { printEditedRows } from './report/print-edited-rows.ts'
import { formatLineRanges } from './report/run-error.ts'
import { summaryView } from './report/summary.ts'
import { formerFoldersText } from './reveal/former-folders.ts'
import { checkShuffleFlags } from './reveal/shuffled.ts'
import { findRunCollections, refuseRunOfOtherBackend, warnOfLists } from './runs/run-collection.ts'

/** Mints a manifest as a run, or resumes the manifest's run. Used by `batch mint` and `nft mint -f`. */
export async function mintManifest(deps: Deps, manifest: string, givenFlags: BatchMintFlags): Promise<void> {
  checkListFlags(manifest, givenFlags)
  checkShuffleFlags(givenFlags)
  // A reveal updates the NFTs, so they must be dynamic.
  const flags = givenFlags.unrevealed === undefined ? givenFlags : { ...givenFlags, dynamic: true }
  const view = flags.dryRun ? (await import('./dry-run.ts')).DRY_RUN_VIEW : summaryView(flags.stateDir)
  const output = createOutput(deps.io, flags, view, { manifest })
  const plansOffline = flags.dryRun === true && flags.lookup === false
  const { openUnrevealed, checkUncommittable } = await import('./reveal/unrevealed.ts')
  const opened = await openManifest(deps, manifest, flags, {
    how: plansOffline ? 'once' : 'patiently',
    checkRow: flags.unrevealed === undefined ? undefined : checkUncommittable(flags),
  })
  const { settings } = opened
  const { check, checkPlan, beforeSending, ...sending } = await openUnrevealed(deps, opened, flags)
  const { options } = sending
  const { sendAndPrint } = await import('./send-run.ts')
  const { runBatch } = await import('../../batch/run.ts')
  try {
    if (flags.dryRun) {
      const { printBatchDryRun } = await import('./dry-run.ts')
      return await printBatchDryRun(deps, { by: 'mint', ...opened, ...sending, check, checkPlan, output, flags })
    }
    await sendAndPrint(deps, {
      ...opened,
      ...sending,
      check,
      beforeSending,
      output,
      flags,
      run: runBatch,
      resumedBy: formatResumeCommand(manifest, flags),
    })
  } catch (error) {
    if (error instanceof GdnError && error.code === 'edited_rows') await printEditedRows(deps.io, error)
    if (error instanceof GdnError && error.code === 'run_finished') {
      const { finishedRun, printFinished } = await import('./finished.ts')
      return await printFinished(deps, await finishedRun(error, options), {
        by: 'mint',
        settings,
        options,
        output,
        flags,
      })
    }
    throw withErrorDetails(error, flags.dryRun)
  }
}

/** Returns the command that resumes the mint of a manifest; undefined if resuming requires the run's name. */
function formatResumeCommand(manifest: string, flags: BatchMintFlags): string | undefined {
  const { run, again, newRows, allowExchanged, inOrder } = flags
  if (manifest === '-' || flags.toStdin || again) return undefined
  return [
    `gdn batch mint ${shellWord(safe(manifest))}${formatListFlags(flags)}${formatManifestFlags(flags)}${formatUnrevealedFlags(flags)}`,
    ...(run === undefined ? [] : [`--run ${shellWord(safe(run))}`]),
    ...(newRows === true ? ['--new-rows'] : []),
    ...(allowExchanged === true ? ['--allow-exchanged'] : []),
    ...(inOrder === true ? ['--in-order'] : []),
  ].join(' ')
}

export interface OpenedManifest {
  settings: Settings
  options: BatchOptions
  read: () => AsyncIterable<ManifestItem>
  files: FileUrls | null
  localFiles: LocalFiles
  mapped: MappedColumns
  warnings: RowWarnings
}

/**
 * Finds the collection and the server of a manifest.
 *
 * @throws GdnError `usage`, `invalid_manifest`, `unreachable`, `wrong_backend`
 */
export async function openManifest(
  deps: Deps,
  manifest: string,
  flags: BatchMintFlags,
  { how = 'patiently', checkRow }: { how?: 'once' | 'patiently' } & Pick<ManifestOptions, 'checkRow'> = {},
): Promise<OpenedManifest> {
  if (manifest === '-' && flags.run === undefined) {
    throw new GdnError('usage', 'is required for a manifest on standard input', {
      place: { flag: '--run' },
      hint: 'Add --run <name>, so that the run can be resumed.',
    })
  }
  if (manifest !== '-')
    await checkManifestFile(manifest).catch(async (error: unknown) => {
      throw await withMissingManifestHint(deps, flags, manifest, error)
    })
  if (flags.to !== undefined) await checkReceivers(deps, flags.to)
  const list = hasList(flags) ? await toStoredList(deps, flags) : null
  const runName = list === null ? flags.run : listRunName(manifest, flags)
  const settings = await deps.settings(flags)
  const server = await settings.server()
  const backend = await deps.identify(server, how).catch((error: unknown) => {
    throw withNothingSent(error, NOTHING_SENT_HINT)
  })
  await warnOfUnreadProjectFile(deps, manifest, settings)
  const mapped = new MappedColumns(deps.io, settings)
  const manifestFlags = manifestOptions(deps, flags, settings)
  const path = await resolveManifestPath(deps, manifest)
  const origin = runOrigin(server, backend)
  const runSelector = { stateDir: settings.stateDir, origin, manifestPath: path, runName }
  if (list === null) await warnOfLists(deps, manifest, runSelector, formatServerFlags(flags))
  const collection = await resolveTarget(
    deps,
    manifest,
    { ...manifestFlags, onMapped: mapped.add },
    { settings, server, runSelector },
  )
  const fromFlags = withEnsNames(deps, settings, flags, manifestFlags)
  if (server.isLoopback) await refuseRunOfOtherBackend(deps, { settings, server, runSelector, backend }, collection)
  const files = flags.checkFiles === true ? new FileUrls() : null
  const localFiles = new LocalFiles()
  const readList = list === null ? undefined : (await import('./receivers/read-list.ts')).readList
  const warnings = new RowWarnings(manifest === '-' ? 'stdin' : manifest)
  const read = (): AsyncIterable<ManifestItem> => {
    const shaping = {
      ...fromFlags,
      ...asTarget(collection),
      checkRow,
      onFileUrl: files?.begin(),
      onLocalFile: localFiles.startPass(),
      onMapped: mapped.add,
      ...warnings.begin(),
    }
    if (list === null || readList === undefined) return readManifest(manifestSource(deps, manifest), shaping)
    const to = flags.to ?? null
    return readList(deps, { row: manifest, to, list, contractCheck: { flags, server } }, shaping)
  }
  const options: BatchOptions = {
    ...flags,
    stateDir: settings.stateDir,
    origin,
    backend,
    blockchain: collection.blockchain,
    contractAddress: collection.contract,
    manifestPath: path,
    runName,
    label: await findRunLabel(path, runName),
    serverFlags: formatServerFlags(flags),
    ensNames: fromFlags.ensNames,
    reading: list === null ? omitResolvers(fromFlags) : { ...omitResolvers(fromFlags), list },
    // The receiver identifies a row of a list, so an edited row can't be mistaken for a new one.
    newRows: list === null ? flags.newRows : true,
  }
  return { settings, options, read, files, localFiles, mapped, warnings }
}

/** Returns a list of receivers as its run stores it. */
async function toStoredList(
  deps: Deps,
  { to, merge = false, skipContracts: skipsContracts = false }: BatchMintFlags,
): Promise<StoredList> {
  const path = to === undefined || isValidName(to) ? (to ?? null) : await resolveManifestPath(deps, to)
  return { path, merge, skipsContracts }
}

/** Returns the paths of the local files in a manifest's rows, including invalid rows. */
export async function findLocalFiles(
  path: string,
  options: Pick<ManifestOptions, 'columnMap' | 'defaultMap' | 'fileFolders'>,
): Promise<ReadonlySet<string>> {
  const files = new Set<string>()
  const onLocalFile = (file: string) => files.add(resolve(dirname(path), file))
  for await (const _ of readManifest({ path }, { ...options, blockchain: null, localFiles: true, onLocalFile }));
  return files
}

interface ErrorDetails {
  /** The first affected rows. `count` is the number of all affected rows. */
  rows?: { line: number }[]
  count?: number
}

/**
 * Adds details to an error that prevents a run: the lines of the affected rows, or a hint to plan without the server.
 */
export function withErrorDetails(error: unknown, isDryRun = false): unknown {
  if (!(error instanceof GdnError)) return error
  const { code, message, hint = '', details } = error
  if (code === 'unreachable' && isDryRun) {
    const more = 'Add --no-lookup to plan without the server.'
    return error.with({ hint: hint === '' ? more : `${hint}\n${more}` })
  }
  const { rows, count: all } = (details ?? {}) as ErrorDetails
  const hasLines = code === 'seems_minted' || code === 'already_accepted' || code === 'edited_rows'
  if (hasLines && rows !== undefined && rows.length > 0) {
    const more = Number(all) > rows.length ? ', …' : ''
    return error.with({ message: `${message}\n${formatLineRanges(rows)}${more}` })
  }
  return error
}

const asTarget = ({ contract, blockchain }: ResolvedCollection) => ({ contractAddress: contract, blockchain })

/** Returns the hint for a missing manifest of an unrevealed drop. */
export const missingManifestHint = (path: string): string =>
  `Check the path, or restore the file from a backup. Only the manifest that was minted can reveal the drop.${formerFoldersText(path)}`

/** Adds the hint for a missing manifest to an error if this machine has minted the file unrevealed. */
async function withMissingManifestHint(
  deps: Deps,
  flags: BatchMintFlags,
  manifest: string,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof GdnError) || error.hint !== NO_MANIFEST_HINT) return error
  const { stateDir } = await deps.settings(flags)
  const folder = dirname(resolve(deps.cwd, manifest))
  const path = join(await realpath(folder).catch(() => folder), basename(manifest))
  const run = (await listRuns(stateDir)).find(({ manifestPath }) => manifestPath === path)
  const isNeeded = run !== undefined && isUnrevealed(run) && !(await isRevealedHere(run))
  return isNeeded ? error.with({ hint: missingManifestHint(path) }) : error
}

/** Checks that the manifest is readable. Runs before gdn looks for a server and a collection. */
async function checkManifestFile(manifest: string): Promise<void> {
  try {
    await access(manifest, constants.R_OK)
  } catch (error) {
    const isMissing = systemCode(error) === 'ENOENT'
    throw new GdnError('invalid_manifest', isMissing ? "doesn't exist" : `can't be read: ${messageOf(error)}`, {
      place: { file: manifest },
      hint: isMissing ? NO_MANIFEST_HINT : undefined,
      cause: error,
    })
  }
}

/** Checks that the list of receivers is readable, or that the group exists. */
async function checkReceivers({ addresses }: Pick<Deps, 'addresses'>, to: string): Promise<void> {
  if (isValidName(to)) {
    ;(await addresses()).group(to, { flag: '--to' })
    return
  }
  try {
    await checkManifestFile(to)
  } catch (error) {
    if (!(error instanceof GdnError) || error.hint !== NO_MANIFEST_HINT) throw error
    const book = await addresses()
    const isGroup = book.problem === null && book.isGroup(to)
    throw error.with({ hint: isGroup ? `Did you mean @${to}?` : NO_LIST_HINT })
  }
}

const NO_LIST_HINT =
  'Check the path. A list is a CSV file with the column receiver, or a text file with one address per line.'

/** Returns the options that affect a manifest's rows, for the state database. */
const omitResolvers = ({ addressOf, openNames, namesDigest, ensNames, fileFolders, ...shaping }: ManifestOptions) =>
  shaping

interface TargetSearch {
  settings: Settings
  server: Server
  /** The fields that identify the manifest's runs. */
  runSelector: Omit<Parameters<typeof findRunCollections>[0], 'blockchain'>
}

/**
 * Returns the collection that the flags, the manifest's columns or the configuration select. Otherwise returns the
 * collection of the manifest's runs, or a known one. Prompts if the runs are in several collections.
 */
async function resolveTarget(
  deps: Deps,
  manifest: string,
  manifestFlags: ManifestOptions,
  { settings, server, runSelector }: TargetSearch,
): Promise<ResolvedCollection> {
  const isNamed = manifestFlags.contractAddress && manifestFlags.blockchain !== null
  const inManifest = isNamed || manifest === '-' ? null : await readFirstRowTarget(deps, manifest, manifestFlags)
  const column = (value: string | null | undefined, name: string) => (value ? { value, from: name } : null)
  const contract = manifestFlags.contractAddress ? null : column(inManifest?.contractAddress, 'contract_address')
  const blockchain = manifestFlags.blockchain === null ? (inManifest?.blockchain ?? null) : null
  const target = {
    ...settings,
    contract: contract ?? settings.contract,
    blockchain: blockchain === null ? settings.blockchain : { value: blockchain, from: 'blockchain' },
  }
  const ofRuns =
    target.contract === null ? await findRunCollections({ ...runSelector, blockchain: target.blockchain?.value }) : []
  const [only, ...otherCollections] = ofRuns
  if (only !== undefined && otherCollections.length === 0) return only
  return await resolveCollection(deps, target, server, { io: deps.io, ofRuns })
}

/**
 * Reads the target of the first row. Doesn't report the row's errors, because they are reported when all rows are read.
 */
async function readFirstRowTarget(deps: Deps, manifest: string, manifestFlags: ManifestOptions) {
  const reading = readManifest(manifestSource(deps, manifest), manifestFlags)
  for await (const _first of reading) break
  return reading.target
}
