import { readdir, readFile, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { publish } from '../../src/build/publish.mjs'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

let outDir: string

beforeEach(async () => {
  outDir = await temporaryFolder('gdn-publish-')
})

function build(files: Record<string, string>, clean: boolean | 'keep' = false): Promise<void> {
  const list = Object.entries(files).map(([name, text]) => ({ path: join(outDir, name), contents: Buffer.from(text) }))
  return publish(list, { outDir, last: join(outDir, 'main.js'), clean })
}

async function listed(): Promise<string[]> {
  const entries = await readdir(outDir, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
}

async function age(name: string, hours: number): Promise<void> {
  const then = new Date(Date.now() - hours * 3_600_000)
  await utimes(join(outDir, name), then, then)
}

describe('publishing a build', () => {
  test('keeps the chunks that a process of the previous build may load', async () => {
    await build({ 'main.js': 'one', 'chunks/a-1.js': 'a' })
    await build({ 'main.js': 'two', 'chunks/a-2.js': 'a' })
    expect(new Set(await listed())).toEqual(new Set(['main.js', 'a-1.js', 'a-2.js']))
    expect(await readFile(join(outDir, 'main.js'), 'utf8')).toBe('two')
  })

  test('removes old chunks of earlier builds', async () => {
    await build({ 'main.js': 'one', 'chunks/a-1.js': 'a' })
    await age('chunks/a-1.js', 2)
    await build({ 'main.js': 'two', 'chunks/a-2.js': 'a' })
    expect(new Set(await listed())).toEqual(new Set(['main.js', 'a-2.js']))
  })

  test('a build of only the program keeps the files that it leaves out', async () => {
    await build({ 'main.js': 'one', 'types/index.d.ts': 'a' })
    await age('types/index.d.ts', 2)
    await build({ 'main.js': 'two' }, 'keep')
    expect(new Set(await listed())).toEqual(new Set(['main.js', 'index.d.ts']))
  })

  test('a clean build removes all other files', async () => {
    await build({ 'main.js': 'one', 'chunks/a-1.js': 'a', 'old.txt': 'x' })
    await build({ 'main.js': 'two', 'chunks/a-2.js': 'a' }, true)
    expect(new Set(await listed())).toEqual(new Set(['main.js', 'a-2.js']))
  })

  test('main.js names only existing chunks while it is replaced', async () => {
    const generation = (n: number) => ({ 'main.js': `chunks/${n}.js`, [`chunks/${n}.js`]: `${n}` })
    await build(generation(0))
    let done = false
    const building = (async () => {
      for (let n = 1; n <= 40; n++) await build(generation(n))
      done = true
    })()
    let reads = 0
    while (!done) {
      const chunk = await readFile(join(outDir, 'main.js'), 'utf8')
      expect(`chunks/${await readFile(join(outDir, chunk), 'utf8')}.js`).toBe(chunk)
      reads++
    }
    await building
    expect(reads).toBeGreaterThan(10)
  })
})
