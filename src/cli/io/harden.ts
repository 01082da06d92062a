import { writeFileSync } from 'node:fs'
import { redactText } from '../../core/redact.ts'

/**
 * Makes this process keep what it knows: called before anything secret is read. Each measure is one that may be
 * missing: none is worth failing for.
 *
 * @param argv what the process was asked for
 */
export function harden(argv: readonly string[]): void {
  const [noun, verb] = argv
  // A command of the user's own inherits this, and is to have its own.
  if (!(noun === 'local' && verb === 'exec')) leaveOutOfCoreFiles()
  // A debugger would show everything, and listens where other users of the machine reach it.
  if (process.platform !== 'win32') process.on('SIGUSR1', () => {})
  const { report } = process as { report?: { excludeEnv?: boolean } }
  if (report !== undefined && 'excludeEnv' in report) report.excludeEnv = true
}

/**
 * A core file of this process, and of what it starts, holds none of its memory. Node.js can't set a limit, but Linux
 * lets a process say what of it is dumped: of no kind of mapping.
 */
function leaveOutOfCoreFiles(): void {
  if (process.platform !== 'linux') return
  try {
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    // No /proc, or a kernel that dumps nothing.
  }
}

/**
 * Has an error that nobody caught told as any other, without secrets, in place of Node's own words with all that the
 * error carries.
 */
export function reportUncaught(argv: readonly string[], say: (text: string) => void, exitCode: number): void {
  process.on('uncaughtException', (error: unknown) => {
    const isDebug = argv.includes('--debug') || (process.env.GDN_DEBUG ?? '') !== ''
    say(uncaughtText(error, { inJson: argv.includes('--json'), isDebug }))
    process.exit(exitCode)
  })
}

const REPORT_IT = 'this is a fault of gdn: run it again with --debug and report what it says; keys are never in it'

function uncaughtText(error: unknown, { inJson, isDebug }: { inJson: boolean; isDebug: boolean }): string {
  const message = redactText(error instanceof Error ? error.message : String(error))
  const stack = isDebug && error instanceof Error ? `${redactText(error.stack ?? '')}\n` : ''
  const report = { error: { code: 'unexpected', message, hint: REPORT_IT, details: null } }
  return (inJson ? `${JSON.stringify(report)}\n` : `error: unexpected: ${message}\n  ${REPORT_IT}\n`) + stack
}
