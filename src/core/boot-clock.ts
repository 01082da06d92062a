import { hrtime } from 'node:process'

/**
 * Returns the milliseconds since boot on a monotonic clock that all processes of the machine share: CLOCK_MONOTONIC
 * on Linux, mach_absolute_time on macOS, the performance counter on Windows. Commands that run alone use it too,
 * because loading `performance` costs a millisecond.
 */
export const bootClock = (): number => Number(hrtime.bigint()) / 1e6
