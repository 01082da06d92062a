import { takeSecretVariables } from '../config/secret-variables.ts'
import { GdnError, systemCode } from '../core/errors.ts'
import { EXIT } from '../core/exit-codes.ts'
import { ownCommand } from '../core/own-command.ts'
import { harden, reportUncaught } from './io/harden.ts'
import { catchSignals } from './io/signals.ts'
import { watchStreams, writeToStderrSync } from './io/watch-streams.ts'

/** Runs the command line with the streams, environment and signals of this process. */
export async function runFromProcess(argv: string[]): Promise<number> {
  harden(argv)
  const env = takeSecretVariables(process.env)
  reportUncaught(argv, writeToStderrSync, EXIT.unexpected)
  const streams = watchStreams(argv)
  const signals = catchSignals({
    say: (text) => process.stderr.isTTY && writeToStderrSync(text),
    exit: (code) => process.exit(code),
  })
  try {
    const { run } = await import('./run.ts')
    const program = ownCommand()
    const code = await run(argv, {
      env,
      get cwd() {
        return findWorkingDirectory() ?? throwNoDirectory()
      },
      // Open stdin on first use, because most commands never read it.
      get stdin() {
        return process.stdin
      },
      stdout: process.stdout,
      stderr: process.stderr,
      program,
      signals,
    })
    if (process.stderr.isTTY && (await isForPeople(argv))) {
      const { updateNotice } = await import('./update/notice.ts')
      updateNotice({ env, cwd: findWorkingDirectory() ?? '', stderr: process.stderr, program, now: Date.now() })
    }
    const exitCode = streams.exitCode(code)
    exitSoon(exitCode)
    return exitCode
  } finally {
    signals.release()
  }
}

/** Returns the working directory; null if it was deleted. */
function findWorkingDirectory(): string | null {
  try {
    return process.cwd()
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    return null
  }
}

/** @throws GdnError `file_error` */
function throwNoDirectory(): never {
  throw new GdnError('file_error', 'the working directory no longer exists', {
    hint: 'Change to another directory with `cd`, and run the same command again.',
  })
}

/** Grace period in milliseconds in which open handles can close. */
const LEAVE_WITHIN_MS = 500

/**
 * Ends the process even if an open handle keeps it alive, such as a connection to an unresponsive server. Otherwise, a
 * finished command would seem to hang. Waits until all output is written.
 */
function exitSoon(code: number): void {
  const leave = () => {
    if (process.stdout.writableLength === 0 && process.stderr.writableLength === 0) process.exit(code)
  }
  setInterval(leave, LEAVE_WITHIN_MS).unref()
  // Exit as soon as the event loop is empty. Otherwise, Node.js would first free its memory, which takes 2 ms.
  process.once('beforeExit', () => process.exit(code))
}

/** Returns whether to show the update notice. It isn't shown with --offline or -q, or with machine-readable output. */
async function isForPeople(argv: readonly string[]): Promise<boolean> {
  if (argv.includes('--offline')) return false
  const { parseIoSettings } = await import('./connect/settings-of-argv.ts')
  const { machine, quiet } = parseIoSettings(argv, process.env)
  return !machine && !quiet
}
