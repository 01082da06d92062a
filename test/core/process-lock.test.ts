import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type LockHolder, thisProcess } from '../../src/core/lock-holder.ts'
import { acquireLock, lockHolder } from '../../src/core/process-lock.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'

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
  expect(await lockHolder(dir)).toMatchObject({ pid: process.pid, note: 'batch of drop.csv' })
  await lock.release()
  expect(await lockHolder(dir)).toBeNull()
})

test('a full disk is no error of a release: what was done under the lock counts', async ({ skip }) => {
  const disk = await createSmallDisk(64)
  if (typeof disk === 'string') return skip(disk)
  try {
    const lock = await acquireLock(join(disk.path, 'lock'), 'batch')
    await disk.fill()
    await lock.release()
    expect(await readdir(join(disk.path, 'lock'))).toEqual(['lock.1'])
  } finally {
    await disk.remove()
  }
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
  await writeFile(join(dir, 'lock.7'), JSON.stringify({ ...(await thisProcess('long ago')), startedAt: '1' }))
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

describe('a holder out of sight, in another container or on another machine,', () => {
  const TIMING = { beatMs: 10, silentMs: 400, watchMs: 100 }
  const FAR = { space: 'pid:[1]', host: 'box-7', since: '2026-11-20T10:00:00.000Z' }

  /** As another process left it, so long ago. */
  async function holds(changes: Partial<LockHolder>, agoMs: number): Promise<string> {
    const path = join(dir, 'lock.3')
    await writeFile(path, JSON.stringify({ ...(await thisProcess('batch of drop.csv')), ...changes }))
    const then = new Date(Date.now() - agoMs)
    await utimes(path, then, then)
    return path
  }

  test('is not judged by its pid: while it gives signs it has the lock, and is named with where and since when', async () => {
    await holds({ ...FAR, pid: 2 ** 22 + 1 }, 0)
    await expect(acquireLock(dir, 'me')).rejects.toMatchObject({
      code: 'run_busy',
      message:
        'another gdn process is at work here since 2026-11-20T10:00:00Z: pid 4194305 of another machine or container, box-7 (batch of drop.csv)',
      hint: expect.stringMatching(/run the same command again in 1[12]\d s$/),
    })
    expect(await lockHolder(dir)).toMatchObject({ note: 'batch of drop.csv' })
  })

  test('that gives no sign for long is taken for ended, and the lock tells that it may wake', async () => {
    await holds(FAR, 500)
    expect(await lockHolder(dir, TIMING)).toBeNull()
    const lock = await acquireLock(dir, 'me', TIMING)
    expect(lock).toMatchObject({
      epoch: 4,
      mayWake: true,
      followed: expect.stringMatching(/since 2026-11-20T10:00:00Z: pid \d+ of another machine or container, box-7\./),
    })
    await lock.release()
    // Nobody knows whether the one in between did anything about that.
    expect(await acquireLock(dir, 'me', TIMING)).toMatchObject({ epoch: 5, mayWake: true, followed: null })
  })

  test('whose clock is far behind has the lock as long as it gives signs', async () => {
    const path = await holds(FAR, 3_600_000)
    const taking = acquireLock(dir, 'me', TIMING)
    await new Promise((resolve) => setTimeout(resolve, TIMING.watchMs / 2))
    const sign = new Date(Date.now() - 3_600_000)
    await utimes(path, sign, sign)
    await expect(taking).rejects.toMatchObject({ code: 'run_busy' })
  })

  test('that said goodbye has ended', async () => {
    await holds({ ...FAR, released: true }, 0)
    expect(await acquireLock(dir, 'me')).toMatchObject({ epoch: 4, mayWake: false })
  })

  test('of an earlier boot of this machine is only watched', async () => {
    await holds({ bootId: 'an earlier one' }, 0)
    expect(await acquireLock(dir, 'me', { ...TIMING, silentMs: 3_600_000 })).toMatchObject({ mayWake: true })
  })

  test('gives signs as long as it has the lock', async () => {
    const lock = await acquireLock(dir, 'me', TIMING)
    const path = join(dir, 'lock.1')
    await utimes(path, new Date(0), new Date(0))
    await expect.poll(async () => (await stat(path)).mtimeMs).toBeGreaterThan(0)
    await lock.release()
    await utimes(path, new Date(0), new Date(0))
    await new Promise((resolve) => setTimeout(resolve, TIMING.beatMs * 5))
    expect((await stat(path)).mtimeMs).toBe(0)
  })

  test('finds out when it wakes that another has taken over, and takes nothing back', async () => {
    const slept = await acquireLock(dir, 'slept')
    await slept.check()
    await writeFile(join(dir, 'lock.2'), JSON.stringify(await thisProcess('took over')))
    await expect(slept.check()).rejects.toMatchObject({
      code: 'run_busy',
      message: 'this process was stopped for so long that another one has taken its work over',
    })
    await slept.discard()
    await slept.release()
    expect(await lockHolder(dir)).toMatchObject({ note: 'took over' })
  })

  const canIsolate = spawnSync('unshare', ['--pid', '--fork', '--mount-proc', 'true']).status === 0
  // Elsewhere than on Linux, or without the right to, there is no namespace to be made.
  test.runIf(canIsolate)('keeps the lock against a process of this namespace, and the other way round', async () => {
    const isolated = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
    const inside = startProcess(
      `await acquireLock(dir, 'inside'); console.log('held'); setInterval(() => {}, 1000)`,
      isolated,
    )
    await new Promise((resolve) => inside.child.stdout?.once('data', resolve))
    await expect(acquireLock(dir, 'outside')).rejects.toMatchObject({
      code: 'run_busy',
      message: expect.stringContaining('of another machine or container'),
    })
    inside.child.kill('SIGKILL')
    await inside.ended
    // Nobody out here can tell a killed one from one that thinks.
    await expect(acquireLock(dir, 'outside')).rejects.toMatchObject({ code: 'run_busy' })
    const lock = await acquireLock(dir, 'outside', { ...TIMING, silentMs: 0 })
    expect(lock.mayWake).toBe(true)
    const { output } = await startProcess(
      `console.log(await acquireLock(dir, 'inside').then(() => 'TWO HOLDERS', (error) => error.code))`,
      isolated,
    ).ended
    expect(output).toBe('run_busy\n')
    await lock.release()
  })
})

/** Runs a script with `acquireLock` and `dir` in a process of its own; resolves with what it printed and how it ended. */
function startProcess(
  script: string,
  wrapper: readonly string[] = [],
): {
  child: ChildProcess
  ended: Promise<{ output: string; signal: string | null }>
} {
  const source = `
    import { acquireLock } from ${JSON.stringify(pathToFileURL(bundle).href)}
    import { readFileSync, rmSync, writeFileSync } from 'node:fs'
    const dir = ${JSON.stringify(dir)}
    const die = () => process.kill(process.pid, 'SIGKILL')
    ${script}`
  const [command = '', ...args] = [...wrapper, process.execPath, '--input-type=module', '-e', source]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
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
  const until = Date.now() + 3000
  const lifeMs = 1500
  // Who holds the lock makes a file that must not exist yet; a killed holder leaves it, with a pid that is gone.
  const contender = (seed: number) => `
    const mark = dir + '/../' + ${JSON.stringify(basename(dir))} + '.mark'
    // A killed process that its parent hasn't looked at yet is a zombie: it has a pid, and does nothing.
    const alive = (pid) => { try { return !/\\) [ZX]/.test(readFileSync('/proc/' + pid + '/stat', 'latin1')) } catch { return false } }
    let random = ${seed}
    const next = () => (random = (random * 48271) % 2147483647) / 2147483647
    const until = Date.now() + ${lifeMs}
    while (Date.now() < until) {
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
    for (let life = 0; Date.now() < until || kills <= 3 || held <= 50; life++) {
      const { output, signal } = await startProcess(contender(seed * 1000 + life + 1)).ended
      expect(output).not.toContain('TWO HOLDERS')
      if (signal === 'SIGKILL') kills++
      held += output.split('held').length - 1
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, index) => contend(index + 1)))
  await rm(mark, { force: true })
})
