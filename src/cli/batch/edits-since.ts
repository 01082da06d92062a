import { existsSync } from 'node:fs'
import { compareManifestWithRun, type ManifestComparison } from '../../batch/manifest-changes.ts'
import type { Items, Run } from '../../batch/types.ts'
import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { shellWord } from '../../core/shell-word.ts'
import { type ManifestOptions, readManifest } from '../../manifest/read.ts'
import { type DrawnRows, readStoredDraw, withDrawnRows } from '../../reveal/shuffle/drawn-rows.ts'
import { readStoredList } from '../../state/drops.ts'
import { isValidName } from '../../wallet/names.ts'
import type { Deps } from '../deps.ts'
import { type Io, safe } from '../io/io.ts'
import type { BatchMintFlags } from './options/flags.ts'
import { addRunSelection, formatManifestFlags, formatPlanFlags } from './options/format-flags.ts'
import { manifestOptions } from './options/manifest-options.ts'
import { formatListFlags } from './receivers/receiver-list.ts'
import { changesText, exampleText } from './report/changes-text.ts'
import { StoredNames } from './reveal/stored-names.ts'
import { addRunServerFlag, type RunFlags } from './runs/resolve-server.ts'
import { findSelectingFlags } from './runs/run-collection.ts'

const MAX_SHOWN_EDITS = 5

/** The edits made to a manifest since its run read it. */
interface ManifestEdits {
  /** The path of the manifest, quoted for use in a command. */
  file: string
  /** Commands for the manifest, with the flags that select the run. */
  commands: Readonly<Record<'mint' | 'plan' | 'apply' | 'validate', string>>
  /** Whether the manifest has a single row, which is minted to each receiver in a list. */
  isList: boolean
  /** Messages about the differences; empty if there are none. */
  warnings: string[]
  /** Whether rows of the run are now on other lines of the file. */
  isRearranged: boolean
  /** Whether the manifest has errors. If so, its rows are unknown. */
  isInvalid: boolean
  /** The keys of rows whose content differs from the sent content; undefined if unknown. */
  edited: ManifestComparison['edited'] | undefined
  /** The number of failed rows that were edited in the manifest or removed from it. */
  failed: number
  /** The numbers of edited and removed rows that the run hasn't sent yet, but would send with their stored content. */
  unsent: ManifestComparison['unsent']
  /** The number of absent rows that were edited in the manifest or removed from it. */
  absent: number
  /** The rows of the manifest that aren't part of the run. */
  rows: ManifestComparison['rows']
}

/**
 * Compares a run's manifest with the rows of the run. Returns null if the manifest is unchanged, deleted, or from
 * standard input.
 */
export async function findManifestEdits(deps: Deps, run: Run, flags: RunFlags): Promise<ManifestEdits | null> {
  const { manifestPath, blockchain, contractAddress } = run
  if (manifestPath === null || !existsSync(manifestPath)) return null
  const ensNames = new StoredNames()
  const options = { ...manifestOptions(deps, {}), ...run.reading, blockchain, contractAddress, ensNames }
  const list = readStoredList(run)
  if (list !== null && !canReadList(list.path)) return null
  const file = shellWord(safe(manifestPath))
  const common = { file, commands: await formatManifestCommands(deps, run, flags), isList: list !== null }
  const name = safe(list?.path ?? manifestPath)
  const drawn = readStoredDraw(run.reading)
  const items =
    list === null
      ? applyDraw(readManifest({ path: manifestPath }, options), drawn)
      : (await import('./receivers/read-list.ts')).readList(
          deps,
          { row: manifestPath, to: list.path, list, contractCheck: null },
          options,
        )
  try {
    const edits = await compareManifestWithRun(run, { items, ensNames }, async () => {
      const { readStoredCommitment, createCommittedRowCheck } = await import('../../reveal/unrevealed.ts')
      const commitment = readStoredCommitment(run)
      return commitment && (await createCommittedRowCheck(run.stateDir, commitment, drawn))
    })
    if (edits === null) return null
    const { changes, ...since } = edits
    if (changes === null) return { ...common, warnings: [], isInvalid: false, ...since }
    if (list?.skipsContracts === true) {
      // Omit the counts, because receivers that the run skipped would count as added.
      const warnings = [`${name} differs from the rows of the run.`]
      return { ...common, warnings, isInvalid: false, ...since, rows: [] }
    }
    const { added, changed, removed, examples } = changes
    if (list !== null && changed > 0) {
      // The row of the manifest was edited, so every receiver's row differs.
      const warnings = [`${safe(manifestPath)} differs from the row that the run minted.`]
      return { ...common, warnings, isInvalid: false, ...since }
    }
    const more = added + changed + removed - MAX_SHOWN_EDITS
    const warnings = [
      `${name} differs from the rows of the run: ${changesText(changes)}.`,
      ...examples.slice(0, MAX_SHOWN_EDITS).map((example) => `  ${exampleText(example)}`),
      ...(more > 0 ? [`  and ${more} more`] : []),
    ]
    return { ...common, warnings, isInvalid: false, ...since }
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    const isInvalid = error.code === 'invalid_manifest'
    const problem = isInvalid ? "can't be read with the run's options" : "can't be compared with the run"
    const warnings = [`${name} ${problem}: ${safe(error.message)}`]
    return { ...common, warnings, isRearranged: false, isInvalid, edited: undefined, ...NO_EDITS }
  }
}

