import type { Moment } from './dialect.ts'

/** The number of rows that a worker claims, and the duration of the claim. Times are milliseconds since the epoch. */
export interface ClaimOptions {
  now: Moment
  leaseMs: number
  limit: number
}
