import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runBatch } from '../../src/batch/run.ts'
import { runRef } from '../../src/batch/runs/run-identity.ts'
import { runResults } from '../../src/batch/runs/run-rows.ts'
import { openRun } from '../../src/batch/runs/runs.ts'
import type { BatchDeps, BatchEvent, BatchOptions, BatchSummary, ResultRow } from '../../src/batch/types.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import { openSqlite, type RawDatabase } from '../../src/sqlite/driver.ts'
import type { Sql } from '../../src/sqlite/shared-database.ts'
import { openState } from '../../src/state/open-state.ts'
import { beginAttempt, insertOperation, recordAcceptance, storeIntendedRequest } from '../../src/state/operations.ts'
import { insertRun } from '../../src/state/runs.ts'
import type { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { CONTRACT } from './simulation-rows.ts'

/** Simulated time that advances when someone waits for it. */
export function simulatedTime() {
  let time = 0
  return {
    now: () => time,
    async sleep(ms: number, signal?: AbortSignal): Promise<void> {
      await new Promise((resolve) => setImmediate(resolve))
      if (signal?.aborted === true) throw signal.reason
      time += ms
    },
  }
}

// Every write is synced, and these tests need no real disk for it. The effect of a power cut is simulated by
// truncating.
const DISK = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** A machine with a state directory on which batches are run. */
export class Machine {
  readonly stateDir: string
  readonly events: BatchEvent[] = []
  /** Continues from one process to the next. */
  readonly time = simulatedTime()
  readonly #keys = { next: 1 }

  private constructor(stateDir: string) {
    this.stateDir = stateDir
  }

  static async start(): Promise<Machine> {
    return new Machine(await mkdtemp(join(DISK, 'gdn-batch-')))
  }

  options(changes: Partial<BatchOptions> = {}): BatchOptions {
    return {
      stateDir: this.stateDir,
      origin: 'https://nft.example',
      blockchain: 'polygon',
      contractAddress: CONTRACT,
      manifestPath: '/drops/drop.csv',
      chunkSize: 3,
      inFlight: 2,
      ...changes,
    }
  }

  run(
    server: FakeHostedApi,
    rows: readonly ManifestRow[] | null,
    changes: Partial<BatchOptions> = {},
    deps: Partial<BatchDeps> = {},
  ): Promise<BatchSummary> {
    server.restart()
    const pacer = { take: async () => ({ done: () => {} }), hold: () => {} }
    return runBatch(this.options(changes), {
      client: server,
      pacer,
      readManifest:
        rows === null
          ? null
          : async function* () {
              for (const row of rows) yield { row }
            },
      onEvent: (event) => this.events.push(event),
      newKey: () => `key-${this.#keys.next++}`,
      ...this.time,
      ...deps,
    })
  }

  /** The id of a run. */
  runId(changes: Partial<BatchOptions> = {}, generation = 1): string {
    return runRef(this.options(changes), generation).id
  }

  /** The results of a run's rows. */
  async results({ run }: BatchSummary): Promise<ResultRow[]> {
    const rows: ResultRow[] = []
    for await (const result of runResults(await openRun(this.stateDir, run.id))) rows.push(result)
    return rows
  }

  /** Changes the state directly. */
  async state<Result>(work: (sql: Sql) => Result): Promise<Result> {
    const state = await openState(this.stateDir)
    try {
      return await state.write(work)
    } finally {
      state.close()
    }
  }

  /** Records NFTs that a single command of this machine obtained. */
  async ordered(ids: readonly string[]): Promise<void> {
    await this.state((sql) => {
      const run = { id: randomUUID(), kind: 'command' as const, name: 'nft-mint-0000', note: 'nft mint' }
      const { runId } = insertRun(sql, { ...run, holder: null as never, now: 0 })
      sql.run('UPDATE runs SET holder = NULL WHERE id = ?', runId)
      const { origin, blockchain, contractAddress: contract } = this.options()
      const name = { origin, blockchain, contract, kind: 'createnft' as const, identity: `v1:${runId}` }
      const backend = { url: origin, id: null, incarnation: null }
      const { id } = insertOperation(sql, randomUUID(), runId, name)
      const intended = storeIntendedRequest(sql, id, {
        key: randomUUID(),
        body: '{"metadata":[]}',
        backend,
        listedAt: null,
        honorsKey: null,
      })
      const sent = beginAttempt(sql, intended, { now: 0, maxCost: null })
      const nfts = ids.map((nft_gdn_id) => ({ nft_gdn_id, accepted_date: null }))
      recordAcceptance(sql, sent, { nfts, transaction_gdn_id: null, accepted_date: null, by: 'answer', at: 0 }, backend)
    })
  }

  /** A machine with the files of another one at some point in time. */
  static at(stateDir: string): Machine {
    return new Machine(stateDir)
  }

  /** Deletes the state, as when the disk of a CI runner is discarded. */
  async lose(): Promise<void> {
    for (const name of ['state.db', 'state.db-seal', 'state.db-journal']) {
      await rm(join(this.stateDir, name), { force: true })
    }
  }

  /** Removes the killed process as the holder of runs. */
  async bury(): Promise<void> {
    await this.state((sql) => sql.run('UPDATE runs SET holder = NULL'))
  }

  stop(): Promise<void> {
    return rm(this.stateDir, { recursive: true, force: true })
  }
}

export class Crash extends Error {}

/** Kills the process at its `at`-th step. After that, nothing it does has an effect. Calls back at that moment. */
export class Killer {
  steps = 0
  crashed = false
  #revived = false
  readonly #at: number
  readonly #onKill: () => void

  constructor(at: number, onKill = () => {}) {
    this.#at = at
    this.#onKill = onKill
  }

  readonly step = (): void => {
    if (this.#revived) return
    if (this.crashed) throw new Crash('killed')
    if (++this.steps === this.#at) {
      this.crashed = true
      this.#onKill()
      throw new Crash('killed')
    }
  }

  get isDead(): boolean {
    return this.crashed && !this.#revived
  }

  /** Ends the effect of the kill for the next process. */
  revive(): void {
    this.#revived = true
  }
}

/** Opens databases that may be killed before each statement and after each commit. */
export function killableDatabase(killer: Killer): (path: string) => RawDatabase {
  return (path) => {
    const raw = openSqlite(path)
    const stepping = <Result>(act: () => Result, isCommit = false): Result => {
      killer.step()
      const result = act()
      if (isCommit) killer.step()
      return result
    }
    return {
      exec: (sql) => stepping(() => raw.exec(sql), sql === 'COMMIT'),
      // As the operating system does with the connection of a killed process.
      close: () => {
        if (killer.crashed && killer.isDead) rollBack(raw)
        raw.close()
      },
      prepare(sql) {
        const statement = killer.isDead ? null : raw.prepare(sql)
        const alive = () => {
          if (statement === null) throw new Crash('killed')
          return statement
        }
        return {
          reader: statement?.reader ?? false,
          all: (parameters) => stepping(() => alive().all(parameters)),
          run: (parameters) => stepping(() => alive().run(parameters)),
          iterate: (parameters) => alive().iterate(parameters),
        }
      },
    }
  }
}

function rollBack(raw: RawDatabase): void {
  try {
    raw.exec('ROLLBACK')
  } catch {
    // There was no transaction.
  }
}
