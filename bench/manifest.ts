import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checksumAddress } from '../src/api/address.ts'
import { withFolder } from './backend.ts'
import { type Figure, report } from './figures.ts'
import { startUntil } from './processes.ts'

const ROWS = 1_000_000
const SHORT = 10_000
const RUNS = 3
const FEW = 1000
/** The time of planning, compared with papaparse. */
const BUDGET = 8
/**
 * Peak memory of reading results, compared with a process that only opens the state. A fixed number would measure
 * Node.js: that process alone has 60 to 75 MiB, and V8 may enlarge its young generation by 27 MiB.
 */
const RESULTS_BUDGET = 1.5

/** Validating and planning all rows of a long manifest, compared with a CSV parser that discards its rows. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const lower = join(folder, 'lower.csv')
    const repeated = join(folder, 'repeated.csv')
    const checksummed = join(folder, 'checksummed.csv')
    const short = join(folder, 'short.csv')
    await writeManifest(lower, { rows: ROWS, receivers: ROWS, spell: (address) => address })
    await writeManifest(repeated, { rows: ROWS, receivers: FEW, spell: checksumAddress })
    await writeManifest(checksummed, { rows: ROWS, receivers: ROWS, spell: checksumAddress })
    await writeManifest(short, { rows: SHORT, receivers: SHORT, spell: checksumAddress })
    return [
      ...report(await planShort(folder, short)),
      ...report(await compare(folder, 'distinct lower-case receivers', lower)),
      ...report(await compare(folder, `${FEW} checksummed receivers`, repeated)),
      ...report(await compare(folder, 'distinct checksummed receivers', checksummed)),
      ...report(await resume(folder, repeated)),
    ]
  })
}

async function planShort(folder: string, path: string): Promise<Figure[]> {
  const samples: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const stateDir = await mkdtemp(join(folder, 'state-'))
    samples.push((await inChild('plan', path, stateDir, SHORT)).milliseconds)
  }
  return [{ what: 'validate and plan 10,000 rows', unit: 'ms', samples, budget: { atMost: 500 } }]
}

async function compare(folder: string, what: string, path: string): Promise<Figure[]> {
  const alone: Measured[] = []
  const ours: Measured[] = []
  const again: Measured[] = []
  for (let run = 0; run < RUNS; run++) {
    const stateDir = await mkdtemp(join(folder, 'state-'))
    alone.push(await inChild('papaparse', path))
    ours.push(await inChild('plan', path, stateDir))
    again.push(await inChild('plan', path, stateDir))
  }
  return [
    {
      what: `validate and plan 1,000,000 rows, ${what}`,
      unit: 'ms',
      samples: times(ours),
      against: { what: 'papaparse alone', samples: times(alone) },
      budget: { atMost: BUDGET },
    },
    memoryOf(ours, 200),
    {
      what: 'second start, up to the first request',
      unit: 'ms',
      samples: times(again),
      against: { what: 'the first start', samples: times(ours) },
      budget: { atMost: 0.3 },
    },
  ]
}

/**
 * Starts of a run after some requests were accepted, with 50 rows each. A start changes nothing, so all runs have one
 * state: to record a million rows takes minutes.
 */
async function resume(folder: string, path: string): Promise<Figure[]> {
  const stateDir = await mkdtemp(join(folder, 'state-'))
  const measured = async (mode: string) => {
    const runs: Measured[] = []
    for (let run = 0; run < RUNS; run++) runs.push(await inChild(mode, path, stateDir))
    return runs
  }
  const first = await inChild('plan', path, stateDir)
  await inChild('answer', path, stateDir)
  const half = await measured('plan')
  await inChild('answer rest', path, stateDir)
  const whole = await measured('plan')
  const results = await measured('results')
  const idle = await measured('open')
  const against = { what: 'the first start', samples: times([first]) }
  const budget = { atMost: 0.3 }
  return [
    { what: 'resume after half of the requests', unit: 'ms', samples: times(half), against, budget },
    { what: 'resume after all requests', unit: 'ms', samples: times(whole), against, budget },
    memoryOf(whole, 200),
    {
      what: 'peak memory while reading 1,000,000 results',
      unit: 'MiB',
      samples: peaks(results),
      against: { what: 'a process that only opens the state', samples: peaks(idle) },
      budget: { atMost: RESULTS_BUDGET },
    },
  ]
}

interface Measured {
  milliseconds: number
  peak: number
}

const peaks = (measured: readonly Measured[]): number[] => measured.map(({ peak }) => peak)
const times = (measured: readonly Measured[]): number[] => measured.map(({ milliseconds }) => milliseconds)

const memoryOf = (measured: readonly Measured[], atMost: number): Figure => ({
  what: 'peak memory of the process',
  unit: 'MiB',
  samples: peaks(measured),
  budget: { atMost },
})

/** Runs in a separate process, so that its peak memory is that of this work. */
async function inChild(mode: string, path: string, stateDir = '', rows = ROWS): Promise<Measured> {
  const child = fileURLToPath(new URL('manifest-child.mjs', import.meta.url))
  const { line, end } = await startUntil(/^{/, process.execPath, [child, mode, path, stateDir, String(rows)])
  await end()
  return JSON.parse(line)
}

async function writeManifest(
  path: string,
  { rows, receivers, spell }: { rows: number; receivers: number; spell: (address: string) => string },
): Promise<void> {
  const file = createWriteStream(path)
  file.write('title,description,image,receiver,attr:Level,extra:series\n')
  const seed = randomBytes(8)
  for (let row = 0; row < rows; row++) {
    const name = String(row % receivers)
    const address = `0x${createHash('sha256').update(seed).update(name).digest('hex').slice(0, 40)}`
    const image = `https://files.example/drop/${row}.png`
    const line = `Number ${row},"One of many, created for a benchmark",${image},${spell(address)},${row % 100},First\n`
    if (!file.write(line)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
}
