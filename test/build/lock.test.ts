/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { beforeEach, describe, expect, test } from 'vitest'
import { withLock } from '../../src/build/lock.mjs'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

let folder: string
let file: string

beforeEach(async () => {
  folder = await temporaryFolder('gdn-lock-')
  file = join(folder, 'deep', '.lock')
})

describe('one build at a time', () => {
  test('runs processes one at a time', async () => {
    const log = join(folder, 'log')
    const module = fileURLToPath(new URL('../../src/build/lock.mjs', import.meta.url))
    const program = `
      import { appendFile } from 'node:fs/promises'
      import { withLock } from ${JSON.stringify(module)}
      await withLock(${JSON.stringify(file)}, async () => {
        await appendFile(${JSON.stringify(log)}, 'in ')
        // Holds the lock for a while, in which the other processes would enter without it.
        await new Promise((resolve) => setTimeout(resolve, 60))
        await appendFile(${JSON.stringify(log)}, 'out ')
      })`
    const children = [1, 2, 3].map(() => execa(process.execPath, ['--input-type=module', '-e', program]))
    await Promise.all(children)
    const { stdout } = await execa('cat', [log])
    expect(stdout.trim()).toBe('in out in out in out')
  })

  test('takes over the lock of a killed process', async () => {
    const dead = execa(process.execPath, ['-e', ''])
    await dead
    await withLock(file, async () => {})
    await writeFile(file, String(dead.pid))
    expect(await withLock(file, async () => 'built')).toBe('built')
  })

  test('releases the lock after a failure', async () => {
    const failing = withLock(file, () => Promise.reject(new Error('no')))
    await expect(failing).rejects.toThrow('no')
    expect(await withLock(file, async () => 'built')).toBe('built')
  })
})
