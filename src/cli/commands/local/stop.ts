import { findRunningBackend, type RunningBackend } from '../../../config/local-backend.ts'
import { localDataDirectory } from '../../../config/paths.ts'
import { GdnError, systemCode } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput, isOutputRequested } from '../../render/output.ts'
import { BACKEND_VIEW, backendData } from './backend-view.ts'

const STOP_WITHIN_MS = 10_000
const KILL_WITHIN_MS = 2000
const POLL_INTERVAL_MS = 50

export function command(deps: Deps, run = stop): GdnCommand {
  return new GdnCommand({
    about: 'The backend keeps its data for the next gdn local start.',
    examples: [['Stop the local backend', 'gdn local stop']],
  })
    .with(addOutputFlags)
    .action(async (flags: OutputFlags) => await run(deps, flags))
}

export async function stop(deps: Deps, flags: OutputFlags): Promise<void> {
  const { io, env } = deps
  const output = createOutput(io, flags, BACKEND_VIEW)
  const dataDir = localDataDirectory(env)
  const backend = await findRunningBackend(dataDir)
  if (env.GDN_EXEC_DATA_DIR) io.note('The backend of gdn local exec stops when its command ends.')
  else if (backend === null) io.note('The local backend is not running.')
  else await stopBackend(deps, dataDir, backend)
  if (isOutputRequested(flags)) await output.one(backendData(await findRunningBackend(dataDir), dataDir))
}

/** Sends SIGTERM, and then SIGKILL if the backend doesn't exit in time. Neither loses data. */
async function stopBackend(deps: Deps, dataDir: string, backend: RunningBackend): Promise<void> {
  const { io } = deps
  const progress = await io.progress('Stopping the local backend')
  try {
    send(backend.pid, 'SIGTERM')
    if (await waitUntilEnded(deps, dataDir, backend, STOP_WITHIN_MS)) {
      progress.stop()
      return io.note('The local backend is stopped.')
    }
    send(backend.pid, 'SIGKILL')
    if (await waitUntilEnded(deps, dataDir, backend, KILL_WITHIN_MS)) {
      progress.stop()
      return io.warn(
        `The local backend did not stop within ${STOP_WITHIN_MS / 1000} s and was killed. No data is lost.`,
      )
    }
    throw new GdnError('unexpected', `process ${backend.pid} does not exit`, {
      hint: `Run \`kill -9 ${backend.pid}\` to end it.`,
    })
  } finally {
    progress.stop()
  }
}

async function waitUntilEnded(
  deps: Deps,
  dataDir: string,
  { pid }: RunningBackend,
  withinMs: number,
): Promise<boolean> {
  const until = performance.now() + withinMs
  for (;;) {
    const backend = await findRunningBackend(dataDir)
    if ((backend === null || backend.pid !== pid) && !isProcess(pid)) return true
    if (performance.now() > until) return false
    await deps.sleep(POLL_INTERVAL_MS, deps.signals.signal)
  }
}

function isProcess(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return systemCode(error) === 'EPERM'
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error
  }
}
