import type { Moment } from './dialect.ts'

/** How a worker claims rows: until when, and how many. All times are in milliseconds since the epoch. */
export interface ClaimOptions {
  now: Moment
  leaseMs: number
  limit: number
}
