import { listRuns, matchesFilter } from '../../../batch/runs/runs.ts'
import { GdnError } from '../../../core/errors.ts'
import { type GdnCommand, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { notEmpty } from '../../flags/common.ts'
import type { Choice } from '../../io/questions.ts'
import { choose, mayPrompt } from '../../prompt/ask-missing.ts'
import { formatAge } from './age.ts'
import { type RunFlags, resolveServer } from './resolve-server.ts'

/** Adds the run argument, and the flag that selects one of several runs. */
export function addRunArgument(command: GdnCommand): void {
  command.argument('[run]')
  addRunContractFlag(command)
}

export function addRunContractFlag(command: GdnCommand): void {
  valueFlag(command, '-c, --contract <address>', 'Address or name of the collection, if several runs match', {
    parse: notEmpty,
  })
}

/** Returns the specified run. If none is specified, prompts for one of the runs on this machine. */
export async function resolveRun(deps: Deps, typed: string | undefined, flags: RunFlags): Promise<string> {
  if (typed !== undefined) return typed
  const choices = mayPrompt(deps.io) ? await findRunChoices(deps, flags) : []
  if (choices.length > 0) return await choose(deps.io, { message: 'Run', flag: '<run>', choices })
  throw new GdnError('usage', 'missing required argument "run"', { hint: 'Run `gdn batch list` to list the runs.' })
}

async function findRunChoices(deps: Deps, flags: RunFlags): Promise<Choice<string>[]> {
  const { stateDir } = await deps.settings(flags)
  const server = await resolveServer(deps, flags)
  const runs = await listRuns(stateDir)
  return runs
    .filter((run) => matchesFilter(run, { server, collection: flags.contract }))
    .map(({ id, name, startedAt, blockchain, manifestPath, url }) => ({
      name,
      value: id,
      description: `${formatAge(deps.now() - Date.parse(startedAt))}, on ${blockchain} of ${url}, ${manifestPath}`,
    }))
}
