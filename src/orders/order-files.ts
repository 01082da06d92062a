import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { withState } from '../batch/run-files.ts'
import { syncFolder, writeDurably } from '../core/durable-file.ts'
import { GdnError, systemCode } from '../core/errors.ts'
import { acquireLock, type Lock } from '../core/process-lock.ts'
import { decodeOrder, encodeOrder, type Order } from './order.ts'

/** How long the ids of an order are kept after its end was told, and of how many orders at most. */
const KEPT_MS = 30 * 24 * 3_600_000
const KEPT_ORDERS = 5_000
const LOCK_TRIES = 5

/**
 * The orders of a state directory. `orders/<id>.json` is the order under way; what was told goes to `told/`, what was
 * set aside by `--again` without its end being known to `aside/`, both by time.
 */
export class OrderFiles {
  readonly #stateDir: string
  readonly #dir: string
  #lock: Lock | null = null

  constructor(stateDir: string) {
    this.#stateDir = stateDir
    this.#dir = join(stateDir, 'orders')
  }

  pathOf(id: string): string {
    return join(this.#dir, `${id}.json`)
  }

  /**
   * Takes an order for this process.
   *
   * @returns what lets it go; `ended` when nothing of the order is left to do
   * @throws GdnError `run_busy` while another process has it, `data_dir` where the folder can't be used
   */
  async lock(id: string, note: string): Promise<(ended: boolean) => Promise<void>> {
    const dir = join(this.#dir, `${id}.lock`)
    const lock = await withState(this.#stateDir, async () => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await acquireLock(dir, note)
        } catch (error) {
          // Its last holder was just clearing it away.
          if (systemCode(error) !== 'ENOENT' || attempt === LOCK_TRIES) throw error
        }
      }
    })
    this.#lock = lock
    return (ended) => (ended ? lock.discard() : lock.release())
  }

  /** The order under way, or null. @throws GdnError `data_dir`: damaged, made by a newer gdn, not readable */
  async read(id: string): Promise<Order | null> {
    return await withState(this.#stateDir, () => readOrder(this.pathOf(id)))
  }

  /**
   * Puts the order on the disk, in place of what was there. Resolves when it is there for good, and still this
   * process's: whoever takes the order over reads it afterwards.
   */
  async write(order: Order): Promise<void> {
    await this.#put(this.pathOf(order.id), order)
    await this.#lock?.check()
  }

  /** Forgets an order that had no effect. */
  async remove(id: string): Promise<void> {
    await withState(this.#stateDir, async () => {
      await this.#lock?.check()
      await rm(this.pathOf(id), { force: true })
      await syncFolder(this.#dir)
    })
  }

  /** Keeps of an order what others need to know of it, and makes room for the next of its content. */
  async tell(order: Order, now: number): Promise<void> {
    const told: Order = { ...order, state: 'told', body: '', before: null }
    await this.#put(join(this.#dir, 'told', nameAt(now, order)), told)
    await this.remove(order.id)
    await this.#prune(now)
  }

  /** Makes room for another order of the same content, whatever became of this one. */
  async setAside(order: Order, now: number): Promise<void> {
    if (order.accepted !== null) return await this.tell(order, now)
    await this.#put(join(this.#dir, 'aside', nameAt(now, order)), order)
    await this.remove(order.id)
  }

  /** Every order that can be read: under way, told and set aside. Those of a newer gdn or damaged are passed over. */
  async all(): Promise<Order[]> {
    return await withState(this.#stateDir, async () => {
      const orders: Order[] = []
      for (const dir of [this.#dir, join(this.#dir, 'told'), join(this.#dir, 'aside')]) {
        for (const name of await namesIn(dir)) {
          const order = await readOrder(join(dir, name)).catch((error: unknown) => {
            if (error instanceof GdnError) return null
            throw error
          })
          if (order !== null) orders.push(order)
        }
      }
      return orders
    })
  }

  async #put(path: string, order: Order): Promise<void> {
    await withState(this.#stateDir, async () => {
      await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
      await writeDurably(path, async (file) => {
        await file.writeFile(encodeOrder(order))
        await file.sync()
        // What another process wrote since must not be put back to what this one knew.
        await this.#lock?.check()
      })
    })
  }

  async #prune(now: number): Promise<void> {
    await withState(this.#stateDir, async () => {
      const dir = join(this.#dir, 'told')
      const names = (await namesIn(dir)).sort()
      const old = names.filter((name, i) => i < names.length - KEPT_ORDERS || now - Number.parseInt(name, 10) > KEPT_MS)
      for (const name of old) await rm(join(dir, name), { force: true })
    })
  }
}

const TIME_DIGITS = 14
const KEY_DIGITS = 8
/** By time, and by the key too: two orders of one content may end in the same millisecond. */
const nameAt = (now: number, { id, key }: Order) =>
  `${String(now).padStart(TIME_DIGITS, '0')}-${id}-${key.slice(0, KEY_DIGITS)}.json`

async function namesIn(dir: string): Promise<string[]> {
  const names = await readdir(dir).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => name.endsWith('.json'))
}

async function readOrder(path: string): Promise<Order | null> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  const decoded = decodeOrder(text)
  if (decoded.kind === 'order') return decoded.order
  if (decoded.kind === 'newer') {
    throw new GdnError('data_dir', `the order ${path} was made by a newer gdn (format ${decoded.version})`, {
      place: { file: path },
      hint: 'update gdn; nothing was sent',
    })
  }
  throw new GdnError('data_dir', `the order ${path} is damaged: it is not as it was written`, {
    place: { file: path },
    hint: 'nothing was sent. This very command was given before, and what became of it stood in that file: look on the server whether it is done. If it is not, move the file away and give the command again',
  })
}
