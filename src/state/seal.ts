import { closeSync, constants, fstatSync, openSync, readFileSync, readSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { pid } from 'node:process'
import { bootId } from '../core/process-identity.ts'
import type { Sql } from '../sqlite/shared-database.ts'

/** The location of a database file. It changes after a copy, a restore, or a restart of the machine. */
export interface SealLocation {
  host: string
  device: string
  inode: string
  boot: string
}

const SLOT_BYTES = 256
const { O_RDWR, O_CREAT, O_NOFOLLOW = 0 } = constants

export async function locateSeal(path: string): Promise<SealLocation> {
  const { dev, ino } = statSync(path, { bigint: true })
  return { host: hostname(), device: String(dev), inode: String(ino), boot: (await bootId()) ?? '' }
}

/**
 * The files beside the database from which gdn detects whether the database is a copy. `-seal` contains the counter of
 * the last write transaction, and is written under the lock just before the commit. If only the database was restored,
 * the counters differ. The database stores the time at which the file system recorded the last write of the seal
 * (`ctime`), because no restore can set this time. If both files were restored in place, the times differ. `-holder`
 * contains the process that began the last write transaction.
 *
 * If a process is killed between the two writes, the counters don't match. In this rare case, the database counts as a
 * copy, and gdn only compares it with the server.
 */
export class CopySeal {
  readonly #file: number
  readonly #holder: number

  /**
   * Creates the seal of a database.
   *
   * @param path the path of the database
   */
  constructor(path: string) {
    this.#file = openSlot(`${path}-seal`)
    try {
      this.#holder = openSlot(`${path}-holder`)
    } catch (error) {
      closeSync(this.#file)
      throw error
    }
  }

  get counter(): number | null {
    const text = readSlot(this.#file)
    return /^\d+$/.test(text) ? Number(text) : null
  }

  set counter(value: number) {
    writeSlot(this.#file, String(value))
  }

  /** The time of the seal's last change, in nanoseconds of the file system's clock. */
  get changedAt(): string {
    return String(fstatSync(this.#file, { bigint: true }).ctimeNs)
  }

  writeHolder(): void {
    writeSlot(this.#holder, `pid ${pid} on ${hostname()}`)
  }

  close(): void {
    closeSync(this.#file)
    closeSync(this.#holder)
  }
}

/** Returns the process that began the last write transaction, or null if the process isn't known. */
export function readHolder(path: string): string | null {
  try {
    return readFileSync(`${path}-holder`, 'utf8').trim() || null
  } catch {
    return null
  }
}

const openSlot = (path: string): number => openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)

function readSlot(file: number): string {
  const bytes = Buffer.alloc(SLOT_BYTES)
  const length = readSync(file, bytes, 0, SLOT_BYTES, 0)
  return bytes.toString('utf8', 0, length).replaceAll('\0', '').trim()
}

function writeSlot(file: number, text: string): void {
  const bytes = Buffer.alloc(SLOT_BYTES, ' ')
  bytes.write(text, 0, SLOT_BYTES - 1)
  writeSync(file, bytes, 0, SLOT_BYTES, 0)
}

/** Returns whether the database was used at this location before. */
function isKnownLocation(sql: Sql, { host, device, inode, boot }: SealLocation): boolean {
  const row = sql.get(
    'SELECT 1 FROM places WHERE host = ? AND device = ? AND inode = ? AND boot = ?',
    host,
    device,
    inode,
    boot,
  )
  return row !== undefined
}

/**
 * Returns why the database may be a copy or an older version of itself; null if this machine wrote it last. Must be
 * called under the lock.
 */
export function findCopyReason(sql: Sql, place: SealLocation, seal: CopySeal): string | null {
  // Run this query first, because it acquires the lock, which prevents other processes from writing the seal.
  const { counter, sealed_at } = readCounter(sql)
  if (counter === 0) return (seal.counter ?? 0) === 0 ? null : 'the previous database is missing'
  if (!isKnownLocation(sql, place)) return 'the database was not used in this location before'
  if (seal.counter !== counter)
    return 'state.db and state.db-seal do not match, for example because a backup was restored or a command was killed'
  return seal.changedAt === sealed_at ? null : 'another program changed state.db-seal'
}

export function readCounter(sql: Sql): { counter: number; epoch: number; sealed_at: string | null } {
  const row = sql.get<ReturnType<typeof readCounter>>('SELECT counter, epoch, sealed_at FROM state')
  if (row === undefined) throw new Error('the state has no counter')
  return row
}
