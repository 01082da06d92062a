import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { GDN, serve, withFolder } from './backend.ts'
import type { Figure } from './figures.ts'
import { throughApi } from './throughput.ts'

const TOP = 20
const MINTED = 4 * 4000

/** A part of V8's format of CPU profiles. Times are in microseconds. */
interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number; columnNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

/** The functions in which a backend spends most of its time while it mints, 50 per request: time per 1,000 NFTs. */
export function measure(): Promise<Figure[]> {
  return withFolder(async (folder) => {
    const profiles = join(folder, 'profiles')
    const flags = ['--cpu-prof', '--cpu-prof-interval', '500', '--cpu-prof-dir', profiles]
    const backend = await serve(join(folder, 'data'), [], [...flags, GDN])
    const images = Array.from({ length: 48 }, () => randomBytes(2000))
    const run = await throughApi(backend, { count: MINTED, perRequest: 50, clients: 8 }, images).finally(backend.end)
    const times = new Map<string, number>()
    // One profile for each thread.
    for (const name of await readdir(profiles)) {
      addSelfTimes(times, JSON.parse(await readFile(join(profiles, name), 'utf8')))
    }
    const top = [...times].sort(([, a], [, b]) => b - a).slice(0, TOP)
    return [
      { what: 'deployed, with the profiler', unit: '/s', samples: [run.deployed] },
      { what: 'CPU time of the backend for 1,000 NFTs, of which:', unit: 'ms', samples: [run.cpu] },
      ...top.map(([what, time]): Figure => ({ what, unit: 'ms', samples: [time / MINTED] })),
    ]
  })
}

/** Adds the time of each function itself, without the functions that it calls. */
function addSelfTimes(times: Map<string, number>, { nodes, samples, timeDeltas }: Profile): void {
  const names = new Map(
    nodes.map(({ id, callFrame: { functionName, url, lineNumber, columnNumber } }) => [
      id,
      `${functionName || '(anonymous)'} ${url && `${basename(url)}:${lineNumber + 1}:${columnNumber + 1}`}`.trim(),
    ]),
  )
  for (const [index, id] of samples.entries()) {
    const name = names.get(id) ?? ''
    if (name === '(idle)') continue
    times.set(name, (times.get(name) ?? 0) + (timeDeltas[index] ?? 0))
  }
}
