import { formatProblem, GdnError, messageOf, type Place } from '../../core/errors.ts'
import { EXIT } from '../../core/exit-codes.ts'
import { fileError } from '../../core/file-error.ts'
import { terminalLines } from '../../core/terminal-text.ts'
import { REPORT_IT } from '../io/harden.ts'
import { type Io, safe } from '../io/io.ts'

interface Problem {
  place?: Place
  message: string
  hint?: string
}

const MAX_PROBLEMS_SHOWN = 50
const MAX_ALIKE_SHOWN = 5

/** Reports an error on stderr, for people or programs. @returns the exit code */
export function reportError(io: Io, stderr: { write(text: string): unknown }, error: unknown): number {
  const known = error instanceof GdnError ? error : (fileError(error) ?? undefined)
  const inert = (text: string) => (io.stderrTty ? terminalLines(text) : text)
  if (io.settings.machine) stderr.write(`${inert(JSON.stringify(asJson(error, known)))}\n`)
  else stderr.write(io.toWidth(known === undefined ? unexpectedText(error) : knownText(io, known)))
  if (io.settings.debug && error instanceof Error) stderr.write(`${safeLines(stackOf(error))}\n`)
  return known?.exitCode ?? EXIT.unexpected
}

function asJson(error: unknown, known: GdnError | undefined): object {
  if (known === undefined) {
    return { error: { code: 'unexpected', message: messageOf(error), hint: REPORT_IT, details: null } }
  }
  const { code, hint, place, details } = known
  return {
    error: {
      code,
      message: formatProblem(known),
      hint: hint ?? null,
      details: details ?? (place === undefined ? null : { place }),
    },
  }
}

function knownText(io: Io, error: GdnError): string {
  const mark = io.errPaint.bad('error:')
  const lines = [`${mark} ${safeLines(formatProblem(error))}`, ...problemLines(error)]
  if (error.hint !== undefined) lines.push(`  ${safeLines(error.hint)}`)
  return `${lines.join('\n')}\n`
}

/** Formats the other problems. Of many similar problems, only the first few are shown. */
function problemLines({ message: first, hint, details }: GdnError): string[] {
  const problems = problemsOf(details).filter(({ message }, i) => i > 0 || !first.includes(message))
  const alike = new Map<string, number>()
  const lines: string[] = []
  let left = 0
  for (const problem of problems) {
    const seen = (alike.get(problem.message) ?? 0) + 1
    alike.set(problem.message, seen)
    if (seen > MAX_ALIKE_SHOWN || lines.length === MAX_PROBLEMS_SHOWN) {
      left += 1
      continue
    }
    const advice = problem.hint === undefined || problem.hint === hint ? '' : ` (${safe(problem.hint)})`
    lines.push(`  ${safeLines(formatProblem(problem))}${advice}`)
  }
  return left === 0 ? lines : [...lines, `  … and ${left} more. Add --json to list them.`]
}

/** Several problems of one input are in `details.issues`. The first one is also the message. */
function problemsOf(details: unknown): Problem[] {
  if (details === null || typeof details !== 'object' || !('issues' in details) || !Array.isArray(details.issues))
    return []
  return details.issues
}

const safeLines = (text: string) => text.split('\n').map(safe).join('\n  ')

function unexpectedText(error: unknown): string {
  return `error: unexpected: ${safeLines(messageOf(error))}\n  ${REPORT_IT}\n`
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${stackOf(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}
