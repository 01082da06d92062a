import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { checksumAddress } from '../src/api/address.ts'
import { withFolder } from './backend.ts'
import type { Figure } from './figures.ts'
import { startUntil } from './processes.ts'

const ROWS = 1_000_000
const RUNS = 3

/** Checking every row of a long manifest, against a bare CSV parser that throws its rows away. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const lower = join(folder, 'lower.csv')
    const checksummed = join(folder, 'checksummed.csv')
    await writeManifest(lower, (address) => address)
    await writeManifest(checksummed, checksumAddress)
    return [
      ...(await compare('lower-case receivers', lower, 4)),
      ...(await compare('distinct checksummed receivers', checksummed, 10)),
    ]
  })
}

async function compare(what: string, path: string, atMost: number): Promise<Figure[]> {
  const samples: number[] = []
  const alone: number[] = []
  const memory: number[] = []
  for (let run = 0; run < RUNS; run++) {
    alone.push((await inChild('papaparse', path)).milliseconds)
    const ours = await inChild('validate', path)
    samples.push(ours.milliseconds)
    memory.push(ours.peak)
  }
  const against = { what: 'papaparse alone', samples: alone }
  return [
    { what: `validate 1,000,000 rows, ${what}`, unit: 'ms', samples, against, budget: { atMost } },
    { what: 'peak memory of the process', unit: 'MiB', samples: memory, budget: { atMost: 200 } },
  ]
}

/** In a process of its own, whose peak memory is then that of this work. */
async function inChild(mode: string, path: string): Promise<{ milliseconds: number; peak: number }> {
  const child = fileURLToPath(new URL('manifest-child.mjs', import.meta.url))
  const { line, end } = await startUntil(/^{/, process.execPath, [child, mode, path])
  await end()
  return JSON.parse(line)
}

async function writeManifest(path: string, spell: (address: string) => string): Promise<void> {
  const file = createWriteStream(path)
  file.write('title,description,image,receiver,attr:Level,extra:series\n')
  const seed = randomBytes(8)
  for (let row = 0; row < ROWS; row++) {
    const address = `0x${createHash('sha256').update(seed).update(String(row)).digest('hex').slice(0, 40)}`
    const image = `https://files.example/drop/${row}.png`
    const line = `Number ${row},"One of many, made to be read",${image},${spell(address)},${row % 100},First\n`
    if (!file.write(line)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
}
