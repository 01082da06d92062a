import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pid } from 'node:process'
import { systemCode } from './errors.ts'

/** What a change came to: the text to keep, or null to leave what is there, and what the caller wants to know. */
export interface Change<Result> {
  keep: string | null
  result: Result
}

const NAME = /^[1-9][0-9]{0,14}$/
const DRAFT = /^new\./
/** Versions below the newest that stay: whoever lists the folder meanwhile still finds one that doesn't move. */
const KEPT = 4
const MAX_TRIES = 200
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'ENOSYS', 'EOPNOTSUPP', 'EMLINK'])

/** The numbers of the versions in a folder, and drafts that somebody left or is writing. */
function list(dir: string): { versions: number[]; drafts: string[] } {
  const names = readdirSync(dir)
  return { versions: names.filter((name) => NAME.test(name)).map(Number), drafts: names.filter((n) => DRAFT.test(n)) }
}

const highest = (versions: readonly number[]): number => versions.reduce((top, version) => Math.max(top, version), 0)

/**
 * Text that processes of one machine change together, without a lock: a change is read, thought, and linked in as the
 * next version, which fails where another process was faster, and is thought anew. So a process that is stopped or
 * killed at any point holds up nobody and overwrites nothing. Meant for a few hundred bytes that matter until the next
 * boot: nothing is synced to the disk.
 *
 * Synchronous on purpose: a change takes a fraction of a millisecond, and must be done when a process is about to end.
 *
 * @param change gets the text (null where there is none yet); called again for each try, so it must be repeatable:
 *   in the one case where a try can't tell whether it succeeded, it sees its own work
 * @throws what the file system throws: read-only, full, not permitted
 * @example
 * updateTogether('/tmp/counter', (text) => ({ keep: String(Number(text ?? 0) + 1), result: undefined }))
 */
export function updateTogether<Result>(dir: string, change: (text: string | null) => Change<Result>): Result {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const top = makeAndList(dir)
    const text = top === 0 ? null : readIfThere(join(dir, String(top)))
    if (text === undefined) continue
    const { keep, result } = change(text)
    if (keep === null || commit(dir, top, keep)) return result
  }
  throw new Error(`${dir} changes too fast`)
}

function makeAndList(dir: string): number {
  try {
    return highest(list(dir).versions)
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    return 0
  }
}

/** Undefined: outdated and removed meanwhile. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Puts the text in as the version after `top`, if `top` is the newest still. Versions are removed lowest first: as long
 * as the one before ours is there, ours was never there before, so it is the first of its number.
 */
function commit(dir: string, top: number, text: string): boolean {
  const path = join(dir, String(top + 1))
  const draft = join(dir, `new.${pid}.${randomBytes(6).toString('hex')}`)
  try {
    if (!linkNew(draft, path, text)) return false
    const { versions, drafts } = list(dir)
    if (highest(versions) === top + 1 && (top === 0 || versions.includes(top))) {
      clean(dir, top + 1, versions, drafts)
      return true
    }
    // Either another already built on it, or we slept and it came much too late: in that case it must not stay.
    if (!versions.includes(top)) rmSync(path, { force: true })
    return false
  } catch (error) {
    // The folder, or the draft, was cleared away by somebody.
    if (systemCode(error) === 'ENOENT') return false
    throw error
  }
}

/** False where the version exists. */
function linkNew(draft: string, path: string, text: string): boolean {
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
    linkSync(draft, path)
    return true
  } catch (error) {
    const code = systemCode(error) ?? ''
    if (code === 'EEXIST') return false
    if (!NO_LINKS.has(code)) throw error
    return writeNew(path, text)
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Where there are no hard links. Who reads it half written takes it for damaged, and is answered with caution. */
function writeNew(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' })
    return true
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false
    throw error
  }
}

function clean(dir: string, top: number, versions: number[], drafts: readonly string[]): void {
  const outdated = versions.filter((version) => version < top - KEPT).sort((a, b) => a - b)
  for (const version of outdated) rmSync(join(dir, String(version)), { force: true })
  // Processes were killed while they wrote. A draft of a living one may be among them: it makes another.
  if (drafts.length > 16) for (const name of drafts) rmSync(join(dir, name), { force: true })
}
