// Does one operation on one manifest, and prints its time and memory.
import { createReadStream, readFileSync } from 'node:fs'
import Papa from 'papaparse'
import { enterRows } from '../src/batch/enter-rows.ts'
import { type PreparedRun, prepare } from '../src/batch/prepare.ts'
import { leaseStoredRun } from '../src/batch/runs/open-stored-run.ts'
import { runResults } from '../src/batch/runs/run-rows.ts'
import { listRuns } from '../src/batch/runs/runs.ts'
import type { StoredRun } from '../src/batch/runs/stored-run.ts'
import { createRequestBuilder, NO_FEATURES } from '../src/batch/send/request.ts'
import type { BatchOptions } from '../src/batch/types.ts'
import { readManifest } from '../src/manifest/read.ts'
import { openState } from '../src/state/open-state.ts'
import { acceptRows, sendRows } from '../src/state/send-rows.ts'

const CONTRACT = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
/** Number of requests in a transaction, with memory for the pages that they change: only what follows is measured. */
const TOGETHER = 1_000
const CACHE = 'PRAGMA cache_size = -500000'

const [mode = '', path = '', stateDir = '', expected = ''] = process.argv.slice(2)

const options: BatchOptions = {
  stateDir,
  origin: 'https://nft.example',
  blockchain: 'polygon',
  contractAddress: CONTRACT,
  manifestPath: path,
}

/** Yields rows by column name, like the manifest reader. */
function parse(): Promise<number> {
  return new Promise((resolve, reject) => {
    let rows = 0
    Papa.parse<Record<string, string>>(createReadStream(path, 'utf8'), {
      header: true,
      skipEmptyLines: true,
      chunk: ({ data }) => {
        rows += data.length
      },
      complete: () => resolve(rows),
      error: reject,
    })
  })
}

/** Does everything that a run does before its first request, on the first start and on each later one. */
async function start<Value>(act: (store: StoredRun, prepared: PreparedRun) => Promise<Value>): Promise<Value> {
  const state = await openState(stateDir)
  const store = await leaseStoredRun(state, options)
  const target = { blockchain: 'polygon', contractAddress: CONTRACT } as const
  const read = () => readManifest({ path }, { ...target, localFiles: true })
  const prepared = await prepare(store, options, { client: null, readManifest: read }, { writes: true })
  await enterRows(store, options, prepared)
  const value = await act(store, prepared)
  await store.release()
  state.close()
  return value
}

const plan = (): Promise<number> => start(async (store) => store.counts.total)

/** Records this share of the requests as accepted. */
async function answer(share: number): Promise<number> {
  return await start(async (store, { plan: planned }) => {
    const set = store.drop.setId ?? 0
    const build = createRequestBuilder(store, { set }, planned, () => '')
    const count = Math.floor(planned.requests * share)
    await store.read((sql) => sql.script(CACHE))
    for (let request = 0; request < count; request += TOGETHER) {
      const built: Awaited<ReturnType<typeof build>>[] = []
      for (let one = request; one < Math.min(count, request + TOGETHER); one++) {
        built.push(await build({ request: one, from: 0, size: planned.rowsOf(one).length }, NO_FEATURES))
      }
      await store.write((sql) => {
        for (const { endpoint, body, rows } of built) {
          const sent = rows.map(({ key, content, row }) => ({ key, content, line: row.line }))
          const whole = { endpoint, key: crypto.randomUUID(), body: JSON.stringify(body), rows: sent, honorsKey: false }
          const { id } = sendRows(sql, store.drop, whole, Date.now())
          acceptRows(
            sql,
            id,
            rows.map(() => crypto.randomUUID()),
            { now: Date.now() },
          )
        }
      })
    }
    return Number(expected)
  })
}

/** Reads all results of a run, as `batch results` does. */
async function results(): Promise<number> {
  const [run] = await listRuns(stateDir)
  let rows = 0
  if (run !== undefined) for await (const _ of runResults(run)) rows++
  return rows
}

/** Opens the state, as any command does that reads it. */
async function open(): Promise<number> {
  const state = await openState(stateDir)
  state.close()
  return Number(expected)
}

const MODES: Record<string, () => Promise<number>> = {
  papaparse: parse,
  plan,
  answer: () => answer(0.5),
  'answer rest': () => answer(1),
  results,
  open,
}

const since = performance.now()
const rows = await (MODES[mode] ?? plan)()
if (rows !== Number(expected)) throw new Error(`${rows} rows`)
const milliseconds = performance.now() - since
process.stdout.write(`${JSON.stringify({ milliseconds, peak: peakMiB() })}\n`)

/** getrusage isn't used: its maximum includes the parent's memory at the fork. */
function peakMiB(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS / 1024
  const kib = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return Number(kib) / 1024
}
