import { findRunningBackend } from '../../../config/local-backend.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput } from '../../render/output.ts'
import { BACKEND_VIEW, backendData } from './backend-view.ts'

export function command(deps: Deps, run = status): GdnCommand {
  return new GdnCommand({
    examples: [
      ['Show whether the backend is running', 'gdn local status'],
      ['Print the URL, for a script', 'gdn local status -o ids'],
    ],
  })
    .with(addOutputFlags)
    .action(async (flags: OutputFlags) => await run(deps, flags))
}

export async function status({ io, env }: Deps, flags: OutputFlags): Promise<void> {
  const output = createOutput(io, flags, BACKEND_VIEW)
  const dataDir = localDataDirectory(env)
  const backend = await findRunningBackend(dataDir)
  await output.one(backendData(backend, dataDir))
  if (backend === null) io.note('Start the backend: gdn local start')
}
