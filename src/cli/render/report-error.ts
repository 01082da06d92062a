import { formatPlace, formatProblem, GdnError, messageOf, type Place } from '../../core/errors.ts'
import { EXIT } from '../../core/exit-codes.ts'
import { fileError } from '../../core/file-error.ts'
import { terminalLines } from '../../core/terminal-text.ts'
import { REPORT_BUG_HINT } from '../io/harden.ts'
import { type Io, safe } from '../io/io.ts'
import { findExplanation } from './docs-site.ts'

interface ErrorProblem {
  place?: Place
  message: string
  hint?: string
}

const MAX_SHOWN_PROBLEMS = 50
const MAX_SHOWN_PER_GROUP = 5

/**
 * Reports an error on stderr, as text or JSON.
 *
 * @returns the exit code
 */
export function reportError(io: Io, stderr: { write(text: string): unknown }, error: unknown): number {
  const gdnError = error instanceof GdnError ? error : (fileError(error) ?? undefined)
  const inert = (text: string) => (io.stderrTty ? terminalLines(text) : text)
  if (io.settings.machine) stderr.write(`${inert(JSON.stringify(asJson(error, gdnError)))}\n`)
  else stderr.write(io.toWidth(gdnError === undefined ? unexpectedText(error) : knownText(io, gdnError)))
  if (io.settings.debug && error instanceof Error) stderr.write(`${safeLines(formatStack(error))}\n`)
  return gdnError?.exitCode ?? EXIT.unexpected
}

function asJson(error: unknown, gdnError: GdnError | undefined): object {
  if (gdnError === undefined) {
    return { error: { code: 'unexpected', message: messageOf(error), hint: REPORT_BUG_HINT, details: null } }
  }
  const { code, hint, place, details } = gdnError
  return {
    error: {
      code,
      message: formatProblem(gdnError),
      hint: hint ?? null,
      details: details ?? (place === undefined ? null : { place }),
    },
  }
}

function knownText(io: Io, error: GdnError): string {
  const mark = io.errPaint.bad('error:')
  const { firstLine, otherLines, isHintOfFirst } = problemLines(error)
  const hint = error.hint === undefined ? [] : [`  ${safeLines(error.hint)}`]
  const head = `${mark} ${safeLines(firstLine ?? formatProblem(error))}`
  const where = findExplanation(error.code)
  const more = where === null ? [] : [`  ${io.errPaint.dim(`See: ${where}`)}`]
  const lines = [head, ...(isHintOfFirst ? [...hint, ...otherLines] : [...otherLines, ...hint]), ...more]
  return `${lines.join('\n')}\n`
}

interface ProblemLines {
  /** The text that replaces the first line of the error if its problem occurs many times; undefined otherwise. */
  firstLine: string | undefined
  otherLines: string[]
  /** Whether the error's hint applies only to its first problem. */
  isHintOfFirst: boolean
}

/**
 * Formats the problems of an error. A problem that occurs many times takes one line. Each hint is shown once, below the
 * first problem to which it applies.
 */
function problemLines({ message, hint, details }: GdnError): ProblemLines {
  const problems = parseProblems(details)
  const alike = new Map<string, ErrorProblem[]>()
  for (const problem of problems) {
    const alikeProblems = alike.get(problemGroupKey(problem))
    if (alikeProblems === undefined) alike.set(problemGroupKey(problem), [problem])
    else alikeProblems.push(problem)
  }
  const lines: string[] = []
  let firstLine: string | undefined
  let shownCount = 0
  let unlisted = parseIssueCount(details) - problems.length
  const hints = new Set([hint])
  for (const [i, problem] of problems.entries()) {
    const alikeProblems = alike.get(problemGroupKey(problem)) ?? []
    const isMany = alikeProblems.length > MAX_SHOWN_PER_GROUP
    if (isMany && alikeProblems[0] !== problem) continue
    const text = formatProblem(problem) + (isMany ? placesText(alikeProblems) : '')
    if (i === 0 && message.includes(problem.message)) {
      if (isMany) firstLine = text
    } else if (shownCount === MAX_SHOWN_PROBLEMS) {
      unlisted += isMany ? alikeProblems.length : 1
    } else {
      lines.push(`  ${safeLines(text)}`)
      if (problem.hint !== undefined && !hints.has(problem.hint)) lines.push(`    ${safeLines(problem.hint)}`)
      hints.add(problem.hint)
      shownCount++
    }
  }
  if (unlisted > 0) lines.push(`  … and ${unlisted} more. Add --json to list them.`)
  return {
    firstLine,
    otherLines: lines,
    isHintOfFirst: problems[0]?.hint === hint && problems.some((problem) => problem.hint !== hint),
  }
}

const problemGroupKey = ({ message, hint, place = {} }: ErrorProblem): string =>
  JSON.stringify([message, hint, place.file])

/** Formats the number of times that a problem occurs, and its first places. */
function placesText(problems: readonly ErrorProblem[]): string {
  const places = problems.slice(0, MAX_SHOWN_PER_GROUP).map(({ place = {} }) => place)
  const where = places.every(({ line }) => line !== undefined)
    ? `on lines ${places.map(({ line }) => line).join(', ')}`
    : places.map(formatPlace).join(', ')
  return ` (${problems.length} times: ${where}, …)`
}

/**
 * Returns `details.issues`, which errors with several problems contain. The first issue is also the error's message.
 */
function parseProblems(details: unknown): ErrorProblem[] {
  if (details === null || typeof details !== 'object' || !('issues' in details) || !Array.isArray(details.issues))
    return []
  return details.issues
}

/** Returns the total number of problems. `details.issues` may contain only the first ones. */
function parseIssueCount(details: unknown): number {
  const listed = parseProblems(details).length
  const { issue_count: all } = (details ?? {}) as { issue_count?: unknown }
  return listed > 0 && typeof all === 'number' ? Math.max(all, listed) : listed
}

const safeLines = (text: string) => text.split('\n').map(safe).join('\n  ')

function unexpectedText(error: unknown): string {
  return `error: unexpected: ${safeLines(messageOf(error))}\n  ${REPORT_BUG_HINT}\n`
}

function formatStack(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${formatStack(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}
