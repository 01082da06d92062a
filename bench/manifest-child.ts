// Does one thing to one manifest and tells how long it took and how much memory.
import { createReadStream, readFileSync } from 'node:fs'
import Papa from 'papaparse'
import { validateManifest } from '../src/manifest/read.ts'

async function validate(path: string): Promise<number> {
  const options = { blockchain: 'polygon', contractAddress: CONTRACT, extraColumns: false, localFiles: true } as const
  const { rows, issues } = await validateManifest({ path }, options)
  if (issues[0] !== undefined) throw new Error(JSON.stringify(issues[0]))
  return rows
}

const CONTRACT = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

/** Rows by the names of their columns, as anybody reads a manifest. */
function parse(path: string): Promise<number> {
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

const [mode, path = ''] = process.argv.slice(2)
const since = performance.now()
const rows = await (mode === 'validate' ? validate(path) : parse(path))
if (rows !== 1_000_000) throw new Error(`${rows} rows`)
const milliseconds = performance.now() - since
process.stdout.write(`${JSON.stringify({ milliseconds, peak: peakMiB() })}\n`)

/** Not by getrusage: its maximum counts the memory that the parent had when it forked. */
function peakMiB(): number {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS / 1024
  const kib = /VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return Number(kib) / 1024
}
