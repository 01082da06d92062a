import type * as z from 'zod'

/** One problem of an input, with its place (`metadata[0].title`); an empty field is the input itself. */
export interface FieldIssue {
  field: string
  path: readonly (string | number)[]
  message: string
  /** The code of the check that failed, as zod names it. */
  code: string
  /** The bound that was missed, where there is one. */
  limit?: number
  /** The type that was wanted, where the value has another; of a missed bound, what it bounds. */
  expected?: string
  /** There was no value at all. */
  missing?: true
  /** The value is right by itself, and doesn't go with another field. */
  inconsistent?: true
}

export type Validated<Value> = { ok: true; value: Value } | { ok: false; issues: FieldIssue[] }

const kindOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`

const article = (expected: string): string =>
  expected === 'array' ? 'a list' : /^[aeio]/.test(expected) ? `an ${expected}` : `a ${expected}`

const sentences: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required'
      return `must be ${article(issue.expected)}, not ${kindOf(issue.input)}`
    case 'invalid_value':
      if (issue.input === undefined) return 'is required'
      return `must be one of ${issue.values.join(', ')}`
    case 'unrecognized_keys':
      return 'is not a known field'
    case 'too_big':
      return `must be at most ${issue.maximum}`
    case 'too_small':
      return `must be at least ${issue.minimum}`
    case 'invalid_format':
      return `is not a valid ${issue.format === 'email' ? 'e-mail address' : issue.format}`
    default:
      return undefined
  }
}

/** `['metadata', 0, 'title']` as `metadata[0].title`. */
export function formatPath(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (spelled, part) =>
      typeof part === 'number' ? `${spelled}[${part}]` : spelled === '' ? part : `${spelled}.${part}`,
    '',
  )
}

const ABSENT: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value'])

function toIssues(issue: z.core.$ZodIssue): FieldIssue[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  const limit =
    issue.code === 'too_big' ? Number(issue.maximum) : issue.code === 'too_small' ? Number(issue.minimum) : undefined
  const make = (at: (string | number)[]): FieldIssue => ({
    field: formatPath(at),
    path: at,
    message: issue.message,
    code: issue.code,
    ...(limit === undefined ? {} : { limit }),
    ...(issue.code === 'invalid_type' ? { expected: issue.expected } : {}),
    ...(issue.code === 'too_big' || issue.code === 'too_small' ? { expected: issue.origin } : {}),
    ...(issue.input === undefined && ABSENT.has(issue.code) ? { missing: true } : {}),
    ...(issue.code === 'custom' && issue.params?.inconsistent === true ? { inconsistent: true } : {}),
  })
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => make([...path, key])) : [make(path)]
}

const TOO_MANY: FieldIssue = { field: '', path: [], message: 'has more faults than can be told', code: 'custom' }

/** To compile a schema takes as long as some fifty parses by it: only one that is used again and again is. */
const USES_BEFORE_COMPILED = 8
const uses = new WeakMap<z.ZodType, number>()

function isRare(schema: z.ZodType): boolean {
  const before = uses.get(schema) ?? 0
  if (before >= USES_BEFORE_COMPILED) return false
  uses.set(schema, before + 1)
  return true
}

/** Parses a value by a schema; on failure every problem at once, each with its place and a sentence. */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown): Validated<z.output<Schema>> {
  let result: z.ZodSafeParseResult<z.output<Schema>>
  try {
    result = schema.safeParse(value, { error: sentences, reportInput: true, jitless: isRare(schema) })
  } catch (error) {
    // zod hands faults on as arguments of a call; from about 100,000 on they don't fit on the stack.
    if (error instanceof RangeError) return { ok: false, issues: [TOO_MANY] }
    throw error
  }
  return result.success
    ? { ok: true, value: result.data }
    : { ok: false, issues: result.error.issues.filter(isTightest).flatMap(toIssues) }
}

/** A whole number beyond all bounds is told by its field's bound alone: that of whole numbers comes before it. */
function isTightest(issue: z.core.$ZodIssue, index: number, all: readonly z.core.$ZodIssue[]): boolean {
  if ((issue.code !== 'too_big' && issue.code !== 'too_small') || issue.origin !== 'int') return true
  const next = all[index + 1]
  return next?.code !== issue.code || next.path.join() !== issue.path.join()
}

/** `metadata[0].title must not be empty`: one issue as a sentence. */
export function formatIssue(issue: FieldIssue): string {
  return `${issue.field === '' ? 'the request' : issue.field} ${issue.message}`
}
