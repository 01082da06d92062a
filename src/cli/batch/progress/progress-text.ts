import { groupDigits } from '../../../core/group-digits.ts'
import { safe } from '../../io/io.ts'
import type { Paint } from '../../io/paint.ts'
import { clock } from '../../text/clock.ts'
import { cutToWidth, displayWidth } from '../../text/display-width.ts'
import { wrap } from '../../text/wrap.ts'
import type { Phase, ProgressState } from './progress-state.ts'

export interface BlockStyle {
  /** Number of columns of the terminal. */
  columns: number
  paint: Paint
  /** Whether the terminal or its font lacks block characters. */
  ascii: boolean
}

const ROW_STATES = ['deployed', 'accepted', 'failed', 'unknown', 'pending'] as const
type RowState = (typeof ROW_STATES)[number]

// Use a separate mark for each state, so that the bar is readable without color.
const MARKS: Readonly<Record<RowState, string>> = {
  deployed: '█',
  accepted: '▒',
  failed: 'x',
  unknown: '?',
  pending: '·',
}
const ASCII_MARKS: Readonly<Record<RowState, string>> = { ...MARKS, deployed: '#', accepted: '=', pending: '.' }

const MAX_BLOCK_COLUMNS = 100
/**
 * Maximum number of lines for the phase, because a server can return a reason of any length. The reasons of gdn's
 * backend need at most six lines of 80 columns.
 */
const MAX_PHASE_LINES = 8

/** Formats the block on a terminal: run, bar of all rows, rows by state, rate and time left, and current phase. */
export function formatBlock(state: ProgressState, now: number, look: BlockStyle): string[] {
  const width = Math.max(10, Math.min(look.columns - 1, MAX_BLOCK_COLUMNS))
  const lines = [cutToWidth(formatHeading(state), width)]
  if (state.counts !== null && state.counts.total > 0) {
    lines.push(formatBar(state.counts, width, look), ...formatLegend(state.counts, width, look))
  }
  lines.push(
    cutToWidth(
      [...formatRate(state, now), `${clock(now - state.startedAt)} elapsed`].join(formatSeparator(look)),
      width,
    ),
  )
  const doing = wrap(phaseText(state.phase(now), state, now), width).map((line) => cutToWidth(line, width))
  const rest = doing.slice(MAX_PHASE_LINES - 1)
  const last = rest.length > 1 ? [cutToWidth(`${rest[0]} …`, width)] : rest
  return [...lines, ...doing.slice(0, MAX_PHASE_LINES - 1), ...last]
}

/**
 * Formats the progress as one line, for a log.
 *
 * @param isSaid whether an earlier line contains the reason for the wait. If so, this line omits the reason.
 */
export function formatLine(state: ProgressState, now: number, isSaid = false): string {
  const { counts, title } = state
  const parts: string[] = []
  if (counts !== null) {
    const otherStates = ROW_STATES.filter((name) => name !== 'deployed' && counts[name] > 0)
    const rows = otherStates.map((name) => `${groupDigits(counts[name])} ${name}`)
    parts.push([`${groupDigits(counts.deployed)} of ${rowCountText(counts.total)} deployed`, ...rows].join(', '))
  }
  parts.push(phaseText(state.phase(now), state, now, isSaid ? 'without' : 'first'), ...formatRate(state, now))
  return `${title === null ? '' : `${safe(title)}: `}${parts.join('; ')}`
}

const formatSeparator = ({ ascii }: BlockStyle) => (ascii ? ' - ' : ' · ')
const rowCountText = (total: number) => `${groupDigits(total)} row${total === 1 ? '' : 's'}`

function formatHeading({ title, counts }: ProgressState): string {
  if (title === null) return 'gdn batch'
  return counts === null
    ? safe(title)
    : `${safe(title)}: ${groupDigits(counts.deployed)} of ${rowCountText(counts.total)} deployed`
}

type StateCounts = Readonly<Record<RowState, number>> & { total: number }

/**
 * Divides the bar in proportion to the number of rows. Each state with rows gets at least one column, taken from the
 * largest state if necessary.
 */
export function barWidths(counts: StateCounts, width: number): Record<RowState, number> {
  const widths = { deployed: 0, accepted: 0, failed: 0, unknown: 0, pending: 0 }
  const sum = ROW_STATES.reduce((all, name) => all + counts[name], 0)
  if (sum === 0) return { ...widths, pending: width }
  for (const name of ROW_STATES) {
    widths[name] = counts[name] === 0 ? 0 : Math.max(1, Math.round((counts[name] / sum) * width))
  }
  const largest = ROW_STATES.reduce((most, name) => (widths[name] > widths[most] ? name : most))
  const used = ROW_STATES.reduce((all, name) => all + widths[name], 0)
  widths[largest] = Math.max(1, widths[largest] + width - used)
  return widths
}

function formatBar(counts: StateCounts, width: number, look: BlockStyle): string {
  const widths = barWidths(counts, width)
  const marks = look.ascii ? ASCII_MARKS : MARKS
  return ROW_STATES.map((name) => paintState(name, marks[name].repeat(widths[name]), look.paint)).join('')
}

/** Formats the legend: the mark, row count and name of each state, on as many lines as needed. */
function formatLegend(counts: StateCounts, width: number, look: BlockStyle): string[] {
  const marks = look.ascii ? ASCII_MARKS : MARKS
  const lines: string[] = []
  let line = ''
  let used = 0
  for (const name of ROW_STATES.filter((state) => counts[state] > 0)) {
    const text = cutToWidth(`${marks[name]} ${groupDigits(counts[name])} ${name}`, width)
    const size = displayWidth(text)
    if (used > 0 && used + 3 + size > width) {
      lines.push(line)
      line = ''
      used = 0
    }
    line += `${used === 0 ? '' : '   '}${paintState(name, text, look.paint)}`
    used += size + (used === 0 ? 0 : 3)
  }
  return [...lines, line]
}

