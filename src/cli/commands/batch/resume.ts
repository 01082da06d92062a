import { runBatch } from '../../../batch/run.ts'
import { openRun, type Run, runStatus } from '../../../batch/runs.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { positiveNumber } from '../../flags/parse.ts'
import { createOutput, type Output } from '../../output.ts'
import { LOOPBACK_ORIGIN, runOrigin } from '../../run-origin.ts'
import { addSendingFlags, type BatchMintFlags } from './flags.ts'
import { runOptions } from './mint-manifest.ts'
import { runData } from './run-view.ts'
import { sendRun } from './send-run.ts'
import { quote, SUMMARY_VIEW } from './summary.ts'

export interface ResumeFlags extends BatchMintFlags {
  retryFailed?: boolean
}

export function command(deps: Deps, run = resume): GdnCommand {
  const resumeCommand = new GdnCommand({
    name: 'batch resume',
    summary: 'Go on with a run that was stopped',
    about:
      'With the rows as the run last had them, whatever became of the manifest. Rows whose outcome is unknown are sent again only to a server that is known to recognise the repetition.',
    examples: [
      ['Go on', 'gdn batch resume drop.csv'],
      ['Send again what the server refused', 'gdn batch resume drop.csv --retry-failed'],
    ],
  })
  resumeCommand.argument('<run>')
  switchFlag(resumeCommand, '--retry-failed', 'Send rows again that the server refused')
  valueFlag(resumeCommand, '--rate <n>', 'Requests a second', { parse: positiveNumber })
  addSendingFlags(resumeCommand)
  return resumeCommand.action(async (name: string, flags: ResumeFlags) => await run(deps, name, flags)) as GdnCommand
}

export async function resume(deps: Deps, name: string, flags: ResumeFlags): Promise<void> {
  const output = createOutput(deps.io, flags, SUMMARY_VIEW)
  const { stateDir } = await deps.settings(flags)
  const run = await openRun(stateDir, name)
  const settings = await settingsFor(deps, run, flags)
  const options = {
    stateDir,
    origin: run.origin,
    blockchain: run.blockchain,
    contractAddress: run.contractAddress,
    manifestPath: run.manifestPath,
    ...runOptions(flags, settings),
    ...(run.runName === null ? {} : { runName: run.runName }),
    ...(flags.retryFailed ? { retryFailed: true } : {}),
  }
  try {
    await sendRun(deps, { settings, options, read: null, output, flags, run: runBatch })
  } catch (error) {
    if (!(error instanceof GdnError) || error.code !== 'run_finished') throw error
    await tellFinished(deps, run, output)
  }
}

/** There is nothing left to do: that is what was asked for, unless rows failed. */
async function tellFinished({ io }: Deps, run: Run, output: Output): Promise<void> {
  const status = await runStatus(run)
  await output.one(runData(status))
  const { failed, total } = status.counts
  if (failed > 0) {
    throw new GdnError('batch_failed_rows', `the run is finished; ${failed} of ${total} rows failed`, {
      hint: `which ones: gdn batch results ${quote(run.name)}\nsend them again: gdn batch resume ${quote(run.name)} --retry-failed`,
    })
  }
  io.note('The run is finished already.')
}

/** A run goes on where it began: at its own server, however that is named now. */
async function settingsFor(deps: Deps, { origin }: Run, flags: ResumeFlags): Promise<Settings> {
  const isNamed = flags.local || flags.baseUrl !== undefined || flags.profile !== undefined
  const settings = await deps.settings(flags)
  const server = await settings.server().catch((error: unknown) => {
    if (isNamed) throw error
    return null
  })
  if (server !== null && runOrigin(server) === origin) return settings
  if (isNamed) {
    throw new GdnError('usage', `this run belongs to ${origin}, not to ${server?.origin}`, {
      hint: `leave ${server?.from ?? 'the server'} out, or add ${origin === LOOPBACK_ORIGIN ? '--local' : `--base-url ${origin}`}`,
    })
  }
  if (origin === LOOPBACK_ORIGIN) return await deps.settings({ ...flags, local: true })
  return await deps.settings({ ...flags, baseUrl: origin })
}
