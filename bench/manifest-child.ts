// Does one thing to one manifest and tells how long it took and how much memory.
import { createReadStream, readFileSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import Papa from 'papaparse'
import { findRun } from '../src/batch/find-run.ts'
import { gather } from '../src/batch/gather.ts'
import { encodeRecord, type JournalRecord } from '../src/batch/journal/records.ts'
import { journalPath, runsFolder } from '../src/batch/run-files.ts'
import { SpoolReader } from '../src/batch/spool.ts'
import type { BatchOptions } from '../src/batch/types.ts'
import { readManifest } from '../src/manifest/read.ts'

const ROWS = 1_000_000
const CONTRACT = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const FLUSH = 2000

const [mode = '', path = '', stateDir = ''] = process.argv.slice(2)

const options: BatchOptions = {
  stateDir,
  origin: 'https://nft.example',
  blockchain: 'polygon',
  contractAddress: CONTRACT,
  manifestPath: path,
}

/** Rows by the names of their columns, as anybody reads a manifest. */
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

/** All that a start of a run does before its first request: the same for the first and for every later one. */
async function start() {
  await mkdir(runsFolder(stateDir), { recursive: true })
  const found = await findRun(options)
  const target = { blockchain: 'polygon', contractAddress: CONTRACT } as const
  const read = () => readManifest({ path }, { ...target, localFiles: true })
  const gathered = await gather({ readManifest: read }, found, options, runsFolder(stateDir))
  await gathered.place()
  return { found, gathered }
}

async function plan(): Promise<number> {
  const { found } = await start()
  if (found.journal === null) {
    const file = await open(journalPath(stateDir, found.run.id), 'w')
    await file.appendFile(encodeRecord(found.run))
    await file.close()
  }
  return found.ledger.counts().total
}

/** Puts into the journal that requests were accepted, as many as the share says. */
async function answer(share: number): Promise<number> {
  const { found, gathered } = await start()
  const spool = await SpoolReader.open(gathered.path)
  const file = await open(journalPath(stateDir, found.run.id), 'a')
  const requests = Math.floor(gathered.plan.requests * share)
  let waiting: Buffer[] = []
  const put = (record: JournalRecord) => waiting.push(encodeRecord(record))
  const first = found.ledger.lastRequest
  for (let index = 0; index < requests; index++) {
    const n = first + index + 1
    const rows = await spool.readAll(gathered.plan.rowsOf(index), (key) => found.ledger.rows.find(key))
    const metadata = rows.map(({ row }) => row.metadata)
    const receiver_wallet_address = rows[0]?.row.receiver
    const body = JSON.stringify({
      contract_address: CONTRACT,
      blockchain: 'polygon',
      receiver_wallet_address,
      metadata,
    })
    const keys = rows.map(({ key, row, content }): [string, number, string] => [key, row.line, content])
    put({ t: 'intent', n, endpoint: 'createnft', key: crypto.randomUUID(), body, rows: keys, at: Date.now() })
    put({ t: 'answer', n, outcome: 'accepted', status: 200, ids: rows.map(() => crypto.randomUUID()), at: Date.now() })
    if (waiting.length >= FLUSH || index === requests - 1) {
      await file.appendFile(Buffer.concat(waiting))
      waiting = []
    }
  }
  await file.close()
  await spool.close()
  return ROWS
}

const MODES: Record<string, () => Promise<number>> = {
  papaparse: parse,
  plan,
  answer: () => answer(0.5),
  'answer rest': () => answer(1),
}

const since = performance.now()
const rows = await (MODES[mode] ?? plan)()
if (rows !== ROWS) throw new Error(`${rows} rows`)
const milliseconds = performance.now() - since
process.stdout.write(`${JSON.stringify({ milliseconds, peak: peakMiB() })}\n`)

/** Not by getrusage: its maximum counts the memory that the parent had when it forked. */
function peakMiB(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS / 1024
  const kib = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return Number(kib) / 1024
}
