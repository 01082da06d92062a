import { GdnError } from '../../core/errors.ts'
import type { Parse } from '../command.ts'

/** Parses `5%` or `2.5%` to basis points (1/10,000). */
export const percentage: Parse<number> = (raw, flag) => {
  const [, digits] = /^([0-9]{1,3}(?:\.[0-9]{1,2})?)%$/.exec(raw) ?? []
  const parts = Math.round(Number(digits) * 100)
  if (parts <= 10_000) return parts
  throw new GdnError('usage', `must be a percentage such as 5% or 2.5%, at most 100%, not ${JSON.stringify(raw)}`, {
    place: { flag },
  })
}
