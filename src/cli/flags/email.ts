import { getpresignedurl } from '../../api/endpoints/getpresignedurl.ts'
import { validate } from '../../api/validate.ts'
import { flagError } from '../../core/errors.ts'
import type { Parse } from '../command.ts'

/** Parses the email address of an account. */
export const email: Parse<string> = (raw, flag) => {
  const checked = validate(getpresignedurl.request.shape.email, raw)
  if (checked.ok) return raw
  throw flagError(flag, checked.issues[0]?.message ?? 'is not valid')
}
