/** @module-tag slow */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decode } from '@ipld/dag-pb'
import { expect, test } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { DAG_PB_CODEC, parseCid } from '../../src/ipfs/cid.ts'
import { freshDataDir, startTestBackend } from '../helpers/backend.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { drop, pixels } from './collection-world.ts'
import { opened } from './opened-archive.ts'

/** GDN_SOAK=1 kills the archive of a whole drop. */
const isSoak = process.env.GDN_SOAK === '1'
const TOKENS = isSoak ? 2_000 : 60
const KILLS = 10
/** Number of tokens that a command reads at the same time. */
const AT_ONCE = 8

/** Returns the CIDs of the index, which has several blocks if it is large. */
function indexBlocks(blocks: ReadonlyMap<string, Uint8Array>, root: string): string[] {
  const bytes = blocks.get(root)
  const isNode = parseCid(root)?.code === DAG_PB_CODEC && bytes !== undefined
  return [root, ...(isNode ? decode(bytes).Links.map(({ Hash }) => Hash.toString()) : [])]
}

test(
  'a command that is killed ten times writes the same bytes, fetches no block twice, and its archive can be restored',
  async () => {
    const home = await temporaryFolder('gdn-archive-')
    const world = await drop(TOKENS)
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

    const { tokens, blocks, content, root } = await opened(target)
    expect(new Set(blocks.keys())).toEqual(new Set([...indexBlocks(blocks, root), ...world.gateway.blocks.keys()]))
    expect(tokens.length).toBe(TOKENS)
    const dataDir = await freshDataDir()
    whenTestDone(() => dataDir.remove())
    expect(await gdn.run('collection', 'restore', target, '--data-dir', dataDir.path)).toMatchObject({ exitCode: 0 })
    const backend = await startTestBackend(dataDir.path)
    whenTestDone(() => backend.close())
    for (const { token_id, uri, files } of tokens) {
      const image = await content(String(files[1]?.cid))
      expect([token_id, image.equals(pixels(Number(token_id)))]).toEqual([token_id, true])
      const metadata = await backend.get(`/ipfs/${uri?.slice('ipfs://'.length)}`)
      const named = (await metadata.json()) as { name: string; image: string }
      expect(named.name).toBe(`Tide ${token_id}`)
      const served = await backend.get(`/ipfs/${named.image.slice('ipfs://'.length)}`)
      expect([token_id, image.equals(Buffer.from(await served.arrayBuffer()))]).toEqual([token_id, true])
    }
  },
  isSoak ? 3_600_000 : 600_000,
)
