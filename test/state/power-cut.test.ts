import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeEach, expect, test } from 'vitest'
import { openState } from '../../src/state/open-state.ts'
import { bundleProcess } from '../helpers/bundle-process.ts'
import { seededRandom } from '../helpers/seed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { type Cut, everyCut, TracedFolder, tracedCalls } from '../helpers/traced-files.ts'

const run = promisify(execFile)
const COMMITS = 4
const CALLS = 'openat,open,pwrite64,write,ftruncate,fsync,fdatasync,unlink,unlinkat'
/** Number of random cuts at each system call, besides those that keep everything or nothing. */
const RANDOM_CUTS = process.env.GDN_SOAK === '1' ? 20 : 2

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder('gdn-power-')
})

/** Returns the system calls of a process that commits. */
async function trace(): Promise<string[]> {
  const script = join(folder, 'committing.mjs')
  await bundleProcess(new URL('./committing-process.ts', import.meta.url), script, import.meta.url)
  const log = join(folder, 'trace')
  const traced = ['-f', '-y', '-xx', '-s', '100000', '-o', log, '-e', `trace=${CALLS}`]
  await run('strace', [...traced, process.execPath, script, join(folder, 'state'), String(COMMITS)])
  return tracedCalls(await readFile(log, 'utf8'))
}

/** Returns the servers in the state after a power cut, or null if there is no database yet. */
async function recovered(files: ReadonlyMap<string, Buffer>, place: string): Promise<string[] | null> {
  await mkdir(place)
  for (const [name, bytes] of files) await writeFile(join(place, name), bytes)
  const isThere = (files.get('state.db')?.length ?? 0) > 0
  const state = await openState(place)
  try {
    const servers = await state.read((sql) => sql.all<{ origin: string }>('SELECT origin FROM servers ORDER BY id'))
    return isThere ? servers.map(({ origin }) => origin) : null
  } finally {
    state.close()
    await rm(place, { recursive: true })
  }
}

test('a power cut at any system call loses no commit and leaves no partial transaction', async (context) => {
  if (!existsSync('/usr/bin/strace')) return context.skip('strace is not installed')
  const { random: chance } = seededRandom('power cuts')
  const cuts: Cut[] = [
    ...everyCut(chance, RANDOM_CUTS),
    { keepsWrite: () => true, keptNames: () => 0 },
    { keepsWrite: () => false, keptNames: (pending) => pending },
  ]
  const inMemory = existsSync('/dev/shm') ? await mkdtemp('/dev/shm/gdn-power-') : folder
  const disk = new TracedFolder(join(folder, 'state'))
  let looked = 0
  try {
    for (const line of await trace()) {
      if (!disk.apply(line)) continue
      const committed = disk.output.split('\n').filter((said) => said.startsWith('committed')).length
      for (const cut of cuts) {
        const servers = await recovered(disk.after(cut), join(inMemory, `cut-${looked++}`))
        const all = Array.from({ length: COMMITS }, (_, n) => `server ${n + 1}`)
        expect(servers ?? [], line.slice(0, 200)).toEqual(all.slice(0, servers?.length ?? 0))
        expect(servers?.length ?? 0, line.slice(0, 200)).toBeGreaterThanOrEqual(committed)
      }
    }
    expect(disk.output).toContain(`committed ${COMMITS}`)
    expect(looked).toBeGreaterThan(200)
  } finally {
    await rm(inMemory, { recursive: true, force: true })
  }
})
