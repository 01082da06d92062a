import { writeFileSync } from 'node:fs'
import { redactText } from '../../core/redact.ts'

/**
 * Protects the secrets of this process from leaking. Must be called before any secret is read. Skips measures that the
 * system doesn't support.
 *
 * @param argv the arguments of the process
 */
export function harden(argv: readonly string[]): void {
  const [noun, verb] = argv
  // Don't change the core dump filter for `gdn local exec`, because the user's command would inherit it.
  if (!(noun === 'local' && verb === 'exec')) excludeFromCoreDumps()
  // Ignore the signal that starts the debugger. The debugger would expose all memory on a port that other local users
  // can reach.
  if (process.platform !== 'win32') process.on('SIGUSR1', () => {})
  const { report } = process as { report?: { excludeEnv?: boolean } }
  if (report !== undefined && 'excludeEnv' in report) report.excludeEnv = true
}

/**
 * Excludes the memory of this process and its children from core dumps. Node.js can't set the resource limit for core
 * dumps. On Linux, however, a process can filter all of its mappings out of the dump.
 */
function excludeFromCoreDumps(): void {
  if (process.platform !== 'linux') return
  try {
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    // /proc isn't mounted, or the kernel doesn't support core dumps.
  }
}

/**
 * Reports uncaught exceptions in gdn's error format, with secrets redacted. Node.js would print all properties of the
 * exception.
 */
export function reportUncaught(argv: readonly string[], say: (text: string) => void, exitCode: number): void {
  process.on('uncaughtException', (error: unknown) => {
    const isDebug = argv.includes('--debug') || (process.env.GDN_DEBUG ?? '') !== ''
    say(uncaughtText(error, { inJson: argv.includes('--json'), isDebug }))
    process.exit(exitCode)
  })
}

export const REPORT_BUG_HINT =
  'This is a bug in gdn. Run the command again with --debug, and report the output at https://github.com/OWNER/gdn/issues. Keys are shown as [redacted].'

function uncaughtText(error: unknown, { inJson, isDebug }: { inJson: boolean; isDebug: boolean }): string {
  const message = redactText(error instanceof Error ? error.message : String(error))
  const stack = isDebug && error instanceof Error ? `${redactText(error.stack ?? '')}\n` : ''
  const report = { error: { code: 'unexpected', message, hint: REPORT_BUG_HINT, details: null } }
  return (inJson ? `${JSON.stringify(report)}\n` : `error: unexpected: ${message}\n  ${REPORT_BUG_HINT}\n`) + stack
}
