import { randomBytes } from 'node:crypto'
import { link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pid as ownPid } from 'node:process'
import { GdnError, systemCode } from './errors.ts'
import { isAlive, ownIdentity, type ProcessIdentity } from './process-identity.ts'

/** Who holds a lock. */
interface Holder extends ProcessIdentity {
  note: string
  released: boolean
}

export interface Lock {
  /** Grows with every holder, and is never used twice. */
  readonly epoch: number
  release(): Promise<void>
}

const NAME = /^lock\.([1-9][0-9]*)$/
// A file that can't be read yet is one being written (only where hard links are missing); after this long it is debris.
const WRITING_MS = 5_000
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP', 'EMLINK'])

const isHeld = async (holder: Holder): Promise<boolean> => !holder.released && (await isAlive(holder))

function parseHolder(text: string): Holder | null {
  try {
    const { pid, startedAt, bootId, note, released } = JSON.parse(text) as Partial<Holder>
    if (typeof pid !== 'number' || typeof note !== 'string') return null
    return { pid, startedAt: startedAt ?? null, bootId: bootId ?? null, note, released: released === true }
  } catch {
    return null
  }
}

async function highest(dir: string): Promise<number> {
  let top = 0
  for (const name of await readdir(dir)) {
    const match = NAME.exec(name)
    if (match !== null) top = Math.max(top, Number(match[1]))
  }
  return top
}

/** The holder written in `lock.<epoch>`; `gone` when the file vanished, `writing` when it isn't whole yet. */
async function readHolder(dir: string, epoch: number): Promise<Holder | 'gone' | 'writing' | null> {
  const path = join(dir, `lock.${epoch}`)
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
  const path = join(dir, `lock.${epoch}`)
  const temp = join(dir, `new.${ownPid}.${randomBytes(6).toString('hex')}`)
  await writeFile(temp, content, { mode: 0o600 })
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
  for (let old = Math.min(...numbers); old < epoch - 1; old++) await rm(join(dir, `lock.${old}`), { force: true })
}

/** The process that holds the lock of a folder now, or null. Reads only. */
export async function lockHolder(dir: string): Promise<{ pid: number; note: string } | null> {
  try {
    const epoch = await highest(dir)
    const holder = epoch === 0 ? null : await readHolder(dir, epoch)
    if (holder === null || holder === 'gone' || holder === 'writing') return null
    return (await isHeld(holder)) ? { pid: holder.pid, note: holder.note } : null
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

/**
 * Takes the lock of a folder for this process. It dies with its owner: a holder that was killed leaves nothing that
 * anyone must clean up. The holder is who stands in the file of the highest number; numbers only grow, so a process
 * that slept through a takeover finds itself outnumbered instead of believing in an old file.
 *
 * @param note what the holder is doing, for the message that others get
 * @throws GdnError `run_busy` that names the holder
 * @example
 * const lock = await acquireLock('/state/runs/3f9a.lock', 'batch mint drop.csv')
 * try { await work() } finally { await lock.release() }
 */
export async function acquireLock(dir: string, note: string): Promise<Lock> {
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const mine: Holder = { ...(await ownIdentity()), note, released: false }
  for (;;) {
    const top = await highest(dir)
    if (top > 0) {
      const holder = await readHolder(dir, top)
      if (holder === 'gone') continue
      if (holder === 'writing') throw new GdnError('run_busy', `another process is just taking ${dir}`)
      if (holder !== null && (await isHeld(holder))) {
        throw new GdnError('run_busy', `another gdn process is at work here: pid ${holder.pid} (${holder.note})`, {
          hint: 'wait until it has ended, or stop it with Ctrl-C where it runs',
          details: { pid: holder.pid, note: holder.note },
        })
      }
    }
    const epoch = top + 1
    if (!(await claim(dir, epoch, JSON.stringify(mine)))) continue
    if (!(await isFirst(dir, epoch))) {
      await rm(join(dir, `lock.${epoch}`), { force: true })
      continue
    }
    await clean(dir, epoch)
    return { epoch, release: () => release(dir, epoch, mine) }
  }
}

async function release(dir: string, epoch: number, mine: Holder): Promise<void> {
  const temp = join(dir, `end.${ownPid}.${randomBytes(6).toString('hex')}`)
  await writeFile(temp, JSON.stringify({ ...mine, released: true }), { mode: 0o600 })
  await rename(temp, join(dir, `lock.${epoch}`))
}
