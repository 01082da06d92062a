import { basename } from 'node:path'
import { isRevealedHere } from '../../../batch/runs/runs.ts'
import type { Run, RunStatus } from '../../../batch/types.ts'
import { shortPath } from '../../../core/short-path.ts'
import { type DropState, describeDropState, describeSealedDrop, readDropState } from '../../../reveal/drop-state.ts'
import { isUnrevealed } from '../../../state/drops.ts'
import type { Deps } from '../../deps.ts'
import type { ServerFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import type { BatchMintFlags } from '../options/flags.ts'
import { addRunSelection, formatRevealCommand, formatServerFlags } from '../options/format-flags.ts'
import { runCommands } from '../runs/run-commands.ts'

interface RunManifest {
  reading: Readonly<Record<string, unknown>>
  manifestPath: string | null
}

/** Returns the note that an unrevealed drop can't be revealed without its manifest. */
export const backUpText = (manifest: string | null): string =>
  `Back up ${safe(basename(manifest ?? 'the manifest'))} and its files: without them, no one can reveal the drop.`

/**
 * Returns the next steps after an unrevealed mint. Returns an empty list for other runs, and for a run that is known to
 * be revealed.
 */
export function describeRevealSteps(
  { reading, manifestPath }: RunManifest,
  flags: BatchMintFlags,
  cwd: string,
): string[] {
  if (!isUnrevealed({ reading }) || reading.draw !== undefined || manifestPath === null) return []
  return [`Next: ${formatRelativeReveal(manifestPath, flags, cwd)}`, backUpText(manifestPath)]
}

function formatRelativeReveal(manifest: string, flags: BatchMintFlags, cwd: string): string {
  return formatRevealCommand(shortPath(manifest, cwd), flags)
}

/** Returns the flag that names the user's own beacon in the next command of a drop. */
export const formatBeaconFlag = ({ seal }: Pick<DropState, 'seal'>): string =>
  seal?.isNamed === true ? ' --beacon <file>' : ''

/**
 * Returns notes on the state of a run's shuffled drop, as recorded on this machine, and the next command. Returns an
 * empty list for other runs, and until all rows are minted.
 *
 * @param isLocalOnly whether the command shows only the records of this machine
 */
export async function describeDrop(
  { now, cwd }: Pick<Deps, 'now' | 'cwd'>,
  run: Run & Pick<RunStatus, 'counts'>,
  flags: BatchMintFlags,
  isLocalOnly: boolean,
): Promise<string[]> {
  const state = readDropState(run)
  const { counts, manifestPath, name } = run
  if (state === null || (state.phase === 'open' && counts.deployed < counts.total)) return []
  const isDone = state.phase === 'drawn' && (await isRevealedHere(run))
  const why =
    state.phase === 'drawn' ? 'To reveal the other NFTs, or to record those that another machine revealed' : 'Next'
  const revealCommand =
    manifestPath === null ? null : formatRelativeReveal(manifestPath, addRunSelection(run, flags), cwd)
  const next = isDone || revealCommand === null ? [] : [`${why}: ${revealCommand}${formatBeaconFlag(state)}`]
  return [
    state.phase === 'open'
      ? `${isLocalOnly ? 'According to the records of this machine, the drop is not sealed yet' : describeDropState(state, now())}.`
      : describeSealedDrop(state, counts, now()),
    ...next,
    ...(isLocalOnly && state.phase !== 'drawn' ? [formatUpdateNote(name, flags)] : []),
  ]
}

/** Returns the note on how to record other machines' mints, seals and reveals of an unrevealed drop. */
export const formatUpdateNote = (run: string, flags: ServerFlags): string =>
  `To update this record from the server: ${runCommands(run, undefined)('reconcile')}${formatServerFlags(flags)}`
