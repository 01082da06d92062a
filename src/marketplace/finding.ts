import type { Column } from '../manifest/columns.ts'
import type { ManifestIssue } from '../manifest/row.ts'
import { RULES, type RuleName, type Severity } from './rules.ts'

/** A place in a manifest. For a collection, `row` and `line` are null. */
export interface FindingPlace {
  /** The row number, starting at 1. */
  row: number | null
  line: number | null
  /** The name of the column or field. */
  column: string | null
  /** The position of the column in a CSV file, starting at 1. */
  position?: number | undefined
}

/** A violation of a rule, in the form that `--json` prints. */
export interface MarketplaceFinding extends Omit<FindingPlace, 'position'> {
  severity: Severity
  rule: RuleName
  message: string
  source: string
  source_date: string
}

interface NewFinding extends FindingPlace {
  rule: RuleName
  message: string
  fix: string
}

const MAX_FINDINGS = 1000

/** Collects the first 1,000 findings of each severity, and counts all findings. */
export class Findings {
  readonly #file: string
  readonly #bySeverity: Record<Severity, (ManifestIssue & MarketplaceFinding)[]> = { error: [], warning: [], hint: [] }
  readonly counts: Record<Severity, number> = { error: 0, warning: 0, hint: 0 }

  constructor(file: string) {
    this.#file = file
  }

  add({ row, line, column, position, rule, message, fix }: NewFinding): void {
    const { severity, source, date } = RULES[rule]
    if (this.counts[severity]++ >= MAX_FINDINGS) return
    const place =
      row === null ? {} : { file: this.#file, line: line ?? undefined, field: column ?? undefined, column: position }
    const hint = `${fix} Rule ${rule}: ${source} (${date})`
    this.#bySeverity[severity].push({
      severity,
      row,
      line,
      rule,
      message,
      source,
      source_date: date,
      // Here, `column` is the name of the column. In `place`, `field` is the name and `column` is the position.
      column,
      place,
      hint,
    })
  }

  /** Returns the findings of a severity as problems with locations, ordered by row. */
  issues(severity: Severity): (ManifestIssue & MarketplaceFinding)[] {
    return this.#bySeverity[severity].sort((a, b) => (a.row ?? 0) - (b.row ?? 0))
  }

  /** Returns the findings of a severity in machine-readable form. */
  records(severity: Severity): MarketplaceFinding[] {
    return this.issues(severity).map(({ place: _place, hint: _hint, ...finding }) => finding)
  }
}

/** Returns the place of a column in a row. */
export function toPlace(
  { row, line }: Pick<FindingPlace, 'row' | 'line'>,
  column: Column | undefined,
  name: string | null,
): FindingPlace {
  return { row, line, column: column?.name ?? name, position: column?.position }
}
