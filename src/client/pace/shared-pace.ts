import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { getuid, platform } from 'node:process'
import { bootClock } from '../../core/boot-clock.ts'
import { bootId, isAlive, ownIdentity, pidNamespace } from '../../core/process-identity.ts'
import type { Secret } from '../../core/secret.ts'
import { sleep } from '../../core/time.ts'
import { updateTogether } from '../../core/versioned-file.ts'
import type { SharedPace } from '../pacer.ts'
import { isIdle } from './lane-state.ts'
import { createSharedLane, type LaneWorld } from './shared-lane.ts'

const MANY_LANES = 64
const IDLE_MS = 3_600_000

export interface SharedPaceOptions {
  /** Where to keep it: the first of these folders that can be used and is nobody else's. */
  folders: readonly string[]
  origin: string
  apiKey: Secret | null
  /** Told once why the pace can't be shared. */
  onTrouble?(error: unknown): void
}

/**
 * The pace that all gdn processes of this user on this machine keep together, per origin, key and endpoint. Each has a
 * folder with a few hundred bytes in it; the key stands there only as part of a hash.
 */
export function createSharedPace({ folders, origin, apiKey, onTrouble }: SharedPaceOptions): SharedPace {
  let world: Promise<Omit<LaneWorld, 'update'> & { folder: string }> | undefined
  let told = false
  return {
    async lane(endpoint, rate, observed) {
      world ??= openWorld(folders)
      const { folder, ...common } = await world
      const dir = join(folder, laneName(origin, apiKey, endpoint))
      return createSharedLane({ ...common, update: (change) => updateTogether(dir, change) }, rate, observed)
    },
    trouble(error) {
      if (!told) onTrouble?.(error)
      told = true
    },
  }
}

/** Half of a hash: enough to tell lanes apart. */
function laneName(origin: string, apiKey: Secret | null, endpoint: string): string {
  const hash = createHash('sha256').update(JSON.stringify(['gdn pace', origin, apiKey?.reveal() ?? null, endpoint]))
  return hash.digest('hex').slice(0, 32)
}

async function openWorld(folders: readonly string[]): Promise<Omit<LaneWorld, 'update'> & { folder: string }> {
  const [boot, space, { pid, startedAt }] = await Promise.all([bootId(), pidNamespace(), ownIdentity()])
  const folder = usableFolder(folders)
  sweepLanes(folder, boot)
  return {
    folder,
    now: bootClock,
    sleep,
    boot,
    owner: { pid, startedAt, space },
    async ended(tickets) {
      const known = tickets.filter((ticket) => ticket.space === space)
      const alive = await Promise.all(known.map((ticket) => isAlive({ ...ticket, bootId: boot })))
      return new Set(known.filter((_, index) => alive[index] === false).map(({ id }) => id))
    },
  }
}

function usableFolder(folders: readonly string[]): string {
  let problem: unknown
  for (const folder of folders) {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      checkOwner(folder)
      return folder
    } catch (error) {
      problem = error
    }
  }
  throw problem
}

/** In a folder that others may write to, they could hold up our requests, or let too many go. */
function checkOwner(folder: string): void {
  const found = lstatSync(folder)
  if (!found.isDirectory()) throw new Error(`${folder} is no folder`)
  if (platform === 'win32') return
  if (found.uid !== getuid?.()) throw new Error(`${folder} belongs to somebody else`)
  if ((found.mode & 0o022) !== 0) chmodSync(folder, 0o700)
}

/** Removes lanes of earlier boots, and those that nobody used for an hour, when there are many. */
function sweepLanes(folder: string, boot: string | null): void {
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
