import { type Attribute, parseTraitValue, type TraitType } from '../api/traits.ts'
import { quoted } from '../core/quoted.ts'
import type { Column, ColumnTrait } from './columns.ts'
import type { RowReport } from './report.ts'

/** Returns the typed trait of a cell. Calls `onProblem` for an invalid value. */
export function traitOf(
  tag: string,
  { type, max }: ColumnTrait,
  given: string,
  onProblem: (problem: string) => void,
): Attribute {
  const parsed = parseTraitValue(type, max, given)
  if ('problem' in parsed) onProblem(parsed.problem)
  const trait: Attribute = { tag, value: 'text' in parsed ? parsed.text : given, display_type: type }
  if (max !== undefined) trait.max_value = max
  return trait
}

const asKind = (type: TraitType | undefined) => (type === undefined ? 'text' : `a trait of the type ${type}`)

/** Checks that each attribute of a JSON manifest has the same type in all rows. */
export class TraitTypes {
  /** The type of each tag, and the line on which it occurs first. */
  readonly #types = new Map<string, { type: TraitType | undefined; line: number }>()

  /** @param columns null if the row is a metadata object */
  check(
    line: number,
    attributes: readonly Attribute[] | undefined,
    columns: readonly (Column | undefined)[] | null,
    report: RowReport,
  ): void {
    for (const [index, { tag, display_type: type }] of (attributes ?? []).entries()) {
      const first = this.#types.get(tag)
      if (first === undefined) this.#types.set(tag, { type, line })
      else if (first.type !== type) {
        const column = columns?.find((one) => one?.role.kind === 'attr' && one.role.key === tag)
        const name = column?.name ?? `attribute[${index}]`
        const message = `${name} is ${asKind(type)}, but line ${first.line} has ${quoted(tag)} as ${asKind(first.type)}`
        report.add(column ?? name, message, 'Use the same type in all rows.')
      }
    }
  }
}
