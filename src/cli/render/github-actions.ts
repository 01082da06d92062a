import { appendFile, realpath } from 'node:fs/promises'
import { isAbsolute, relative, resolve } from 'node:path'
import type { BatchSummary, ManifestChanges } from '../../batch/types.ts'
import { count } from '../../core/count.ts'
import { type ErrorCode, formatProblem, type GdnError, type Place } from '../../core/errors.ts'
import { shorten } from '../../core/shorten.ts'
import { fileLines } from '../../manifest/file-lines.ts'
import { isInActions } from '../io/in-actions.ts'
import { safe } from '../io/io.ts'
import { formatRowsByState } from './count.ts'
import { differingRowsText } from './differing-rows-text.ts'

/** Maximum number of annotations that GitHub shows per step. */
const MAX_ANNOTATIONS = 10
const MAX_ROWS = 20

interface GithubEnvironment {
  env: NodeJS.ProcessEnv
  cwd: string
}

interface Annotation {
  file?: string
  line?: number | undefined
  column?: number | undefined
  message: string
}

/** Formats problems in files and manifest rows as workflow commands, which GitHub shows as annotations. */
export async function formatAnnotations(error: GdnError, where: GithubEnvironment): Promise<string> {
  const all = [...findProblems(error), ...findRowAnnotations(error)]
  const shownAnnotations = await toLineNumbers(all.slice(0, MAX_ANNOTATIONS), where)
  return (await Promise.all(shownAnnotations.map((annotation) => formatCommand(annotation, where)))).join('')
}

/**
 * Converts the row numbers of CSV files to line numbers. Rows are numbered as in a spreadsheet, but a cell can span
 * several lines.
 */
async function toLineNumbers(annotations: readonly Annotation[], { cwd }: GithubEnvironment): Promise<Annotation[]> {
  const rows = new Map<string, Set<number>>()
  for (const { file, line } of annotations) {
    if (file !== undefined && line !== undefined) rows.set(file, (rows.get(file) ?? new Set()).add(line))
  }
  const linesByFile = new Map<string, ReadonlyMap<number, number>>()
  for (const [file, lines] of rows) linesByFile.set(file, await fileLines(resolve(cwd, file), lines))
  return annotations.map((annotation) => {
    const { file = '', line, message } = annotation
    const fileLine = line === undefined ? undefined : linesByFile.get(file)?.get(line)
    // GitHub expects a character position. A CSV column is a cell number, so omit it.
    return fileLine === undefined ? annotation : { file, line: fileLine, message }
  })
}

function findProblems({ place, message, details }: GdnError): Annotation[] {
  const issues = objectOrEmpty(details).issues
  const problems = Array.isArray(issues) && issues.length > 0 ? (issues as { place?: Place; message: string }[]) : null
  return (problems ?? [{ place, message }]).flatMap((problem) => {
    const { file, line, column, field } = problem.place ?? {}
    if (file === undefined) return []
    const text = formatProblem({ place: { field }, message: problem.message })
    return [{ file, line, column, message: text }]
  })
}

const FORMAT_REASON_BY_LIST = {
  failed_rows: (row: Row) => row.error,
  unknown_rows: () => 'its outcome is unknown',
  doubled_rows: (row: Row) => `possibly minted twice: ${row.reason}`,
  differing_rows: (row: Row) => row.differs,
} as const

type Row = Readonly<Record<string, unknown>>

/**
 * Returns annotations for rows of a run that have a problem. Returns an empty list if the run has no manifest file.
 */
function findRowAnnotations({ details }: GdnError): Annotation[] {
  const { manifest, ...rows } = objectOrEmpty(details)
  if (typeof manifest !== 'string') return []
  return Object.entries(FORMAT_REASON_BY_LIST).flatMap(([name, reason]) => {
    const list = rows[name]
    if (!Array.isArray(list)) return []
    return (list as Row[]).map((row) => ({
      file: manifest,
      line: Number(row.line),
      message: `row ${String(row.key)}: ${String(reason(row))}`,
    }))
  })
}

const objectOrEmpty = (value: unknown): Row => (value !== null && typeof value === 'object' ? (value as Row) : {})

/**
 * Formats a workflow command. Escapes line breaks and separators in the same way as command.ts in
 * github.com/actions/toolkit.
 */
