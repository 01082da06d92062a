import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const LOADER = fileURLToPath(new URL('../../src/build/loader.cjs', import.meta.url))
/** Large enough to be kept. */
const PADDING = `const padding=${JSON.stringify('x'.repeat(40_000))};`

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-loader-'))
  await mkdir(join(folder, 'chunks'))
  await writeFile(join(folder, 'main.cjs'), `${await readFile(LOADER, 'utf8')}__load('chunks/pack.cjs','said').say();`)
  await writePack('one')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

/** Two chunks, of which `said` asks for the other. */
async function writePack(word: string, prefix = ''): Promise<void> {
  const said = `exports.say=()=>console.log(__load('chunks/pack.cjs','word').word)`
  const word_ = `console.log('ran word');exports.word=${JSON.stringify(word)}`
  const text = `__chunks.said=function(exports){${said}};__chunks.word=function(exports){${word_}};`
  const source = `"use strict";module.exports=(function(__load,__chunks){${prefix}${PADDING}${text}});`
  await writeFile(join(folder, 'chunks', 'pack.cjs'), source)
}

function run(env: Record<string, string> = {}) {
  const { status, signal, stdout } = spawnSync(process.execPath, [join(folder, 'main.cjs')], {
    encoding: 'utf8',
    env: { HOME: folder, ...env },
  })
  return { status, signal, stdout }
}

const SAID = (word: string) => ({ status: 0, signal: null, stdout: `ran word\n${word}\n` })

const codeFolder = () => join(folder, '.cache', 'gdn', 'code')

async function keptFiles(): Promise<string[]> {
  const entries = await readdir(codeFolder(), { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

describe('the loader of the bundle', () => {
  test('runs a chunk when it is asked for, and once', async () => {
    await writeFile(
      join(folder, 'main.cjs'),
      `${await readFile(LOADER, 'utf8')}
      const said=__load('chunks/pack.cjs','said');console.log('loaded');said.say();said.say()`,
    )
    expect(run().stdout).toBe('loaded\nran word\none\none\n')
  })

  test('keeps compiled code in a folder that is the own user’s alone', async () => {
    expect(run()).toEqual(SAID('one'))
    expect(await keptFiles()).not.toEqual([])
    expect((await stat(codeFolder())).mode & 0o777).toBe(0o700)
  })

  test('uses what it kept', async () => {
    run()
    // V8 tells sources apart by their length alone, which is why the files' names have a hash of the content.
    await writePack('two')
    expect(run()).toEqual(SAID('one'))
  })

  test('adds what an earlier process did not need', async () => {
    const main = (chunk: string) => `__load('chunks/pack.cjs','${chunk}')`
    const loader = await readFile(LOADER, 'utf8')
    await writeFile(join(folder, 'main.cjs'), loader + main('word'))
    run()
    const [path = ''] = await keptFiles()
    const { size, ino } = await stat(path)
    run()
    expect(await stat(path)).toMatchObject({ size, ino })
    await writeFile(join(folder, 'main.cjs'), `${loader}${main('said')}.say()`)
    expect(run()).toEqual(SAID('one'))
    expect((await stat(path)).size).toBeGreaterThan(size)
    // Nothing is lacking to either of them now.
    const after = await stat(path)
    run()
    await writeFile(join(folder, 'main.cjs'), loader + main('word'))
    run()
    expect(await stat(path)).toMatchObject({ size: after.size, ino: after.ino })
  })

  test('leaves alone what is damaged, and makes it anew', async () => {
    run()
    const whole = await Promise.all((await keptFiles()).map((path) => readFile(path)))
    for (const spoil of [
      (bytes: Buffer) => bytes.fill(0, bytes.length >> 1),
      (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1),
      () => Buffer.alloc(0),
    ]) {
      for (const [index, path] of (await keptFiles()).entries()) {
        await writeFile(path, spoil(Buffer.from(whole[index] ?? Buffer.alloc(0))))
      }
      expect(run()).toEqual(SAID('one'))
      expect((await keptFiles()).length).toBe(whole.length)
    }
    for (const path of await keptFiles()) expect((await stat(path)).size).toBeGreaterThan(100)
  })

  test.skipIf(process.platform === 'win32')(
    'keeps nothing where others can write, and takes nothing from there',
    async () => {
      run()
      await chmod(codeFolder(), 0o777)
      await writePack('two')
      expect(run()).toEqual(SAID('two'))
      const before = await keptFiles()
      await writePack('three', 'globalThis.other=1;')
      expect(run()).toEqual(SAID('three'))
      expect(await keptFiles()).toEqual(before)
    },
  )

  test.each([
    ['without a home', { HOME: '' }],
    ['with a home that is none', { HOME: '/dev/null' }],
    ['when the user wants no cache', { NODE_DISABLE_COMPILE_CACHE: '1' }],
  ])('runs %s, and keeps nothing', async (_, env) => {
    expect(run(env)).toEqual(SAID('one'))
    expect(await keptFiles()).toEqual([])
  })

  test('keeps no more than the newest 200 files', async () => {
    await mkdir(codeFolder(), { recursive: true, mode: 0o700 })
    await Promise.all(Array.from({ length: 210 }, (_, n) => writeFile(join(codeFolder(), `old-${n}`), '')))
    run()
    const kept = await readdir(codeFolder())
    expect(kept).toHaveLength(200)
    expect(kept.filter((name) => name.endsWith('pack.cjs'))).toHaveLength(1)
  })
})
