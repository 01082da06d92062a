import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { acquireLock, lockHolder } from '../../src/core/process-lock.ts'

let bundle: string
let bundleDir: string
beforeAll(async () => {
  bundleDir = await mkdtemp(join(tmpdir(), 'gdn-lock-bundle-'))
  bundle = join(bundleDir, 'process-lock.mjs')
  const entry = fileURLToPath(new URL('../../src/core/process-lock.ts', import.meta.url))
  await build({
    entryPoints: [entry],
    outfile: bundle,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'error',
  })
})
afterAll(() => rm(bundleDir, { recursive: true, force: true }))

let dir: string
let children: ChildProcess[] = []
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gdn-lock-'))
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  children = []
  await rm(dir, { recursive: true, force: true })
})

test('a second taker is refused, and told who holds it', async () => {
  const lock = await acquireLock(dir, 'batch of drop.csv')
  await expect(acquireLock(dir, 'another')).rejects.toMatchObject({
    code: 'run_busy',
    message: `another gdn process is at work here: pid ${process.pid} (batch of drop.csv)`,
  })
  expect(await lockHolder(dir)).toEqual({ pid: process.pid, note: 'batch of drop.csv' })
  await lock.release()
  expect(await lockHolder(dir)).toBeNull()
})

test('what was released can be taken again, and its number never comes back', async () => {
  const epochs: number[] = []
  for (let turn = 0; turn < 5; turn++) {
    const lock = await acquireLock(dir, 'turn')
    epochs.push(lock.epoch)
    await lock.release()
  }
  expect(epochs).toEqual([1, 2, 3, 4, 5])
  expect((await readdir(dir)).sort()).toEqual(['lock.4', 'lock.5'])
})

test('the holder is the process, not the pid: a later process of the same pid is none', async () => {
  const holder = { pid: process.pid, startedAt: '1', bootId: null, note: 'long ago', released: false }
  await writeFile(join(dir, 'lock.7'), JSON.stringify(holder))
  expect(await lockHolder(dir)).toBeNull()
  const lock = await acquireLock(dir, 'now')
  expect(lock.epoch).toBe(8)
})

test('a lock file that holds no holder is debris once it is old', async () => {
  const path = join(dir, 'lock.3')
  await writeFile(path, '')
  await expect(acquireLock(dir, 'now')).rejects.toMatchObject({ code: 'run_busy' })
  await utimes(path, new Date(0), new Date(0))
  expect((await acquireLock(dir, 'now')).epoch).toBe(4)
})

/** Runs a script with `acquireLock` and `dir` in a process of its own; resolves with what it printed and how it ended. */
function startProcess(script: string): {
  child: ChildProcess
  ended: Promise<{ output: string; signal: string | null }>
} {
  const source = `
    import { acquireLock } from ${JSON.stringify(pathToFileURL(bundle).href)}
    import { readFileSync, rmSync, writeFileSync } from 'node:fs'
    const dir = ${JSON.stringify(dir)}
    const die = () => process.kill(process.pid, 'SIGKILL')
    ${script}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const ended = new Promise<{ output: string; signal: string | null }>((resolve) => {
    child.on('close', (_code, signal) => resolve({ output, signal }))
  })
  return { child, ended }
}

test('a holder that is killed leaves nothing in the way', async () => {
  const { ended } = startProcess(`await acquireLock(dir, 'killed'); die()`)
  expect((await ended).signal).toBe('SIGKILL')
  const lock = await acquireLock(dir, 'next')
  expect(lock.epoch).toBe(2)
})

test('another process that holds the lock is named', async () => {
  const { child } = startProcess(
    `await acquireLock(dir, 'batch of drop.csv'); console.log('held'); setInterval(() => {}, 1000)`,
  )
  await new Promise((resolve) => child.stdout?.once('data', resolve))
  await expect(acquireLock(dir, 'me')).rejects.toMatchObject({
    code: 'run_busy',
    details: { pid: child.pid, note: 'batch of drop.csv' },
  })
})

test('eight processes that take, give back and are killed: never two holders', async () => {
  const until = Date.now() + 4000
  // Who holds the lock makes a file that must not exist yet; a killed holder leaves it, with a pid that is gone.
  const contender = (seed: number) => `
    const mark = dir + '/../' + ${JSON.stringify(basename(dir))} + '.mark'
    // A killed process that its parent hasn't looked at yet is a zombie: it has a pid, and does nothing.
    const alive = (pid) => { try { return !/\\) [ZX]/.test(readFileSync('/proc/' + pid + '/stat', 'latin1')) } catch { return false } }
    let random = ${seed}
    const next = () => (random = (random * 48271) % 2147483647) / 2147483647
    while (Date.now() < ${until}) {
      let lock
      try { lock = await acquireLock(dir, 'contender') } catch (error) {
        if (error.code !== 'run_busy') throw error
        await new Promise((resolve) => setTimeout(resolve, next() * 3))
        continue
      }
      console.log('held')
      try { writeFileSync(mark, String(process.pid), { flag: 'wx' }) } catch {
        const other = Number(readFileSync(mark, 'utf8'))
        if (other !== 0 && alive(other)) console.log('TWO HOLDERS')
        writeFileSync(mark, String(process.pid))
      }
      await new Promise((resolve) => setTimeout(resolve, next() * 2))
      if (next() < 0.05) die()
      if (Number(readFileSync(mark, 'utf8')) !== process.pid) console.log('TWO HOLDERS')
      rmSync(mark)
      await lock.release()
    }`
  const mark = `${dir}.mark`
  let kills = 0
  let held = 0
  const contend = async (seed: number) => {
    for (let life = 0; life === 0 || Date.now() < until; life++) {
      const { output, signal } = await startProcess(contender(seed * 1000 + life + 1)).ended
      expect(output).not.toContain('TWO HOLDERS')
      if (signal === 'SIGKILL') kills++
      held += output.split('held').length - 1
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, index) => contend(index + 1)))
  await rm(mark, { force: true })
  expect(kills).toBeGreaterThan(3)
  expect(held).toBeGreaterThan(50)
})
