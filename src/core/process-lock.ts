import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pid as ownPid } from 'node:process'
import { GdnError, systemCode } from './errors.ts'
import {
  gaveNoSign,
  isAtWork,
  isOutOfSight,
  LOCK_TIMING,
  type LockHolder,
  type LockTiming,
  lookAt,
  parseHolder,
  thisProcess,
  wasTakenOver,
} from './lock-holder.ts'
import { sleep } from './time.ts'

export interface Lock {
  /** Grows with every holder, and is never used twice. */
  readonly epoch: number
  /**
   * Whether it was ever taken from a holder that was out of sight and gave no sign. Such a one may wake up and go on
   * for a moment: what it has open must not be what is worked on now.
   */
  readonly mayWake: boolean
  /** Who had it and gave no sign any more, as a sentence for people; null where the last one is known to have ended. */
  readonly followed: string | null
  /**
   * To be asked once what is about to be done stands on the disk, and before it is done: whoever takes the lock looks
   * at the disk afterwards, so either it sees what stands there, or this sees it.
   *
   * @throws GdnError `run_busy` when another process has taken the lock over
   */
  check(): Promise<void>
  /**
   * Releases it. A file system that refuses to record that (full, read-only) is no error: the lock ends with its process
   * at the latest, and what was done under it counts.
   */
  release(): Promise<void>
  /** Releases it, and leaves nothing behind where nobody had it before. */
  discard(): Promise<void>
}

const NAME = /^lock\.([1-9][0-9]*)$/
// A file that can't be read yet is one being written (only where hard links are missing); after this long it is debris.
const WRITING_MS = 5_000
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP', 'EMLINK'])

async function highest(dir: string): Promise<number> {
  let top = 0
  for (const name of await readdir(dir)) {
    const match = NAME.exec(name)
    if (match !== null) top = Math.max(top, Number(match[1]))
  }
  return top
}

const pathOf = (dir: string, epoch: number): string => join(dir, `lock.${epoch}`)