async function formatCommand({ file, line, column, message }: Annotation, where: GithubEnvironment): Promise<string> {
  const properties = { file: file === undefined ? undefined : await toRepositoryPath(file, where), line, col: column }
  const definedProperties = Object.entries(properties).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${escapeData(String(value)).replaceAll(':', '%3A').replaceAll(',', '%2C')}`],
  )
  return `::error ${definedProperties.join(',')}::${escapeData(message.split('\n').map(safe).join('\n'))}\n`
}

const escapeData = (text: string) => text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

/**
 * Returns a path relative to the repository, as GitHub expects. A path outside of the repository is relative to the
 * current folder, or absolute. Also resolves links, because a run stores the real path of its manifest.
 */
async function toRepositoryPath(file: string, { env, cwd }: GithubEnvironment): Promise<string> {
  const path = resolve(cwd, file)
  const real = await realPath(path)
  for (const root of [env.GITHUB_WORKSPACE || cwd, cwd]) {
    const inRoot = pathBelow(root, path) ?? pathBelow(await realPath(root), real)
    if (inRoot !== null) return inRoot
  }
  return real
}

const realPath = (path: string) => realpath(path).catch(() => path)

function pathBelow(root: string, file: string): string | null {
  const path = relative(root, file)
  return path.startsWith('..') || isAbsolute(path) ? null : path.replaceAll('\\', '/')
}

/** The data about a run in a job summary. */
export interface JobSummary
  extends Pick<BatchSummary, 'run' | 'counts' | 'requests' | 'failedRows' | 'unknownRows' | 'stopped'> {
  changes: Pick<ManifestChanges, 'keptAccepted'>
  /** The path of the manifest; null if the run read standard input. */
  manifestPath: string | null
}

/**
 * Appends the result of a run to the job summary of GitHub Actions. Does nothing outside of Actions. Returns a write
 * error instead of throwing it, so that it doesn't affect the run.
 *
 * @returns the write error; null if there is none
 */
export async function addJobSummary(summary: JobSummary, where: GithubEnvironment): Promise<unknown> {
  return await addToSummary(summaryText(summary, await manifestLine(summary.manifestPath, where)), where.env)
}

/** Errors that stop a run before it can write its own summary. */
const CODES_BEFORE_RUN: ReadonlySet<ErrorCode> = new Set(['invalid_manifest', 'edited_rows', 'seems_minted'])

/** Appends an error to the job summary of GitHub Actions, but only if it stopped a run before the run was opened. */
export async function addErrorSummary(error: GdnError, where: GithubEnvironment): Promise<void> {
  if (!CODES_BEFORE_RUN.has(error.code)) return
  const problems = findProblems(error)
  const manifest = await manifestLine(problems.find(({ file }) => file !== undefined)?.file ?? null, where)
  await addToSummary(errorText(error, problems, manifest), where.env)
}

/** Returns the summary lines about the manifest; an empty list if the run read standard input. */
const manifestLine = async (file: string | null, where: GithubEnvironment): Promise<string[]> =>
  file === null ? [] : [`Manifest: ${escapeMarkdown(await toRepositoryPath(file, where))}`, '']

function errorText(error: GdnError, problems: readonly Annotation[], manifest: readonly string[]): string {
  const table = problems
    .slice(0, MAX_ROWS)
    .map(({ line, message }) => `| ${line ?? ''} | ${message.split('\n').map(escapeMarkdown).join(' ')} |`)
  const unlisted = Number(objectOrEmpty(error.details).issue_count ?? problems.length) - table.length
  return [
    '### gdn sent nothing',
    '',
    ...manifest,
    ...error.message.split('\n').flatMap((line) => [escapeMarkdown(line), '']),
    ...(table.length === 0 ? [] : ['| line | problem |', '| ---: | --- |', ...table, '']),
    ...(table.length > 0 && unlisted > 0 ? [`… and ${unlisted} more`, ''] : []),
    '',
  ].join('\n')
}

async function addToSummary(text: string, env: NodeJS.ProcessEnv): Promise<unknown> {
  const file = env.GITHUB_STEP_SUMMARY
  if (!isInActions(env) || file === undefined || file === '') return null
  try {
    await appendFile(file, text)
    return null
  } catch (error) {
    return error
  }
}

function summaryText(
  { run, counts, requests, changes, failedRows, unknownRows, stopped }: JobSummary,
  manifest: readonly string[],
): string {
  const states = ['deployed', 'accepted', 'pending', 'failed', 'unknown'] as const
  const lines = [
    `### gdn batch ${escapeMarkdown(run.name)}`,
    '',
    ...manifest,
    ...(stopped === null ? [] : [escapeMarkdown(stopped.message), '']),
    `${escapeMarkdown(formatRowsByState({ ...counts }))}, in ${count(requests, 'request')}`,
    '',
    ...(changes.keptAccepted > 0
      ? [escapeMarkdown(differingRowsText(changes.keptAccepted, '`gdn plan` with the manifest')), '']
      : []),
    `| ${states.join(' | ')} |`,
    `| ${states.map(() => '---:').join(' | ')} |`,
    `| ${states.map((state) => counts[state]).join(' | ')} |`,
    '',
  ]
  const rows = [
    ...failedRows.map(({ line, key, error }) => [line, key, error] as const),
    ...unknownRows.map(({ line, key }) => [line, key, 'outcome unknown'] as const),
  ]
  if (rows.length === 0) return `${lines.join('\n')}\n`
  const table = rows
    .slice(0, MAX_ROWS)
    .map(([line, key, why]) => `| ${line} | ${escapeMarkdown(key)} | ${escapeMarkdown(why)} |`)
  lines.push('| line | row | reason |', '| ---: | --- | --- |', ...table, '')
  const unlisted = counts.failed + counts.unknown - table.length
  if (unlisted > 0) lines.push(`… and ${unlisted} more`, '')
  return `${lines.join('\n')}\n`
}

const MAX_TEXT_CHARACTERS = 300

/**
 * Escapes external text for Markdown. All characters that could be markup, HTML or part of a link become entities.
 */
function escapeMarkdown(text: string): string {
  return safe(shorten(text, MAX_TEXT_CHARACTERS)).replace(
    /[^\p{L}\p{N}\p{M} ]/gu,
    (char) => `&#${char.codePointAt(0)};`,
  )
}
