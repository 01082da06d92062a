import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { GdnError, systemCode } from '../../../core/errors.ts'
import { EXIT } from '../../../core/exit-codes.ts'
import { within } from '../../../core/within.ts'
import { GdnCommand, valueFlag } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import { addCommonFlags, type CommonFlags } from '../../flags/common.ts'
import { notEmpty, oneOf } from '../../flags/parse.ts'
import { addStoredFilesFlags, type StoredFilesFlags, storedFilesOptions } from '../../flags/stored-files.ts'
import { announceFaults, readFaults } from '../../request/faults.ts'
import { VERSION } from '../../version.ts'
import { unlessStopped } from '../serving.ts'

const CLOSE_WITHIN_MS = 5000

export interface ExecFlags extends CommonFlags, StoredFilesFlags {
  rateLimits?: 'on' | 'off'
  faults?: string
}

export function command(deps: Deps, run = exec): GdnCommand {
  const execCommand = new GdnCommand({
    about:
      'The command gets GDN_BASE_URL, GDN_API_KEY and its own GDN_STATE_DIR. gdn exits with its exit code. Nothing is left behind, even after an interruption, so it works well in CI.',
    examples: [
      ['Run tests against a real backend', 'gdn local exec -- npm test'],
      ['Run tests against a backend that fails', 'gdn local exec --faults faults.yaml -- npm test'],
      ['Run a script that uses gdn', 'gdn local exec -- sh release-drop.sh'],
    ],
  })
  execCommand.usageLine = '[flags] -- <command> [args...]'
  execCommand.argument('[command...]')
  execCommand.passThroughOptions()
  valueFlag(execCommand, '--rate-limits <on|off>', 'Rate limits of the API (on)', { parse: oneOf(['on', 'off']) })
  addStoredFilesFlags(execCommand)
  valueFlag(execCommand, '--faults <file>', 'Inject the failures that this file describes', { parse: notEmpty })
  addCommonFlags(execCommand)
  return execCommand.action(async (words: string[], flags: ExecFlags) => await run(deps, words, flags)) as GdnCommand
}

export async function exec(deps: Deps, words: readonly string[], flags: ExecFlags): Promise<void> {
  const { signals } = deps
  const [file, ...args] = words
  if (file === undefined) {
    throw new GdnError('usage', 'there is no command to run', {
      hint: 'Run `gdn local exec -- <command>`.',
    })
  }
  signals.own()
  const folder = await mkdtemp(join(tmpdir(), 'gdn-exec-'))
  try {
    deps.setExitCode(await withBackend(deps, folder, flags, (env) => runChild(deps, file, args, env)))
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function withBackend(
  { env, io, cwd, signals }: Deps,
  folder: string,
  flags: ExecFlags,
  work: (env: NodeJS.ProcessEnv) => Promise<number>,
): Promise<number> {
  const { startBackend } = await import('../../../server/main.ts')
  const starting = startBackend({
    host: '127.0.0.1',
    port: 0,
    dataDir: join(folder, 'data'),
    ...storedFilesOptions(flags, env),
    rateLimits: flags.rateLimits !== 'off',
    allowedHosts: [],
    faults: await readFaults(cwd, flags.faults),
    version: VERSION,
    logLevel: 'silent',
    logStream: { write: () => {} },
  })
  const backend = await unlessStopped(signals, starting)
  if (backend === null) throw signals.signal.reason
  announceFaults(io, backend.faults)
  try {
    const { GDN_PROFILE: _profile, ...rest } = env
    return await work({
      ...rest,
      GDN_BASE_URL: backend.url,
      GDN_API_KEY: backend.apiKey.reveal(),
      GDN_STATE_DIR: join(folder, 'state'),
    })
  } finally {
    await within(backend.close(), CLOSE_WITHIN_MS)
  }
}

/** Runs the command on our streams. Forwards the first signal to it, and kills it at the second one. */
async function runChild(deps: Deps, file: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { signal, again } = deps.signals
  if (signal.aborted) throw signal.reason
  return await new Promise((resolve, reject) => {
    const child = spawn(file, args, { stdio: 'inherit', env, cwd: deps.cwd })
    const passOn = () => {
      const interrupted = signal.reason instanceof GdnError && signal.reason.code === 'interrupted'
      // A terminal sends Ctrl-C to the command as well, and many programs stop at once at a second one.
      if (!interrupted) child.kill('SIGTERM')
      else if (!deps.io.stdin.isTTY) child.kill('SIGINT')
    }
    const end = () => child.kill('SIGKILL')
    signal.addEventListener('abort', passOn, { once: true })
    again.addEventListener('abort', end, { once: true })
    child.once('error', (error) => reject(cannotRun(file, error)))
    child.once('exit', (code, name) => {
      signal.removeEventListener('abort', passOn)
      again.removeEventListener('abort', end)
      resolve(code ?? (name === null ? EXIT.unexpected : 128 + constants.signals[name]))
    })
  })
}

function cannotRun(file: string, error: Error): GdnError {
  const missing = systemCode(error) === 'ENOENT'
  return new GdnError('usage', missing ? `command "${file}" not found` : `"${file}" can't be run: ${error.message}`)
}
