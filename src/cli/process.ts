import { takeSecretVariables } from '../config/secret-variables.ts'
import { EXIT } from '../core/exit-codes.ts'
import { ownCommand } from '../core/own-command.ts'
import { harden, reportUncaught } from './io/harden.ts'
import { catchSignals } from './io/signals.ts'
import { watchStreams, writeAtOnce } from './io/watch-streams.ts'

/** Runs the command line with the streams, environment and signals of this process. */
export async function runFromProcess(argv: string[]): Promise<number> {
  harden(argv)
  const env = takeSecretVariables(process.env)
  reportUncaught(argv, writeAtOnce, EXIT.unexpected)
  const streams = watchStreams(argv)
  const signals = catchSignals({
    say: (text) => process.stderr.isTTY && writeAtOnce(text),
    exit: (code) => process.exit(code),
  })
  try {
    const { run } = await import('./run.ts')
    const program = ownCommand()
    const code = await run(argv, {
      env,
      cwd: process.cwd(),
      // Opened on first use, because most commands never read it.
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
      updateNotice({ env, cwd: process.cwd(), stderr: process.stderr, program, now: Date.now() })
    }
    const exitCode = streams.exitCode(code)
    leaveSoon(exitCode)
    return exitCode
  } finally {
    signals.release()
  }
}

/** Open handles close by themselves within this time, or never. */
const LEAVE_WITHIN_MS = 500

/**
 * Ends the process even if something keeps it alive, such as a connection to a server that no longer responds. A
 * finished command must not look busy. Waits for output that is not read yet.
 */
function leaveSoon(code: number): void {
  const leave = () => {
    if (process.stdout.writableLength === 0 && process.stderr.writableLength === 0) process.exit(code)
  }
  setInterval(leave, LEAVE_WITHIN_MS).unref()
  // When nothing is left to do. By itself, Node returns its memory to the system first, which takes 2 ms.
  process.once('beforeExit', () => process.exit(code))
}

/** Returns whether the output is for people who did not ask for less of it, or for no requests. */
async function isForPeople(argv: readonly string[]): Promise<boolean> {
  if (argv.includes('--offline')) return false
  const { ioSettings } = await import('./connect/settings-of-argv.ts')
  const { machine, quiet } = ioSettings(argv, process.env)
  return !machine && !quiet
}
