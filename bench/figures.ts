/** A measured figure. It has several samples if it varies, otherwise one. */
export interface Figure {
  what: string
  unit: 'ms' | '/s' | 'MiB' | 'bytes' | 'gas' | 'requests' | 'nodes' | 'statements' | 'commits' | 'CPU'
  samples: readonly number[]
  /** The baseline. With the same number of samples, they are pairs that were measured in turns. */
  against?: { what: string; samples: readonly number[] }
  /** Budget of the ratio, or of the figure itself without a baseline. */
  budget?: { atMost: number } | { atLeast: number }
}

export function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

export function percentile(samples: readonly number[], part: number): number {
  const sorted = [...samples].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** Whether the figure and its baseline were measured in turns, round by round. */
export const isPaired = ({ samples, against }: Figure): boolean =>
  against !== undefined && samples.length > 1 && against.samples.length === samples.length

/** Returns the median of the ratios of pairs, because a disturbance of the machine affects both of a pair. */
export function ratioOf({ samples, against }: Figure): number | null {
  if (against === undefined) return null
  if (against.samples.length !== samples.length) return median(samples) / median(against.samples)
  return median(samples.map((sample, index) => sample / (against.samples[index] ?? Number.NaN)))
}

/** Adds the samples of the build before as the baseline, with a budget. Without samples, the figure has neither. */
export function againstBefore(figure: Figure, samples: readonly number[], budget?: Figure['budget']): Figure {
  if (samples.length === 0) return figure
  return { ...figure, against: { what: 'the build before', samples }, ...(budget && { budget }) }
}

/** Widths of the columns. They are fixed, because a row is printed before the next figure is measured. */
const WIDTHS = [56, 26, 30, 26, 7, 10, 1]

/** Formats the line above the rows of a part. */
export const formatHeading = (part: string): string =>
  formatCells([part, 'figure', 'against', '', 'ratio', 'budget', ''])

function formatCells(cells: readonly string[]): string {
  const isText = (column: number) => column === 0 || column === 2
  const pad = (cell: string, column: number) =>
    isText(column) ? cell.padEnd(WIDTHS[column] ?? 0) : cell.padStart(WIDTHS[column] ?? 0)
  return `${cells.map(pad).join('  ').trimEnd()}\n`
}

const reported = new WeakSet<Figure>()

/**
 * Prints the rows of figures that have no row yet, and returns all of them. A part calls it for each measured figure.
 */
export function report(figures: readonly Figure[]): Figure[] {
  for (const figure of figures) {
    if (reported.has(figure)) continue
    reported.add(figure)
    process.stdout.write(formatCells(cellsOf(figure)))
  }
  return [...figures]
}

/** Prints the number of the round, for parts that print their rows only at the end. */
export function reportRound(round: number, rounds: number): void {
  process.stderr.write(`  round ${round + 1} of ${rounds}\n`)
}

function cellsOf(figure: Figure): string[] {
  const { what, unit, samples, against, budget } = figure
  const ratio = ratioOf(figure)
  return [
    what,
    formatSamples(samples, unit),
    against?.what ?? '',
    against === undefined ? '' : formatSamples(against.samples, unit),
    ratio === null ? '' : `${formatNumber(ratio, 3)}x`,
    budget === undefined ? '' : formatBudget(budget, ratio === null ? ` ${unit}` : 'x'),
    budget === undefined ? '' : meets(ratio ?? median(samples), budget) ? '✓' : '✗',
  ]
}

export function formatBudget(budget: NonNullable<Figure['budget']>, unit: string): string {
  return 'atMost' in budget ? `≤ ${budget.atMost}${unit}` : `≥ ${budget.atLeast}${unit}`
}

export function meets(value: number, budget: NonNullable<Figure['budget']>): boolean {
  return 'atMost' in budget ? value <= budget.atMost : value >= budget.atLeast
}

function formatSamples(samples: readonly number[], unit: Figure['unit']): string {
  const least = Math.min(...samples)
  const most = Math.max(...samples)
  const spread = samples.length === 1 ? '' : ` (${formatNumber(least)}–${formatNumber(most)})`
  const space = unit === '/s' ? '' : ' '
  return `${formatNumber(median(samples))}${space}${unit}${spread}`
}

/** Formats three significant digits, or all of a whole number. */
function formatNumber(value: number, digits = 3): string {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(Math.max(0, digits - Math.max(1, Math.floor(Math.log10(Math.abs(value) || 1)) + 1)))
}
