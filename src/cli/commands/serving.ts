import { resolve } from 'node:path'
import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { rejectOnAbort } from '../../core/or-aborted.ts'
import { openToAppend } from '../../core/private-file.ts'
import type { GdnCommand } from '../command.ts'
import { notEmpty, oneOf } from '../flags/common.ts'
import { type Io, safe } from '../io/io.ts'
import type { Signals } from '../io/signals.ts'
import { formatLocalTime } from '../text/local-time.ts'

const LOG_LEVELS = ['silent', 'info', 'debug'] as const

export interface LogFlags {
  logLevel?: (typeof LOG_LEVELS)[number]
  logFile?: string
}

export function addLogFlags(command: GdnCommand): void {
  const levels = 'Log level: silent, info or debug (readable warnings, or info with --log-file)'
  command.valueFlag('--log-level <level>', levels, oneOf(LOG_LEVELS))
  command.valueFlag('--log-file <file>', 'Write the log to this file instead of stderr', notEmpty)
}

/** Returns the log settings of a backend. Without log flags, the log is silent and warnings are readable. */
export async function logOptions(
  { logLevel, logFile }: LogFlags,
  io: Pick<Io, 'errPaint' | 'log' | 'warn'>,
  signals: Pick<Signals, 'signal'>,
) {
  return {
    logLevel: logLevel ?? (logFile === undefined ? ('silent' as const) : ('info' as const)),
    logStream: logFile === undefined ? { write: (line: string) => io.log(line) } : await appendTo(resolve(logFile)),
    warn: logLevel === undefined && logFile === undefined ? createWarner(io, signals) : undefined,
  }
}

/**
 * Opens a log file for appending. Discards lines that can't be written, because a failed write must not stop the
 * backend.
 */
async function appendTo(path: string): Promise<{ write(line: string): void }> {
  const { createWriteStream } = await import('node:fs')
  const stream = createWriteStream(path, { fd: openLog(path) })
  stream.on('error', () => {})
  return { write: (line) => void stream.write(line) }
}

/** Returns a function that prints a backend's warnings with timestamps until the backend stops. */
const createWarner =
  ({ errPaint, warn }: Pick<Io, 'errPaint' | 'warn'>, { signal }: Pick<Signals, 'signal'>) =>
  (line: string): void => {
    if (!signal.aborted) warn(`${errPaint.dim(formatLocalTime(Date.now(), 'minute'))}  ${line}`)
  }

function openLog(path: string): number {
  try {
    return openToAppend(path)
  } catch (cause) {
    const isLink = systemCode(cause) === 'ELOOP'
    throw new GdnError('usage', isLink ? `${path} is a symbolic link` : `can't be written: ${messageOf(cause)}`, {
      place: { flag: '--log-file' },
      hint: 'Use a file that you own, in an existing folder.',
      cause,
    })
  }
}

/** Prints the problems that a backend has found at its start. */
export function warnOfProblems({ warn }: Pick<Io, 'warn'>, problems: readonly string[]): void {
  for (const problem of problems) warn(`${safe(problem)}. Affected jobs wait until the problem is resolved.`)
}

/** Maximum time for work in progress after a stop signal. */
const END_WITHIN_MS = 2000

/**
 * Returns the result of work, such as the start of a backend; null if a signal stopped the work. Abandons the work on a
 * second signal, or if it doesn't end in time after the first signal, for example because a database doesn't respond.
 * Abandoning work is as safe as killing the process.
 */
export async function runUnlessStopped<Result>(
  { signal, again }: Pick<Signals, 'signal' | 'again'>,
  work: Promise<Result>,
): Promise<Result | null> {
  const patience = new AbortController()
  const lose = () => patience.abort()
  let timer: NodeJS.Timeout | undefined
  const onSignal = () => {
    timer = setTimeout(lose, END_WITHIN_MS)
  }
  if (signal.aborted) onSignal()
  else signal.addEventListener('abort', onSignal, { once: true })
  again.addEventListener('abort', lose, { once: true })
  try {
    return await rejectOnAbort(work, patience.signal)
  } catch (error) {
    if (signal.aborted) return null
    throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onSignal)
    again.removeEventListener('abort', lose)
  }
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }))
}
