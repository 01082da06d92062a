import { type Kysely, sql } from 'kysely'
import { ownTurn } from '../../core/turns.ts'
import type { Db, Schema } from './schema.ts'

/** Runs `work` as one atomic transaction. Resolves when the transaction is durable. */
export type RunTransaction = <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>

/** Maximum number of transactions in a group. */
const MAX_GROUP_SIZE = 64
/**
 * Time in milliseconds after which a group starts no more jobs. Queries are synchronous, so readers must wait for the
 * group.
 */
const MAX_GROUP_MS = 5

interface Job {
  /** Runs the job. Resolves with a function that settles the caller's promise and must be called after the commit. */
  run(db: Db): Promise<() => void>
  reject(error: unknown): void
}

/**
 * Runs concurrent transactions in one commit. Each transaction has its own savepoint, so that a failure rolls back only
 * that transaction. Only the commit waits for the disk (0.3 to 1 ms). With 8 clients and one request per NFT, 2.5 times
 * as many requests per second are handled as with separate commits.
 */
export function createGroupCommit(db: Kysely<Schema>, maxGroupMs = MAX_GROUP_MS): RunTransaction {
  let queue: Job[] = []
  let running = false

  const run = async () => {
    while (queue.length > 0) {
      // Let reads run between two groups, and let requests from other sockets join the group.
      await ownTurn()
      const group = queue.slice(0, MAX_GROUP_SIZE)
      const done = await commit(db, group, maxGroupMs)
      queue = queue.slice(done)
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
      queue.push(job)
      if (running) return
      running = true
      void run()
    })
}

/**
 * Runs jobs until the time is up, and commits them. Never rejects: each job gets its own result.
 *
 * @returns the number of jobs that were resolved or rejected
 */
async function commit(db: Kysely<Schema>, jobs: readonly Job[], maxGroupMs: number): Promise<number> {
  const since = performance.now()
  let begun = 0
  try {
    const settle = await db.transaction().execute(async (transaction) => {
      const outcomes: (() => void)[] = []
      for (const job of jobs) {
        if (begun > 0 && performance.now() - since >= maxGroupMs) break
        begun += 1
        outcomes.push(await (jobs.length === 1 ? job.run(transaction) : runInSavepoint(transaction, job)))
      }
      return outcomes
    })
    for (const settleJob of settle) settleJob()
    return begun
  } catch (error) {
    // If no job has started, the database isn't writable. Reject all jobs, because each of them would wait for the lock
    // again, which would take minutes in total.
    const failed = begun === 0 ? jobs : jobs.slice(0, begun)
    for (const job of failed) job.reject(error)
    return failed.length
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
      // On a full disk, SQLite rolls back everything, including savepoints, so the whole group has failed.
      throw error
    }
    return () => job.reject(error)
  }
}
