import { once } from 'node:events'
import { createServer } from 'node:net'
import {
  DEFAULT_PORT,
  findRunningBackend,
  isConfigNewer,
  localApiKeyFile,
  type RunningBackend,
  readLastPort,
  savePort,
} from '../../../config/local-backend.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import { GdnError } from '../../../core/errors.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { GdnCommand } from '../../command.ts'
import { parseReadinessProblems, requestReadiness } from '../../connect/backend-ready.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, integer, type OutputFlags } from '../../flags/common.ts'
import { addServedApiFlags, type ServedApiFlags, servedApiArgs } from '../../flags/served-api.ts'
import { addStoredFilesFlags, type StoredFilesFlags, storedFilesArgs } from '../../flags/stored-files.ts'
import { safe } from '../../io/io.ts'
import { createOutput, isOutputRequested } from '../../render/output.ts'
import { VERSION } from '../../version.ts'
import { type SpawnedBackend, spawnBackend } from './backend-process.ts'
import { BACKEND_VIEW, backendData } from './backend-view.ts'

export interface StartFlags extends OutputFlags, ServedApiFlags, StoredFilesFlags {
  port?: number
}

export function command(deps: Deps, run = start): GdnCommand {
  return new GdnCommand({
    about:
      'The command starts a backend with embedded chains in the background, for commands with --local. The backend listens on the port that it last used (4680 at first), or on a free port if that port is in use. The backend keeps its data until you run gdn local reset.',
    examples: [
      ['Start the backend and use it', 'gdn local start', 'gdn nft list --local'],
      ['Start the backend without rate limits', 'gdn local start --rate-limits off'],
    ],
  })
    .valueFlag('--port <port>', 'Port to listen on (the last one, or 4680); 0 selects a free port', integer(0, 65_535))
    .with(addServedApiFlags, addStoredFilesFlags, addOutputFlags)
    .action(async (flags: StartFlags) => await run(deps, flags))
}

export async function start(deps: Deps, flags: StartFlags): Promise<void> {
  const { io, env } = deps
  const output = createOutput(io, flags, BACKEND_VIEW)
  const tell = async (backend: SpawnedBackend) => {
    if (isOutputRequested(flags)) await output.one(backendData(backend, dataDir))
  }
  const dataDir = localDataDirectory(env)
  const running = await findRunningBackend(dataDir)
  if (running !== null) {
    refuseOtherOptions(running, flags)
    io.note(`The local backend is already running on ${running.url}.`)
    if (running.version !== VERSION) {
      io.note(
        `It runs gdn ${safe(running.version)}. Run \`gdn local stop\` and \`gdn local start\` to run gdn ${VERSION}.`,
      )
    }
    if (await isConfigNewer(dataDir)) {
      io.warn(
        'backend.yaml was changed after the backend started. Run `gdn local stop` and `gdn local start` to apply the change.',
      )
    }
    await warnOfProblems(deps, running.url)
    return await tell(running)
  }
  const progress = await io.progress('Starting the local backend')
  let started: SpawnedBackend
  try {
    started = await startOnSomePort(deps, flags, dataDir)
  } finally {
    progress.stop()
  }
  await savePort(dataDir, started.url)
  io.note(`The local backend listens on ${io.errPaint.bold(started.url)}.`)
  io.note(`  data     ${safe(dataDir)}`)
  io.note(`  API key  in ${safe(localApiKeyFile(dataDir))}`)
  io.note('Add --local to a command to use it. Run `gdn local stop` to stop it.')
  await warnOfProblems(deps, started.url)
  await tell(started)
}

/** Prints problems that the backend itself reports, such as unreachable storage. */
async function warnOfProblems({ io, signals }: Deps, url: string): Promise<void> {
  const ready = await requestReadiness(url, signals.signal).catch(() => null)
  for (const problem of ready === null ? [] : parseReadinessProblems(ready.body)) io.warn(safe(problem))
}

/**
 * Rejects a flag whose value differs from the running backend's option.
 *
 * @throws GdnError `usage`
 */
function refuseOtherOptions({ url, options = {} }: RunningBackend, flags: StartFlags): void {
  const { port } = flags
  const isOtherPort = port !== undefined && port !== 0 && new URL(url).port !== String(port)
  const flagValues: Record<string, string | boolean | undefined> = {
    '--rate-limits': flags.rateLimits,
    '--api-version': flags.apiVersion,
    '--allow-private-files': flags.allowPrivateFiles,
    '--allow-html-files': flags.allowHtmlFiles,
    '--ipfs-gateway': flags.ipfsGateway,
    '--require-stored-files': flags.requireStoredFiles,
  }
  const differs = (flag: string) =>
    flagValues[flag] !== undefined && options[flag] !== undefined && flagValues[flag] !== options[flag]
  const flag = isOtherPort ? '--port' : Object.keys(flagValues).find(differs)
  if (flag === undefined) return
  const args = [...(port === undefined ? [] : ['--port', String(port)]), ...backendArgs(flags)].map(shellWord).join(' ')
  throw new GdnError('usage', `the local backend is already running on ${safe(url)}`, {
    place: { flag },
    hint: `Run \`gdn local stop\` first, then \`gdn local start ${args}\`.`,
  })
}

const backendArgs = (flags: StartFlags): string[] => [...servedApiArgs(flags), ...storedFilesArgs(flags)]

/**
 * Starts the backend on the given port. Without a given port, uses the last port or the default port, or a free one if
 * that port is in use.
 */
async function startOnSomePort(deps: Deps, flags: StartFlags, dataDir: string): Promise<SpawnedBackend> {
  const more = backendArgs(flags)
  if (flags.port !== undefined) return await spawnBackend(deps, dataDir, ['--port', String(flags.port), ...more])
  const port = Number((await readLastPort(dataDir)) ?? DEFAULT_PORT)
  if (await isFree(port)) {
    try {
      return await spawnBackend(deps, dataDir, ['--port', String(port), ...more])
    } catch (error) {
      // Another program may have started to use the port since the check.
      if (!(error instanceof GdnError) || error.code !== 'port_in_use') throw error
    }
  }
  return await spawnBackend(deps, dataDir, ['--port', '0', ...more])
}

/**
 * Returns whether a port is free. This check is quick, whereas the backend reports a used port only after half a second
 * of CPU time.
 */
async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