/** When a file was touched last; null where it is gone. */
async function touchedAt(path: string): Promise<number | null> {
  try {
    // Opened, not only looked at: without that, a network file system may tell what it remembers.
    const file = await open(path, 'r')
    try {
      return (await file.stat()).mtimeMs
    } finally {
      await file.close()
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

/** The holder written in `lock.<epoch>`; `gone` when the file vanished, `writing` when it isn't whole yet. */
async function readHolder(dir: string, epoch: number): Promise<LockHolder | 'gone' | 'writing' | null> {
  const path = pathOf(dir, epoch)
  try {
    const holder = parseHolder(await readFile(path, 'utf8'))
    if (holder !== null) return holder
    const age = Math.abs(Date.now() - (await stat(path)).mtimeMs)
    return age < WRITING_MS ? 'writing' : null
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 'gone'
    throw error
  }
}

/** Makes `lock.<epoch>` appear whole and only if nobody else made it. */
async function claim(dir: string, epoch: number, content: string): Promise<boolean> {
  const path = pathOf(dir, epoch)
  const temp = join(dir, `new.${ownPid}.${randomBytes(6).toString('hex')}`)
  await writeFile(temp, content, { mode: 0o600, flag: 'wx' })
  try {
    await link(temp, path)
    return true
  } catch (error) {
    const code = systemCode(error) ?? ''
    if (code === 'EEXIST') return false
    if (!NO_LINKS.has(code)) throw error
    try {
      await writeFile(path, content, { mode: 0o600, flag: 'wx' })
      return true
    } catch (failure) {
      if (systemCode(failure) === 'EEXIST') return false
      throw failure
    }
  } finally {
    await rm(temp, { force: true })
  }
}

/**
 * Whether the file just made is the first ever of its number. A listing isn't atomic: it may miss what comes and goes
 * meanwhile. But files are removed lowest first, so as long as the one before ours is there, ours was never there
 * before, and nobody went beyond it; and one is always left, so a listing has a file to find that doesn't move.
 */
async function isFirst(dir: string, epoch: number): Promise<boolean> {
  if (epoch > 1 && (await readHolder(dir, epoch - 1)) === 'gone') return false
  return (await highest(dir)) === epoch
}

/** Removes what is of no use any more: all but the last and the one before. */
async function clean(dir: string, epoch: number): Promise<void> {
  const numbers = (await readdir(dir)).map((name) => Number(NAME.exec(name)?.[1] ?? epoch))
  for (let old = Math.min(...numbers); old < epoch - 1; old++) await rm(pathOf(dir, old), { force: true })
}

/** The process that holds the lock of a folder now, or null. Reads only. */
export async function lockHolder(dir: string, timing: LockTiming = LOCK_TIMING): Promise<LockHolder | null> {
  try {
    const epoch = await highest(dir)
    const holder = epoch === 0 ? null : await readHolder(dir, epoch)
    if (holder === null || holder === 'gone' || holder === 'writing') return null
    const known = await lookAt(holder, timing)
    let isHeld = known.kind === 'alive'
    if (known.kind === 'out_of_sight') {
      const touched = await touchedAt(pathOf(dir, epoch))
      isHeld = touched !== null && silence(touched) < known.patienceMs
    }
    return isHeld ? holder : null
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

/** A clock that was put back must not let a holder look alive for ever. */
const silence = (touched: number): number => Math.abs(Date.now() - touched)

/**
 * Passes once a holder has ended.
 *
 * @returns `ended`, `silent` when nothing but the lack of any sign says so, or `gone` when its file was
 * @throws GdnError `run_busy`
 */
async function isOver(holder: LockHolder, path: string, timing: LockTiming): Promise<'ended' | 'silent' | 'gone'> {
  const known = await lookAt(holder, timing)
  if (known.kind === 'ended') return 'ended'
  if (known.kind === 'alive') throw isAtWork(holder)
  const touched = await touchedAt(path)
  if (touched === null) return 'gone'
  const left = known.patienceMs - silence(touched)
  if (left > 0) throw isOutOfSight(holder, left)
  await sleep(timing.watchMs)
  const later = await touchedAt(path)
  if (later === null) return 'gone'
  if (later !== touched) throw isOutOfSight(holder, null)
  return 'silent'
}

/**
 * Takes the lock of a folder for this process. It dies with its owner: a holder that was killed leaves nothing that
 * anyone must clean up. The holder is who stands in the file of the highest number; numbers only grow, so a process
 * that slept through a takeover finds itself outnumbered instead of believing in an old file.
 *
 * Where the holder is out of sight (another machine, another container), the time of its file tells whether it works
 * still: it touches it every few seconds.
 *
 * @param note what the holder is doing, for the message that others get
 * @throws GdnError `run_busy` that names the holder
 * @example
 * const lock = await acquireLock('/state/runs/3f9a.lock', 'batch mint drop.csv')
 * try { await work() } finally { await lock.release() }
 */
export async function acquireLock(dir: string, note: string, timing: LockTiming = LOCK_TIMING): Promise<Lock> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const mine = await thisProcess(note)
  let followed: string | null = null
  for (;;) {
    const top = await highest(dir)
    if (top > 0) {
      const holder = await readHolder(dir, top)
      if (holder === 'gone') continue
      if (holder === 'writing') throw new GdnError('run_busy', `another process is just taking ${dir}`)
      if (holder !== null) {
        const over = await isOver(holder, pathOf(dir, top), timing)
        if (over === 'gone') continue
        // Whoever took it from a silent one may have ended before it did anything about that.
        mine.mayWake = holder.mayWake || over === 'silent'
        followed = over === 'silent' ? gaveNoSign(holder) : null
      }
    }
    const epoch = top + 1
    if (!(await claim(dir, epoch, JSON.stringify(mine)))) continue
    if (!(await isFirst(dir, epoch))) {
      await rm(pathOf(dir, epoch), { force: true })
      continue
    }
    await clean(dir, epoch)
    return new HeldLock(dir, epoch, mine, followed, timing.beatMs)
  }
}

function ignoreSystem(error: unknown): void {
  if (systemCode(error) === undefined) throw error
}

class HeldLock implements Lock {
  readonly epoch: number
  readonly mayWake: boolean
  readonly followed: string | null
  readonly #dir: string
  readonly #mine: LockHolder
  readonly #beat: NodeJS.Timeout

  constructor(dir: string, epoch: number, mine: LockHolder, followed: string | null, beatMs: number) {
    this.#dir = dir
    this.epoch = epoch
    this.#mine = mine
    this.mayWake = mine.mayWake
    this.followed = followed
    const touch = () => {
      const now = new Date()
      // Where it can't be touched, it will be seen to be lost in time.
      utimes(pathOf(dir, epoch), now, now).catch(() => undefined)
    }
    this.#beat = setInterval(touch, beatMs).unref()
  }

  async #isMine(): Promise<boolean> {
    try {
      return (await highest(this.#dir)) === this.epoch
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return false
      throw error
    }
  }

  async check(): Promise<void> {
    if (!(await this.#isMine())) throw wasTakenOver()
  }

  async release(): Promise<void> {
    clearInterval(this.#beat)
    const temp = join(this.#dir, `end.${ownPid}.${randomBytes(6).toString('hex')}`)
    try {
      // A file of a number that others have gone beyond must not come back.
      if (!(await this.#isMine())) return
      await writeFile(temp, JSON.stringify({ ...this.#mine, released: true }), { mode: 0o600, flag: 'wx' })
      await rename(temp, pathOf(this.#dir, this.epoch))
    } catch (error) {
      ignoreSystem(error)
      await rm(temp, { force: true }).catch(ignoreSystem)
    }
  }

  async discard(): Promise<void> {
    if (this.epoch > 1) return await this.release()
    clearInterval(this.#beat)
    if (!(await this.#isMine())) return
    // Moved away before it is removed: whoever looks at it right now has seen it empty or held, and can't take a
    // number in it that somebody else has again.
    const gone = `${this.#dir}.${randomUUID()}`
    await rename(this.#dir, gone).catch(ignoreSystem)
    await rm(gone, { recursive: true, force: true }).catch(ignoreSystem)
  }
}