const NO_EDITS = { failed: 0, absent: 0, unsent: { edited: 0, removed: 0 }, rows: [] }

const applyDraw = (items: Items, drawn: DrawnRows | null): Items =>
  drawn === null ? items : withDrawnRows(items, drawn)

/** Returns whether a list can be read again. A missing group is only noticed when the list is read. */
const canReadList = (path: string | null): boolean => path !== null && (isValidName(path) || existsSync(path))

async function formatManifestCommands(deps: Deps, run: Run, flags: RunFlags): Promise<ManifestEdits['commands']> {
  const file = shellWord(safe(run.manifestPath ?? '<manifest>'))
  const { path, merge, skipsContracts: skipContracts } = readStoredList(run) ?? {}
  const { receiver, sender, columnMap = [], unknownColumns } = run.reading as Partial<ManifestOptions>
  const reading: BatchMintFlags = {
    receiver: receiver ?? undefined,
    sender: sender ?? undefined,
    map: columnMap.map(([key, value]) => ({ key, value })),
    ...(unknownColumns !== undefined && { unknownColumns }),
  }
  const again = formatPlanFlags({ ...(await findSelectingFlags(deps, run, flags)), ...reading })
  // `gdn batch validate` needs flags for the collection, because it doesn't look for the manifest's runs.
  const selected = addRunSelection(run, await addRunServerFlag<BatchMintFlags>(deps, run, flags))
  const inCollection = formatManifestFlags({ ...selected, ...reading })
  return {
    mint: `gdn batch mint ${file}${formatListFlags({ to: path ?? undefined, merge, skipContracts })}${again}${run.inOrder ? ' --in-order' : ''}`,
    plan: `gdn plan ${file}${again}`,
    apply: `gdn apply ${file}${again}`,
    validate: `gdn batch validate ${file}${inCollection}`,
  }
}

/** Warns about edits that the printed rows of a run don't reflect. */
export function warnOfEdits(io: Pick<Io, 'warn'>, edits: ManifestEdits | null): void {
  if (edits === null) return
  const { file, commands, isList, warnings, isRearranged, isInvalid, rows, unsent } = edits
  for (const warning of warnings) io.warn(warning)
  if (isRearranged)
    io.warn(`The rows of ${file} are on different lines now. The results show the earlier line numbers and order.`)
  if (warnings.length === 0) return
  if (isList) {
    const hasNew = rows.some(({ kind }) => kind === 'new')
    const mint = hasNew ? ` To mint the NFTs that were added, run \`${commands.mint}\`.` : ''
    io.warn(`The output shows the rows as they were minted.${mint}`)
    return
  }
  if (isInvalid) {
    io.warn(
      `Run \`${commands.validate}\` to list the errors. If the columns of the file need --map, add --map to the command.`,
    )
    return
  }
  const ofKind = (wantedKind: 'new' | 'edited') => rows.filter(({ kind }) => kind === wantedKind).length
  const [added, edited] = [ofKind('new'), ofKind('edited')]
  const outside =
    added === 0 ? '' : `${count(added, 'row')} of the file ${added === 1 ? "isn't" : "aren't"} part of the run. `
  const changed = edited === 0 ? '' : `The run still has the earlier values of ${count(edited, 'edited row')}. `
  // Rows that were never sent have no NFTs to change.
  const record =
    edited <= unsent.edited
      ? ''
      : ` Run \`${commands.apply}\` to make the remaining changes, except burns, and record the new values. If a saved plan was interrupted, apply its file again instead.`
  io.warn(`${outside}${changed}Run \`${commands.plan}\` to compare the file with the NFTs.${record}`)
}

/**
 * Returns the notes on how to continue an unfinished run. If the manifest differs from the rows of the run, `gdn batch
 * resume` would mint other rows than the manifest has.
 *
 * @param resume the command that mints the rows that the run stored
 */
export function describeResume(edits: ManifestEdits | null, resume: string): string[] {
  if (edits === null || edits.warnings.length === 0) return [`To resume the run: ${resume}`]
  const stored = `To mint the rows as the run stored them: ${resume}`
  if (edits.isInvalid) return [stored]
  return [`To mint the ${edits.isList ? 'list' : 'manifest'} as it is now: ${edits.commands.mint}`, stored]
}
