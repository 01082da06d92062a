import { ERROR_TITLES, type ErrorFormB, toErrorCode } from '../../api/errors.ts'
import type { FieldIssue } from '../../api/validate.ts'
import { CodedRefusal, InvalidRequest, type Refusal } from '../services/refusals.ts'

type Detail = ErrorFormB['detail'][number]

/** Error types by expected type. Numbers in requests that use error form B are always integers. */
const TYPE_ERRORS: Readonly<Record<string, string>> = {
  int: 'type_error.integer',
  number: 'type_error.integer',
  string: 'type_error.str',
  boolean: 'type_error.bool',
  array: 'type_error.list',
  object: 'type_error.dict',
}

/**
 * Returns the pydantic `type` of an issue. The API reference specifies the location, `ctx` and one `type`; the other
 * types follow pydantic.
 */
function toPydanticType({ code, missing, expected }: FieldIssue): string {
  if (missing) return 'value_error.missing'
  switch (code) {
    case 'invalid_type':
      return TYPE_ERRORS[expected ?? ''] ?? 'type_error'
    case 'too_big':
      return expected === 'string' ? 'value_error.any_str.max_length' : 'value_error.number.not_le'
    case 'too_small':
      return 'value_error.number.not_ge'
    case 'invalid_format':
      return 'value_error.email'
    case 'unrecognized_keys':
    case 'unknown':
      return 'value_error.extra'
    default:
      return 'value_error'
  }
}

function toDetail(issue: FieldIssue, part: string): Detail {
  const detail = { loc: [part, ...issue.path], msg: issue.message, type: toPydanticType(issue) }
  return issue.limit === undefined ? detail : { ...detail, ctx: { limit_value: issue.limit } }
}

function toDetails(refusal: Refusal): Detail[] {
  if (refusal instanceof InvalidRequest) return refusal.issues.map((issue) => toDetail(issue, refusal.part))
  // Schema violations have their own class, so this refusal means that the body isn't JSON.
  if (refusal.title !== ERROR_TITLES.validation) return []
  return [{ loc: ['body'], msg: refusal.message, type: 'value_error.jsondecode' }]
}

/** Converts a rejection to error form B, which wallet operations use (API reference v1.1, Errors). */
export function formB(refusal: Refusal): ErrorFormB {
  return {
    errorCode: refusal instanceof CodedRefusal ? refusal.errorCode : toErrorCode(refusal.title),
    message: refusal.message,
    detail: toDetails(refusal),
  }
}
