import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { updateTogether } from '../../src/core/versioned-file.ts'

/** What happens between two steps of a process. */
const between = vi.hoisted(() => ({ step: () => {} }))

vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>()
  const stepping = <Call extends (...args: never[]) => unknown>(call: Call) =>
    ((...args: Parameters<Call>) => {
      between.step()
      return call(...args)
    }) as Call
  return {
    ...real,
    readdirSync: stepping(real.readdirSync),
    readFileSync: stepping(real.readFileSync),
    writeFileSync: stepping(real.writeFileSync),
    linkSync: stepping(real.linkSync),
    rmSync: stepping(real.rmSync),
  }
})

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gdn-versions-'))
})
afterEach(async () => {
  between.step = () => {}
  await rm(dir, { recursive: true, force: true })
})

const ids = (text: string | null): string[] => (text === null || text === '' ? [] : text.split(' '))

/** Adds an id, once, however often it is tried. */
const add = (lane: string, id: string) =>
  updateTogether(lane, (text) => ({
    keep: ids(text).includes(id) ? null : [...ids(text), id].join(' '),
    result: undefined,
  }))

const read = (lane: string) => updateTogether(lane, (text) => ({ keep: null, result: ids(text) }))

class Killed extends Error {}

describe('text that processes change together', () => {
  test('is what the last change kept, and stays when a change keeps nothing', () => {
    const lane = join(dir, 'made/when/needed')
    expect(read(lane)).toEqual([])
    add(lane, 'a')
    add(lane, 'b')
    expect(read(lane)).toEqual(['a', 'b'])
    expect(read(lane)).toEqual(['a', 'b'])
  })

  test('leaves a handful of private files, however often it is changed', async () => {
    for (let i = 0; i < 100; i++) add(dir, String(i % 7) + i)
    const names = await readdir(dir)
    expect(names.length).toBeLessThan(8)
    for (const name of names) expect(fs.statSync(join(dir, name)).mode & 0o777).toBe(0o600)
  })

  test('loses nothing when processes are stopped anywhere and others go on meanwhile', () => {
    // At each number of steps, so many others come in between; they are interrupted in turn.
    const interruptions = fc.array(fc.tuple(fc.nat(12), fc.integer({ min: 1, max: 9 })), { maxLength: 6 })
    let runs = 0
    fc.assert(
      fc.property(interruptions, (plan) => {
        const lane = join(dir, String(++runs))
        const left = plan.map(([steps, others]) => ({ steps, others }))
        let next = 0
        const added: string[] = []
        const act = () => {
          const id = `id${next++}`
          added.push(id)
          add(lane, id)
        }
        let steps = 0
        between.step = () => {
          const due = left[0]
          if (due === undefined || steps++ < due.steps) return
          left.shift()
          steps = 0
          for (let other = 0; other < due.others; other++) act()
        }
        act()
        between.step = () => {}
        act()
        expect([...read(lane)].sort()).toEqual([...added].sort())
      }),
      { numRuns: 300 },
    )
  })

  test('a process killed anywhere leaves what stood there before, or its whole change', () => {
    for (let at = 0; at < 16; at++) {
      const lane = join(dir, String(at))
      for (let i = 0; i < 9; i++) add(lane, `before${i}`)
      let steps = 0
      between.step = () => {
        if (steps++ >= at) throw new Killed()
      }
      try {
        add(lane, 'mine')
      } catch (error) {
        expect(error).toBeInstanceOf(Killed)
      }
      between.step = () => {}
      const found = read(lane)
      expect(found.slice(0, 9)).toHaveLength(9)
      add(lane, 'after')
      expect(read(lane).at(-1)).toBe('after')
      expect(read(lane).filter((id) => id.startsWith('before'))).toHaveLength(9)
    }
  })

  test('names that are none of its own do not disturb it', async () => {
    for (const name of ['99999999999999999999', '0', '-1', 'x', '007', '.5'])
      await writeFile(join(dir, name), 'foreign')
    add(dir, 'a')
    expect(read(dir)).toEqual(['a'])
  })

  test('4 processes at once: each of 4 times 150 changes is there', async () => {
    const script = join(dir, 'child.mjs')
    const source = fileURLToPath(new URL('../../src/core/versioned-file.ts', import.meta.url))
    const contents = `
      import { updateTogether } from ${JSON.stringify(source)}
      const [dir, name] = process.argv.slice(2)
      for (let i = 0; i < 150; i++) {
        const id = name + i
        updateTogether(dir, (text) => {
          const ids = (text ?? '').split(' ')
          return { keep: ids.includes(id) ? null : [...ids, id].join(' '), result: undefined }
        })
      }`
    await build({
      stdin: { contents, resolveDir: dir },
      outfile: script,
      bundle: true,
      platform: 'node',
      format: 'esm',
    })
    const lane = join(dir, 'lane')
    const children = ['a', 'b', 'c', 'd'].map((name) =>
      spawn(process.execPath, [script, lane, name], { stdio: 'inherit' }),
    )
    const codes = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]))
    expect(codes).toEqual([0, 0, 0, 0])
    expect(new Set(read(lane).filter((id) => id !== '')).size).toBe(600)
  })
})
