import { type Figure, formatBudget, meets } from './figures.ts'

/** Figures of one commit on one machine: a table of docs/benchmarks.md. */
export interface Measurement {
  commit: string
  date: string
  machine: { cpu?: string | undefined; cores: number; memory_gib?: number | undefined }
  versions: { node: string; anvil?: string | undefined; postgresql?: string | undefined }
  /** How long each part was measured. */
  seconds?: Record<string, number> | undefined
  figures: RecordedFigure[]
}

export interface RecordedFigure {
  /** Part of `npm run bench`. */
  part: string
  what: string
  /** Median of the rounds. */
  value: number
  unit: string
  /** The baseline, and the median of its rounds. */
  against?: { what: string; value: number } | undefined
  ratio?: number | undefined
  /** The ratio is the median of the ratios of paired rounds. */
  is_paired?: boolean | undefined
  /** Budget of the ratio, or of the figure itself without a baseline. */
  budget?: Figure['budget'] | undefined
}

/** Returns the tables of docs/benchmarks.md: one for each measurement. */
export const figureTables = (measurements: readonly Measurement[]): string => measurements.map(tableOf).join('\n\n')

function tableOf({ commit, date, machine, versions, figures }: Measurement): string {
  const facts = [
    machine.cpu ?? 'CPU model not recorded',
    `${machine.cores} cores`,
    machine.memory_gib === undefined ? 'memory not recorded' : `${machine.memory_gib} GiB of memory`,
    `Node.js ${versions.node}`,
    versions.anvil && `anvil ${versions.anvil}`,
    versions.postgresql && `PostgreSQL ${versions.postgresql}`,
  ]
  return [
    `### Commit \`${commit}\`, ${date}`,
    '',
    `${facts.filter(Boolean).join(', ')}.`,
    '',
    '| What | gdn | Compared with | Ratio | Budget | `npm run bench --` |',
    '|---|---|---|---|---|---|',
    ...figures.map((figure) => `| ${cellsOf(figure).join(' | ')} |`),
  ].join('\n')
}

function cellsOf({ part, what, value, unit, against, ratio, is_paired, budget }: RecordedFigure): string[] {
  return [
    what,
    withUnit(value, unit),
    against === undefined ? '' : `${against.what}: ${withUnit(against.value, unit)}`,
    ratio === undefined ? '' : `${short(ratio)}x${is_paired ? ' *' : ''}`,
    budget === undefined ? '' : budgetOf(budget, ratio ?? value, ratio === undefined ? ` ${unit}` : 'x'),
    `\`${part}\``,
  ]
}

const budgetOf = (budget: NonNullable<Figure['budget']>, value: number, unit: string): string =>
  meets(value, budget) ? formatBudget(budget, unit) : `${formatBudget(budget, unit)}, **missed**`

const withUnit = (value: number, unit: string): string => `${short(value)}${unit.startsWith('/') ? '' : ' '}${unit}`

/** Three significant digits, or all of a whole number. */
export const short = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)))
