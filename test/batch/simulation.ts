import { existsSync } from 'node:fs'
import { mkdtemp, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readJournal } from '../../src/batch/journal/read.ts'
import type { JournalRecord } from '../../src/batch/journal/records.ts'
import { runBatch } from '../../src/batch/run.ts'
import { fileExists, journalPath, runRef } from '../../src/batch/run-files.ts'
import type { AppendFile, BatchDeps, BatchEvent, BatchOptions, BatchSummary } from '../../src/batch/types.ts'
import type { ManifestRow } from '../../src/manifest/row.ts'
import type { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { CONTRACT } from './simulation-rows.ts'

/** Time that passes when someone waits for it. */
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

// Every write is synced. What that costs on a disk shared with other work is no part of these tests; that a power cut
// takes what wasn't synced is done by truncating.
const DISK = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** A machine with a state directory on which batches are run. */
export class Machine {
  readonly stateDir: string
  readonly events: BatchEvent[] = []
  /** Goes on from one process to the next. */
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

  journal(changes: Partial<BatchOptions> = {}, generation = 1): string {
    return journalPath(this.stateDir, runRef(this.options(changes), generation).id)
  }

  stop(): Promise<void> {
    return rm(this.stateDir, { recursive: true, force: true })
  }
}

export class Crash extends Error {}

/** Kills the process at its `at`-th step: from there on nothing it does has an effect. */
export class Killer {
  steps = 0
  crashed = false
  #revived = false
  readonly #at: number

  constructor(at: number) {
    this.#at = at
  }

  readonly step = (): void => {
    if (this.#revived) return
    if (this.crashed) throw new Crash('killed')
    if (++this.steps === this.#at) {
      this.crashed = true
      throw new Crash('killed')
    }
  }

  /** The next process is not the killer's. */
  revive(): void {
    this.#revived = true
  }
}

/**
 * The journal's file under a killer: before, in the middle of and after each write, before and after each sync. With
 * `powerCut` what wasn't synced is lost.
 */
export function killableFile(path: string, killer: Killer, powerCut: boolean) {
  return (file: AppendFile): AppendFile => {
    let written = 0
    let synced = 0
    let known = false
    const step = async () => {
      const before = killer.crashed
      try {
        killer.step()
      } catch (error) {
        if (!before && powerCut && known) await truncate(path, synced)
        throw error
      }
    }
    return {
      async append(bytes) {
        if (!known) {
          written = synced = await sizeOf(path)
          known = true
        }
        await step()
        const half = Math.floor(bytes.length / 2)
        await file.append(bytes.subarray(0, half))
        await step()
        await file.append(bytes.subarray(half))
        written += bytes.length
        await step()
      },
      async sync() {
        await step()
        await file.sync()
        synced = written
        await step()
      },
      async truncate(length) {
        if (killer.crashed) throw new Crash('killed')
        await file.truncate(length)
      },
      close: () => file.close(),
    }
  }
}

const sizeOf = async (path: string): Promise<number> => (await stat(path)).size

/** The records of a journal as they stand on the disk. */
export async function recordsOf(path: string): Promise<JournalRecord[]> {
  const records: JournalRecord[] = []
  if (await fileExists(path)) await readJournal(path, (record) => records.push(record))
  return records
}
