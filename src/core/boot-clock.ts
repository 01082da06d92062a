import { hrtime } from 'node:process'

/**
 * Milliseconds since the boot, on a clock that all processes of the machine share and nobody sets: CLOCK_MONOTONIC on
 * Linux, mach_absolute_time on macOS, the performance counter on Windows. It is also what a single command takes the time
 * by: `performance` costs it a millisecond to load.
 */
export const bootClock = (): number => Number(hrtime.bigint()) / 1e6