function paintState(state: RowState, text: string, paint: Paint): string {
  if (text === '') return ''
  if (state === 'deployed') return paint.good(text)
  if (state === 'accepted') return paint.busy(text)
  return state === 'pending' ? paint.dim(text) : paint.bad(text)
}

/**
 * Reasons for a wait in which nothing is sent. The rate and the estimate are omitted, because they would only get
 * worse.
 */
const BLOCKING_REASONS: ReadonlySet<string> = new Set(['max_cost', 'not_ready', 'unreachable'])

function formatRate(state: ProgressState, now: number): string[] {
  const phase = state.phase(now)
  if (phase.kind === 'waiting' || (phase.kind === 'held' && BLOCKING_REASONS.has(phase.reason))) return []
  const rate = state.rate(now)
  const msLeft = state.millisecondsLeft(now)
  return [
    ...(rate === null ? [] : [`${rate < 10 ? rate.toFixed(1) : groupDigits(Math.round(rate))} requests/s`]),
    ...(msLeft === null ? [] : [`about ${roughDuration(msLeft)} left to send`]),
  ]
}

/** Formats an estimated time: `40 s`, `3 min 20 s`, `25 min`, `2 h 10 min`. */
export function roughDuration(ms: number): string {
  const seconds = Math.ceil(ms / 5_000) * 5
  if (seconds < 60) return `${seconds} s`
  if (seconds < 600) {
    const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60]
    return `${minutes} min${rest < 10 ? '' : ` ${rest - (rest % 10)} s`}`
  }
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60]
  return `${groupDigits(hours)} h${rest < 10 ? '' : ` ${rest - (rest % 10)} min`}`
}

const countSecondsUntil = (until: number, now: number) => `${Math.max(1, Math.ceil((until - now) / 1000))} s`

/**
 * How to show the reason for a wait. `live` includes the time left, `first` omits it, because a log line isn't updated,
 * and `without` omits the reason.
 */
type Reasons = 'live' | 'first' | 'without'

function phaseText(phase: Phase, { counts }: ProgressState, now: number, reasons: Reasons = 'live'): string {
  switch (phase.kind) {
    case 'reading':
      return 'Reading the manifest'
    case 'uploading':
      return `Uploading files: ${groupDigits(phase.done)} of ${groupDigits(phase.total)}`
    case 'looking_up':
      return `Checking whether the collection already has these rows: ${groupDigits(phase.done)} of ${groupDigits(phase.total)} NFTs read`
    case 'sending':
      return 'Sending'
    case 'held':
      return heldText(phase, now, reasons)
    case 'reconciling':
      return `${searchText(counts?.unknown ?? 0)}${stepText(phase, now)}`
    case 'waiting':
      // All accepted NFTs are deployed, so the command is about to end.
      if (counts !== null && counts.accepted + counts.pending === 0) return 'Finishing'
      return `Waiting until ${counts?.accepted === 1 ? '1 NFT is' : `${groupDigits(counts?.accepted ?? 0)} NFTs are`} deployed${reasonText(phase.reason, reasons)}`
    case 'stopping':
      return stoppingText(phase.why, reasons)
  }
}

/**
 * Returns the message while a command is stopping. The message mentions a second Ctrl-C only if the user pressed the
 * first one at a terminal.
 */
function stoppingText(why: 'signal' | 'time', reasons: Reasons): string {
  const start = why === 'time' ? 'The time limit (--timeout) was reached' : 'Stopping'
  const stopHint = why === 'signal' && reasons === 'live' ? '. Press Ctrl-C again to stop now.' : ''
  return `${start}: waiting at most 5 s for requests in flight${stopHint}`
}

const reasonText = (reason: string | null, reasons: Reasons): string =>
  reason === null || reasons === 'without' ? '' : `: ${safe(reason)}`

function heldText({ reason, until, message }: Extract<Phase, { kind: 'held' }>, now: number, reasons: Reasons): string {
  const time = (text: (timeLeft: string) => string) => (reasons === 'live' ? text(countSecondsUntil(until, now)) : '')
  return `${waitText(reason, time)}${reasonText(message, reasons)}`
}

function waitText(
  reason: Extract<Phase, { kind: 'held' }>['reason'],
  time: (text: (timeLeft: string) => string) => string,
): string {
  switch (reason) {
    case 'rate_limited':
      return `The server requested a pause${time((timeLeft) => `, ${timeLeft} left`)}`
    case 'not_ready':
      return 'Waiting until the backend can mint on this blockchain'
    case 'max_cost':
      return `Waiting until the next rows fit within --max-cost${time((timeLeft) => `, retrying in ${timeLeft}`)}`
    case 'unreachable':
      return "The server can't be reached, retrying every few seconds"
    case 'unknown':
      return `No response to a request, retrying${time((timeLeft) => ` in ${timeLeft}`)}`
  }
}

function stepText({ step, until, done, total }: Extract<Phase, { kind: 'reconciling' }>, now: number): string {
  if (step === 'waiting') return `: waiting for an up-to-date list, ${countSecondsUntil(until, now)} left`
  return step === 'listing' ? ': reading the list of NFTs' : `: ${groupDigits(done)} of ${groupDigits(total)} NFTs read`
}

/**
 * Describes a search. If no rows are unknown, this is the second search, which confirms rows that were already adopted
 * or found absent.
 */
function searchText(unknown: number): string {
  return unknown === 0
    ? 'Searching the collection a second time'
    : `Checking ${rowCountText(unknown)} with an unknown outcome`
}
