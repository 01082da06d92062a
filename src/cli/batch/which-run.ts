import { listRuns } from '../../batch/runs.ts'
import { GdnError } from '../../core/errors.ts'
import type { GdnCommand } from '../command.ts'
import type { Deps } from '../deps.ts'
import type { ServerFlags } from '../flags/common.ts'
import type { Choice } from '../io/questions.ts'
import { choose } from '../prompt/ask-for.ts'
import { mayAsk } from '../prompt/ask-missing.ts'
import { age } from './age.ts'
import { whichServer } from './which-server.ts'

/** Adds the argument that names a run. */
export function addRunArgument(command: GdnCommand): void {
  command.argument('[run]')
}

/** Returns the specified run. If there is none, prompts for one of the runs on this machine. */
export async function whichRun(deps: Deps, given: string | undefined, flags: ServerFlags): Promise<string> {
  if (given !== undefined) return given
  const choices = mayAsk(deps.io) ? await runChoices(deps, flags) : []
  if (choices.length > 0) return await choose(deps.io, { message: 'Run', flag: '<run>', choices })
  throw new GdnError('usage', 'missing required argument "run"', { hint: 'Run `gdn batch list` to list the runs.' })
}

async function runChoices(deps: Deps, flags: ServerFlags): Promise<Choice<string>[]> {
  const { stateDir } = await deps.settings(flags)
  const server = await whichServer(deps, flags)
  const runs = await listRuns(stateDir)
  return runs
    .filter((run) => server === undefined || server.has(run))
    .map(({ id, name, startedAt, blockchain, manifestPath, url }) => ({
      name,
      value: id,
      description: `${age(deps.now() - Date.parse(startedAt))}, on ${blockchain} of ${url}, ${manifestPath}`,
    }))
}
