import type { Moment } from './dialect.ts'

/** How many rows a worker claims, and for how long. Times are milliseconds since the epoch. */
export interface ClaimOptions {
  now: Moment
  leaseMs: number
  limit: number
}
