import { credentialsFile, localDataDirectory, walletsDirectory } from '../../../config/paths.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, addStateDirFlag, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { createOutput, type View } from '../../render/output.ts'

const FIELDS = ['config', 'credentials', 'project', 'state', 'local_data', 'wallets']
const VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'config' }

export type PathFlags = OutputFlags & Pick<ServerFlags, 'stateDir'>

export function command(deps: Deps, run = path): GdnCommand {
  return new GdnCommand({
    examples: [
      ['Print all paths', 'gdn config path'],
      ['Edit the configuration', '$EDITOR "$(gdn config path -o ids)"'],
    ],
  })
    .with(addStateDirFlag, addOutputFlags)
    .action(async (flags: PathFlags) => await run(deps, flags))
}

export async function path(deps: Deps, flags: PathFlags): Promise<void> {
  const output = createOutput(deps.io, flags, VIEW)
  const { userFile, projectFile, stateDir } = await deps.settings(flags)
  await output.one({
    config: userFile,
    credentials: credentialsFile(deps.env),
    project: projectFile,
    state: stateDir,
    local_data: localDataDirectory(deps.env),
    wallets: walletsDirectory(deps.env),
  })
}
