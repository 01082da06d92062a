import { takeSecretVariables } from '../config/secret-variables.ts'
import { EXIT } from '../core/exit-codes.ts'
import { harden, reportUncaught } from './io/harden.ts'
import { catchSignals } from './io/signals.ts'
import { watchStreams, writeAtOnce } from './io/watch-streams.ts'

/** Ties the command line to this process: its streams, environment and signals. The one edge of the CLI. */
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
    const program = { node: process.execPath, script: process.argv[1] ?? '' }
    const code = await run(argv, {
      env,
      cwd: process.cwd(),
      // Opened when it is read: most commands never do.
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

/** What is left then ends by itself at once, or never. */
const LEAVE_WITHIN_MS = 500

/**
 * Ends the process though something is still open that doesn't let it go, such as a connection to a server that no longer
 * answers: a command that is over must not look like one that works. What is written but not read yet is waited for.
 */
function leaveSoon(code: number): void {
  const leave = () => {
    if (process.stdout.writableLength === 0 && process.stderr.writableLength === 0) process.exit(code)
  }
  setInterval(leave, LEAVE_WITHIN_MS).unref()
}

/** Nothing is added to what programs, or people who want no words, asked for. */
async function isForPeople(argv: readonly string[]): Promise<boolean> {
  const { ioSettings } = await import('./connect/settings-of-argv.ts')
  const { machine, quiet } = ioSettings(argv, process.env)
  return !machine && !quiet
}
