/** @module-tag slow */
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { drop } from './collection-world.ts'

/** GDN_SOAK=1 kills the archive of a whole drop. */
const isSoak = process.env.GDN_SOAK === '1'
const TOKENS = isSoak ? 2_000 : 60
const KILLS = 10
/** Number of tokens that a command reads at the same time. */
const AT_ONCE = 8

test(
  'a command that is killed ten times writes the same bytes, and fetches no block twice',
  async () => {
    const home = await mkdtemp(join(tmpdir(), 'gdn-archive-'))
    whenTestDone(() => rm(home, { recursive: true, force: true }))
    const world = await drop(TOKENS)
    whenTestDone(() => world.close())
    const gdn = gdnAt({ url: 'http://127.0.0.1:9', apiKey: 'x' }, home)
    const archive = (file: string) => ['collection', 'archive', ...world.flags, '--to', join(home, file)]
    expect(await gdn.run(...archive('whole.car'))).toMatchObject({ exitCode: 0 })
    const needed = world.gateway.asked.length
    expect(needed).toBe(world.gateway.blocks.size)

    world.gateway.asked.length = 0
    const target = join(home, 'killed.car')
    for (let kill = 1; kill <= KILLS; kill++) {
      const isLast = kill === KILLS
      const moment = () => (isLast ? existsSync(`${target}.new`) : world.gateway.asked.length > (needed * kill) / KILLS)
      const until = async (ended: AbortSignal) => {
        while (!moment() && !ended.aborted) await sleep(1, ended)
      }
      const { signal, stderr } = await gdn.runAndKill(archive('killed.car'), until)
      expect([kill, signal, stderr]).toEqual([kill, 'SIGKILL', expect.anything()])
      expect([kill, existsSync(target)]).toEqual([kill, false])
    }
    const { exitCode, stderr } = await gdn.run(...archive('killed.car'))
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('Resuming after')])
    expect(await readFile(target)).toEqual(await readFile(join(home, 'whole.car')))
    expect(existsSync(`${target}.partial`)).toBe(false)
    expect(existsSync(`${target}.new`)).toBe(false)
    expect(world.gateway.asked.length).toBeLessThanOrEqual(needed + KILLS * AT_ONCE)
  },
  isSoak ? 3_600_000 : 600_000,
)
