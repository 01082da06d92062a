/** @module-tag slow */
import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { artFolder } from './generated.ts'

/** GDN_SOAK=1 kills a longer command more often. */
const isSoak = process.env.GDN_SOAK === '1'
const COUNT = isSoak ? 24 : 12
const KILLS = isSoak ? 20 : 3

test('a command that is killed again and again makes the same folder, and no image twice', async () => {
  const folder = await artFolder()
  const { gdn, path } = folder
  const argv = (out: string) => {
    const flags = ['--count', String(COUNT), '--threads', '2', '--out', path(out)]
    return ['art', 'generate', path('art.yaml'), ...flags]
  }
  expect(await gdn.run(...argv('whole'))).toMatchObject({ exitCode: 0 })

  const recorded = async () => {
    const [draft] = (await readdir(path('.'))).filter((name) => name.startsWith('.drop.'))
    if (draft === undefined) return []
    const text = await readFile(join(path(draft), 'journal.jsonl'), 'utf8').catch(() => '')
    return text.split('\n').slice(0, -1)
  }
  for (let kill = 1; kill <= KILLS; ) {
    const until = async (ended: AbortSignal) => {
      const expected = Math.floor((COUNT * kill) / (KILLS + 1))
      while ((await recorded()).length < expected) await sleep(1, ended)
    }
    const { signal } = await gdn.runAndKill(argv('drop'), until)
    const isWhole = existsSync(path('drop'))
    // A command that was faster than the kill is complete.
    if (isWhole) {
      expect(await folder.files('drop')).toEqual(await folder.files('whole'))
      await rm(path('drop'), { recursive: true })
    } else expect(signal).toBe('SIGKILL')
    if (signal === 'SIGKILL') kill++
  }
  const before = (await recorded()).length
  const { exitCode, stdout } = await gdn.run(...argv('drop'), '--json')
  expect(exitCode).toBe(0)
  const { made, copied, kept } = JSON.parse(stdout) as { made: number; copied: number; kept: number }
  expect(made + copied + kept).toBe(COUNT)
  expect(kept).toBeGreaterThanOrEqual(Math.min(before, COUNT))
  expect(await folder.files('drop')).toEqual(await folder.files('whole'))
  expect((await readdir(path('.'))).filter((name) => name.startsWith('.drop.'))).toEqual([])
})
