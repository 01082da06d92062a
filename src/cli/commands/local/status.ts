import { runningBackend } from '../../../config/local-backend.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addJsonFlag, type CommonFlags } from '../../flags/common.ts'
import { createOutput } from '../../output.ts'
import type { View } from '../../view.ts'

const VIEW: View = {
  fields: ['running', 'url', 'data_dir', 'pid'],
  columns: ['running', 'url', 'data_dir', 'pid'],
  id: 'url',
}

export function command(deps: Deps, run = status): GdnCommand {
  const statusCommand = new GdnCommand({
    name: 'local status',
    summary: 'Say whether the local backend runs, and where',
    examples: [
      ['Is it running?', 'gdn local status'],
      ['Its address, for a script', 'gdn local status --json | jq -r .url'],
    ],
  })
  addJsonFlag(statusCommand)
  return statusCommand.action(async (flags: CommonFlags) => await run(deps, flags)) as GdnCommand
}

export async function status({ io, env }: Deps, flags: CommonFlags): Promise<void> {
  const output = createOutput(io, flags, VIEW)
  const dataDir = localDataDirectory(env)
  const backend = await runningBackend(dataDir)
  const facts = { running: backend !== null, url: backend?.url ?? null, data_dir: dataDir, pid: backend?.pid ?? null }
  await output.one(facts)
  if (backend === null) io.note('Start it: gdn local start')
}
