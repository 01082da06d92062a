import { closeSync, constants, openSync, readSync, statSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { pid } from 'node:process'
import { bootId } from '../core/process-identity.ts'
import type { Sql } from '../sqlite/shared-database.ts'

/** Where a database file is: another one after a copy, a restore, or a restart of the machine. */
export interface Place {
  host: string
  device: string
  inode: string
  boot: string
}

const SLOT_BYTES = 256
const HOLDER_AT = 0
const COUNTER_AT = SLOT_BYTES
const { O_RDWR, O_CREAT, O_NOFOLLOW = 0 } = constants

export async function placeOf(path: string): Promise<Place> {
  const { dev, ino } = statSync(path, { bigint: true })
  return { host: hostname(), device: String(dev), inode: String(ino), boot: (await bootId()) ?? '' }
}

/**
 * The file beside the database by which a copy is recognised. It has the counter of the last writing transaction, written
 * under the lock just before the commit: a database that was restored alone has another one. It also names the process
 * that is in a transaction.
 *
 * A process that is killed between the two writes leaves a counter that doesn't fit. That is taken for a copy: it costs
 * a look at the server, and is rare.
 */
export class Seal {
  readonly #file: number

  constructor(path: string) {
    this.#file = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
  }

  get counter(): number | null {
    const text = this.#read(COUNTER_AT)
    return /^\d+$/.test(text) ? Number(text) : null
  }

  set counter(value: number) {
    this.#write(COUNTER_AT, String(value))
  }

  /** Who began the last writing transaction. */
  get holder(): string | null {
    return this.#read(HOLDER_AT) || null
  }

  takeNote(): void {
    this.#write(HOLDER_AT, `pid ${pid} on ${hostname()}`)
  }

  close(): void {
    closeSync(this.#file)
  }

  #read(at: number): string {
    const bytes = Buffer.alloc(SLOT_BYTES)
    const length = readSync(this.#file, bytes, 0, SLOT_BYTES, at)
    return bytes.toString('utf8', 0, length).replaceAll('\0', '').trim()
  }

  #write(at: number, text: string): void {
    const bytes = Buffer.alloc(SLOT_BYTES, ' ')
    bytes.write(text, 0, SLOT_BYTES - 1)
    writeSync(this.#file, bytes, 0, SLOT_BYTES, at)
  }
}

/** Whether the database was seen at this place before. */
export function isKnownPlace(sql: Sql, { host, device, inode, boot }: Place): boolean {
  const found = sql.get(
    'SELECT 1 FROM places WHERE host = ? AND device = ? AND inode = ? AND boot = ?',
    host,
    device,
    inode,
    boot,
  )
  return found !== undefined
}

/**
 * Why the database may be a copy or an older state of itself; null where it is the one that this machine wrote last. To be
 * asked under the lock.
 */
export function whyCopied(sql: Sql, place: Place, seal: Seal): string | null {
  const { counter } = counterOf(sql)
  if (!isKnownPlace(sql, place)) return counter === 0 ? null : 'it was not used at this place before'
  return seal.counter === counter ? null : 'it is not as old as the file beside it'
}

export function counterOf(sql: Sql): { counter: number; epoch: number } {
  const row = sql.get<{ counter: number; epoch: number }>('SELECT counter, epoch FROM state')
  if (row === undefined) throw new Error('the state has no counter')
  return row
}
