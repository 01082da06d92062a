import { lstatSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bootClock } from '../../core/boot-clock.ts'
import { isIdle } from './lane-state.ts'

const MANY_LANES = 64
const IDLE_MS = 3_600_000

/** Removes lanes of earlier boots, and those that nobody used for an hour, when there are many. */
export function sweepLanes(folder: string, boot: string | null): void {
  const lanes = readdirSync(folder)
  if (lanes.length <= MANY_LANES) return
  for (const name of lanes) {
    try {
      sweepLane(join(folder, name), boot)
    } catch {
      // Somebody else sweeps or uses it, or it can't be done: nothing depends on it.
    }
  }
}

function sweepLane(dir: string, boot: string | null): void {
  // The wall clock only saves reading; what counts is the time that stands in the lane.
  if (Math.abs(Date.now() - lstatSync(dir).mtimeMs) < IDLE_MS) return
  const names = readdirSync(dir).sort((a, b) => Number(a) - Number(b))
  const last = names.at(-1)
  if (last !== undefined && !isIdle(readFileSync(join(dir, last), 'utf8'), boot, bootClock(), IDLE_MS)) return
  for (const name of names) rmSync(join(dir, name), { force: true })
  // Fails where somebody just put a new version in.
  rmdirSync(dir)
}
