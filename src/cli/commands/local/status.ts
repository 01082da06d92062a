import { runningBackend } from '../../../config/local-backend.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addJsonFlag, type CommonFlags } from '../../flags/common.ts'
import { safe } from '../../io.ts'

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
  const dataDir = localDataDirectory(env)
  const backend = await runningBackend(dataDir)
  const facts = { running: backend !== null, url: backend?.url ?? null, data_dir: dataDir, pid: backend?.pid ?? null }
  if (flags.json) return await io.data(`${JSON.stringify(facts)}\n`)
  if (backend === null) {
    await io.data(`not running\t${safe(dataDir)}\n`)
    io.note('gdn local start starts it.')
    return
  }
  await io.data(`${io.outPaint.good('running')}\t${backend.url}\tpid ${backend.pid}\t${safe(dataDir)}\n`)
}
