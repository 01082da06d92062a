import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checksumAddress } from '../src/api/address.ts'
import { withFolder } from './backend.ts'
import type { Figure } from './figures.ts'
import { startUntil } from './processes.ts'

const ROWS = 1_000_000
const RUNS = 3
const FEW = 1000

/** Checking and planning every row of a long manifest, against a bare CSV parser that throws its rows away. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const lower = join(folder, 'lower.csv')
    const repeated = join(folder, 'repeated.csv')
    const checksummed = join(folder, 'checksummed.csv')
    await writeManifest(lower, ROWS, (address) => address)
    await writeManifest(repeated, FEW, checksumAddress)
    await writeManifest(checksummed, ROWS, checksumAddress)
    return [
      ...(await compare(folder, 'distinct lower-case receivers', lower, 4)),
      ...(await compare(folder, `${FEW} checksummed receivers`, repeated, 4)),
      ...(await compare(folder, 'distinct checksummed receivers', checksummed, 10)),
      ...(await resume(folder, repeated)),
    ]
  })
}

async function compare(folder: string, what: string, path: string, atMost: number): Promise<Figure[]> {
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
      budget: { atMost },
    },
    memoryOf(ours),
    {
      what: 'the same start again, before a first request',
      unit: 'ms',
      samples: times(again),
      against: { what: 'the first start', samples: times(ours) },
      budget: { atMost: 0.3 },
    },
  ]
}

/** Starts of a run of which requests were taken, 50 rows each. */
async function resume(folder: string, path: string): Promise<Figure[]> {
  const first: Measured[] = []
  const half: Measured[] = []
  const whole: Measured[] = []
  for (let run = 0; run < RUNS; run++) {
    const stateDir = await mkdtemp(join(folder, 'state-'))
    first.push(await inChild('plan', path, stateDir))
    await inChild('answer', path, stateDir)
    half.push(await inChild('plan', path, stateDir))
    await inChild('answer rest', path, stateDir)
    whole.push(await inChild('plan', path, stateDir))
  }
  const against = { what: 'the first start', samples: times(first) }
  const budget = { atMost: 0.3 }
  return [
    { what: 'resume when half of the requests were answered', unit: 'ms', samples: times(half), against, budget },
    { what: 'resume when all were', unit: 'ms', samples: times(whole), against, budget },
    memoryOf(whole),
  ]
}

interface Measured {
  milliseconds: number
  peak: number
}

const times = (measured: readonly Measured[]): number[] => measured.map(({ milliseconds }) => milliseconds)

const memoryOf = (measured: readonly Measured[]): Figure => ({
  what: 'peak memory of the process',
  unit: 'MiB',
  samples: measured.map(({ peak }) => peak),
  budget: { atMost: 200 },
})

/** In a process of its own, whose peak memory is then that of this work. */
async function inChild(mode: string, path: string, stateDir = ''): Promise<Measured> {
  const child = fileURLToPath(new URL('manifest-child.mjs', import.meta.url))
  const { line, end } = await startUntil(/^{/, process.execPath, [child, mode, path, stateDir])
  await end()
  return JSON.parse(line)
}

async function writeManifest(path: string, receivers: number, spell: (address: string) => string): Promise<void> {
  const file = createWriteStream(path)
  file.write('title,description,image,receiver,attr:Level,extra:series\n')
  const seed = randomBytes(8)
  for (let row = 0; row < ROWS; row++) {
    const name = String(row % receivers)
    const address = `0x${createHash('sha256').update(seed).update(name).digest('hex').slice(0, 40)}`
    const image = `https://files.example/drop/${row}.png`
    const line = `Number ${row},"One of many, made to be read",${image},${spell(address)},${row % 100},First\n`
    if (!file.write(line)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
}
