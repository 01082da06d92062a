import { type Kysely, sql } from 'kysely'
import type { Db, Schema } from './schema.ts'

/** Runs work as one transaction: all of it or nothing, durable when it resolves. */
export type RunTransaction = <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>

/** Readers wait for a commit, so it stays short. */
const LARGEST_GROUP = 64

interface Job {
  /** Does the work; what it resolves with tells the caller so, and is called after the commit. */
  run(db: Db): Promise<() => void>
  reject(error: unknown): void
}

/**
 * Transactions that arrive together share one commit, each of them in a savepoint of its own: one that fails takes
 * nothing with it but itself. A commit waits for the disk (0.3 to 1 ms), everything else in a transaction doesn't:
 * measured with 8 clients and a request for each NFT, 2.5 times as many requests a second.
 */
export function createGroupCommit(db: Kysely<Schema>): RunTransaction {
  let waiting: Job[] = []
  let running = false

  const run = async () => {
    while (waiting.length > 0) {
      const group = waiting.slice(0, LARGEST_GROUP)
      waiting = waiting.slice(group.length)
      await commit(db, group)
    }
    running = false
  }

  return (work) =>
    new Promise((resolve, reject) => {
      const job: Job = {
        reject,
        async run(on) {
          const result = await work(on)
          return () => resolve(result)
        },
      }
      waiting.push(job)
      if (running) return
      running = true
      // Not at once: whatever else the present turn of the event loop reads from its sockets joins the group.
      setImmediate(run)
    })
}

/** Never rejects: each job learns what became of it. */
async function commit(db: Kysely<Schema>, jobs: readonly Job[]): Promise<void> {
  try {
    const settle = await db.transaction().execute(async (transaction) => {
      const outcomes: (() => void)[] = []
      for (const job of jobs) {
        outcomes.push(await (jobs.length === 1 ? job.run(transaction) : runInSavepoint(transaction, job)))
      }
      return outcomes
    })
    for (const tell of settle) tell()
  } catch (error) {
    for (const job of jobs) job.reject(error)
  }
}

async function runInSavepoint(db: Db, job: Job): Promise<() => void> {
  await sql`savepoint job`.execute(db)
  try {
    const outcome = await job.run(db)
    await sql`release job`.execute(db)
    return outcome
  } catch (error) {
    try {
      await sql`rollback to job`.execute(db)
      await sql`release job`.execute(db)
    } catch {
      // A full disk makes SQLite roll back everything by itself, savepoints too: then the whole group failed of it.
      throw error
    }
    return () => job.reject(error)
  }
}
