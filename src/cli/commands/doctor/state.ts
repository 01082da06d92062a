import { randomUUID } from 'node:crypto'
import { rm, stat, statfs, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { formatResumeCommand } from '../../../batch/runs/how-to-resume.ts'
import { listRuns, runStatuses } from '../../../batch/runs/runs.ts'
import type { Run } from '../../../batch/types.ts'
import { count } from '../../../core/count.ts'
import { GdnError, messageOf } from '../../../core/errors.ts'
import { seemsActive } from '../../../core/lock-holder.ts'
import { pathExists } from '../../../core/path-exists.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { isUnrevealed } from '../../../state/drops.ts'
import { openStateIfExists } from '../../../state/open-state.ts'
import { commandRuns } from '../../../state/runs.ts'
import type { Deps } from '../../deps.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const LOW_SPACE_BYTES = 100 * 1024 * 1024

/** Checks the directory that records runs and commands. Without this directory, nothing can be resumed. */
export async function checkStateDirectory(stateDir: string): Promise<Finding> {
  const check = 'state'
  const existing = await findNearestExisting(stateDir)
  const probe = join(existing, `.gdn-doctor-${randomUUID()}`)
  try {
    await writeFile(probe, 'x', { flag: 'wx', mode: 0o600 })
    await rm(probe)
  } catch (error) {
    const reason = new GdnError('data_dir', `${existing} can't be written to: ${messageOf(error)}`, {
      hint: 'Fix its owner or mode, or choose another directory with --state-dir or GDN_STATE_DIR.',
    })
    return fail(check, reason)
  }
  const { bavail, bsize } = await statfs(existing)
  const free = bavail * bsize
  if (free < LOW_SPACE_BYTES) {
    return warn(
      check,
      `only ${formatMiB(free)} of disk space is free for ${stateDir}`,
      'Free some space. A run stops if gdn cannot record it.',
    )
  }
  const { mode } = await stat(existing)
  if (existing === stateDir && (mode & 0o022) !== 0 && process.platform !== 'win32') {
    return warn(check, `other users can write to ${stateDir}`, `Run \`chmod go-w ${shellWord(stateDir)}\`.`)
  }
  return ok(check, `${stateDir}, ${formatMiB(free)} free`)
}

const formatMiB = (bytes: number) => {
  const mebibytes = Math.floor(bytes / 2 ** 20)
  return mebibytes >= 10_240 ? `${Math.floor(mebibytes / 1024)} GiB` : `${mebibytes} MiB`
}

/** Returns the folder, or its nearest existing parent. gdn creates the folder on the first write. */
async function findNearestExisting(path: string): Promise<string> {
  return (await pathExists(path)) || dirname(path) === path ? path : await findNearestExisting(dirname(path))
}

const RUNS_CHECK = 'runs'
const MAX_LISTED_RUNS = 3

/** Checks that the recorded runs and commands can be read, and that no outcome is unknown. */
export async function checkRuns(deps: Deps, stateDir: string): Promise<Finding[]> {
  try {
    const runs = await listRuns(stateDir)
    const findings: Finding[] = []
    for (const run of await runStatuses(stateDir, runs)) {
      const { unknown, pending } = run.counts
      if (unknown === 0) continue
      const rows = unknown === 1 ? 'a row' : `${unknown} rows`
      const resume = formatResumeCommand(
        { ...run, name: run.id, manifest: run.manifestPath, contract: run.contractAddress },
        pending,
      )
      const mint = await findMintOfEdits(deps, { ...run, stateDir })
      const fix =
        mint === null
          ? `Run \`${resume}\`.`
          : `To mint the manifest as it is now, run \`${mint}\`. To mint the rows as the run stored them, run \`${resume}\`.`
      findings.push(warn(RUNS_CHECK, `run ${run.name} has ${rows} with an unknown outcome`, fix))
    }
    findings.push(...findSharedNames(runs), ...(await checkCommands(stateDir)))
    return findings.length > 0 ? findings : [ok(RUNS_CHECK, count(runs.length, 'run'))]
  } catch (error) {
    // Only this error is a failure, because commands that send requests need the state. Other errors are warnings, for
    // example if another process holds the lock or SQLite is missing.
    if (error instanceof GdnError && error.code === 'data_dir') return [fail(RUNS_CHECK, error)]
    return [warn(RUNS_CHECK, messageOf(error), error instanceof GdnError ? (error.hint ?? null) : null)]
  }
}

/** Returns the command that mints the manifest of a run, if it differs from the stored rows; null otherwise. */
async function findMintOfEdits(deps: Deps, run: Run): Promise<string | null> {
  if (isUnrevealed(run)) return null
  const { findManifestEdits } = await import('../../batch/edits-since.ts')
  const edits = await findManifestEdits(deps, run, {}).catch((error: unknown) => {
    if (error instanceof GdnError) return null
    throw error
  })
  return edits === null || edits.isInvalid || edits.warnings.length === 0 ? null : edits.commands.mint
}

/** Reports names that several runs share, because they don't identify a single run. */
function findSharedNames(runs: readonly Run[]): Finding[] {
  const byName = new Map<string, Map<string, Run>>()
  for (const run of runs) {
    const name = run.runName ?? (run.manifestPath === null ? null : basename(run.manifestPath))
    if (name === null) continue
    const runsByFamily = byName.get(name) ?? new Map<string, Run>()
    byName.set(name, runsByFamily)
    // Runs are sorted from newest to oldest. Later drops of a run intentionally have the same name.
    if (!runsByFamily.has(run.family)) runsByFamily.set(run.family, run)
  }
  const shared = [...byName].filter(([, runsByFamily]) => runsByFamily.size > 1)
  const [first] = shared
  if (first === undefined) return []
  const unique = 'Give the next run a unique name with --run <name>.'
  if (shared.length > 1) {
    const names = shared.slice(0, MAX_LISTED_RUNS).map(([name, runsByFamily]) => `${name} (${runsByFamily.size} runs)`)
    const message = `several runs have the same manifest name: ${names.join(', ')}${shared.length > MAX_LISTED_RUNS ? ', …' : ''}`
    const fix = `Specify a run by its ID, which \`gdn batch list\` shows, or by the path of its manifest. ${unique}`
    return [warn(RUNS_CHECK, message, fix)]
  }
  const [name, runsByFamily] = first
  const all = [...runsByFamily.values()]
  const shownRuns = all
    .slice(0, MAX_LISTED_RUNS)
    .map((run) => `${run.name} (${run.manifestPath ?? 'standard input'}, ${run.url})`)
  const more = all.length > MAX_LISTED_RUNS ? ', …' : ''
  const fix = `Specify a run by its ID, such as ${all[0]?.id}, or by the path of its manifest. ${unique}`
  return [warn(RUNS_CHECK, `${all.length} runs have a manifest named ${name}: ${shownRuns.join(', ')}${more}`, fix)]
}

async function checkCommands(stateDir: string): Promise<Finding[]> {
  const state = await openStateIfExists(stateDir)
  if (state === null) return []
  try {
    const findings: Finding[] = []
    for (const { name, note, isKept, isReleased, holder, beatAt, state: status } of await state.read(commandRuns)) {
      // If a command was killed while it waited for the response, its operation still has a holder and the state
      // `sent`.
      if (!(status === 'unknown' || status === 'sent') || (isReleased && !isKept)) continue
      if (holder !== null && (await seemsActive(holder, beatAt))) continue
      findings.push(
        warn(
          RUNS_CHECK,
          `the outcome of ${name} is unknown`,
          isKept
            ? `Call ${note} again with this idempotency key, from the program that uses the key.`
            : `To resolve the outcome, run the same \`gdn ${note}\` command again. If you discard the record with \`gdn batch rm ${name}\`, the same command sends another request.`,
        ),
      )
    }
    return findings
  } finally {
    state.close()
  }
}
