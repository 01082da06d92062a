import type * as z from 'zod/mini'

/**
 * A problem in an input and its location, such as `metadata[0].title`. `field` is empty if the problem concerns the
 * whole input.
 */
export interface FieldIssue {
  field: string
  path: readonly (string | number)[]
  message: string
  /** The code of the failed check. The names are those of zod. */
  code: string
  /** The limit that was exceeded, if there is one. */
  limit?: number | undefined
  /** The expected type if the value has the wrong type, or the kind of value if it exceeds a limit. */
  expected?: string
  /** Set if the value is missing. */
  missing?: true
  /** Set if the value itself is valid but inconsistent with another field. */
  inconsistent?: true
}

export type Validated<Value> = { ok: true; value: Value } | { ok: false; issues: FieldIssue[] }

const describeType = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : `a ${typeof value}`

const article = (expected: string): string =>
  expected === 'array' ? 'a list' : /^[aeio]/.test(expected) ? `an ${expected}` : `a ${expected}`

/** Returns the message of a problem for which the schema has no message. If undefined, zod's default applies. */
export const problemMessage: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required'
      return `must be ${article(issue.expected)}, not ${describeType(issue.input)}`
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

/** Formats a path. For example, `['metadata', 0, 'title']` becomes `metadata[0].title`. */
export function formatPath(path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (spelled, part) =>
      typeof part === 'number' ? `${spelled}[${part}]` : spelled === '' ? part : `${spelled}.${part}`,
    '',
  )
}

const ABSENT_CODES: ReadonlySet<string> = new Set(['invalid_type', 'invalid_value'])

function toIssues(issue: z.core.$ZodIssue): FieldIssue[] {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  const limit =
    issue.code === 'too_big' ? Number(issue.maximum) : issue.code === 'too_small' ? Number(issue.minimum) : undefined
  const make = (at: (string | number)[]): FieldIssue => ({
    field: formatPath(at),
    path: at,
    message: issue.message,
    code: issue.code,
    limit,
    ...(issue.code === 'invalid_type' ? { expected: issue.expected } : {}),
    ...(issue.code === 'too_big' || issue.code === 'too_small' ? { expected: issue.origin } : {}),
    ...(issue.input === undefined && ABSENT_CODES.has(issue.code) ? { missing: true } : {}),
    ...(issue.code === 'custom' && issue.params?.inconsistent === true ? { inconsistent: true } : {}),
  })
  if (issue.code !== 'unrecognized_keys') return [make(path)]
  const listed = issue.keys.slice(0, MAX_UNKNOWN_FIELDS).map((key) => make([...path, key]))
  return issue.keys.length > MAX_UNKNOWN_FIELDS ? [...listed, TOO_MANY_ISSUE] : listed
}

const TOO_MANY_ISSUE: FieldIssue = { field: '', path: [], message: 'has too many problems to list', code: 'custom' }
/**
 * Maximum number of unknown fields that are listed. Listing the 99,000 unknown fields of an object takes as long as
 * parsing them.
 */
const MAX_UNKNOWN_FIELDS = 1000

/**
 * Number of uses after which a schema is compiled. Compiling takes as long as about fifty parses, so only repeatedly
 * used schemas are compiled.
 */
const USES_BEFORE_COMPILED = 8
const schemaUses = new WeakMap<z.ZodMiniType, number>()

function countUse(schema: z.ZodMiniType): boolean {
  const before = schemaUses.get(schema) ?? 0
  if (before >= USES_BEFORE_COMPILED) return false
  schemaUses.set(schema, before + 1)
  return true
}

/** Parses a value with a schema. On failure, returns the problems with their locations and messages. */
export function validate<Schema extends z.ZodMiniType>(schema: Schema, value: unknown): Validated<z.output<Schema>> {
  let result: z.core.util.SafeParseResult<z.output<Schema>>
  try {
    result = schema.safeParse(value, { error: problemMessage, reportInput: true, jitless: countUse(schema) })
  } catch (error) {
    // zod passes the problems as function arguments. About 100,000 arguments cause a stack overflow.
    if (error instanceof RangeError) return { ok: false, issues: [TOO_MANY_ISSUE] }
    throw error
  }
  return result.success
    ? { ok: true, value: result.data }
    : { ok: false, issues: result.error.issues.filter(isReported).flatMap(toIssues) }
}

/**
 * Returns whether to report a problem. If an integer exceeds its field's limit, zod also reports its own limit for
 * integers, which is omitted.
 */
function isReported(issue: z.core.$ZodIssue, index: number, all: readonly z.core.$ZodIssue[]): boolean {
  if ((issue.code !== 'too_big' && issue.code !== 'too_small') || issue.origin !== 'int') return true
  const next = all[index + 1]
  return next?.code !== issue.code || next.path.join() !== issue.path.join()
}

/** Formats a problem as a sentence, such as `metadata[0].title must not be empty`. */
export function formatIssue(issue: FieldIssue): string {
  return `${issue.field === '' ? 'the request' : issue.field} ${issue.message}`
}
