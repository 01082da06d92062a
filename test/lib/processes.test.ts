import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundleProcess } from '../helpers/bundle-process.ts'
import { inMemory, Service } from '../operations/world.ts'
import { type Served, serve } from './serve.ts'

const PROCESSES = 4
const ROUNDS = process.env.GDN_SOAK === '1' ? 100 : 1

let folder: string
let script: string
beforeAll(async () => {
  folder = await mkdtemp(join(inMemory, 'gdn-lib-processes-'))
  script = join(folder, 'mint.mjs')
  await bundleProcess(new URL('./mint-process.ts', import.meta.url), script, import.meta.url)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

function mint({ url }: Served, state: string, key: string) {
  const child = spawn(process.execPath, [script, join(folder, state), url, key], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, GDN_PACE_DIR: join(folder, 'pace') },
  })
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  return { child, ended: once(child, 'close').then(() => said) }
}

test('processes that mint with one key at once all get the NFT, which is minted once', async () => {
  const service = new Service(true)
  const served = await serve(service)
  try {
    const said = await Promise.all(Array.from({ length: PROCESSES }, () => mint(served, 'one', 'order-42').ended))
    expect(said).toEqual(Array.from({ length: PROCESSES }, () => 'nft-1 deployed'))
    expect(service.made).toBe(1)
  } finally {
    await served.close()
  }
})

test.each([true, false])(
  'a process that is killed at any request has minted at most once (idempotency: %s)',
  async (idempotency) => {
    const service = new Service(idempotency)
    const served = await serve(service)
    try {
      for (let round = 0; round < ROUNDS; round++) {
        // Before its first request, then before each later one, until one is not reached.
        for (let at = 0, isKilled = true; isKilled; at++) {
          const key = `order ${round}-${at}`
          const { child, ended } = mint(served, `kill ${idempotency}`, key)
          let requests = 0
          isKilled = false
          const kill = () => {
            isKilled = true
            child.kill('SIGKILL')
          }
          served.onRequest = () => {
            if (requests++ === at) kill()
          }
          const { onCreated } = service
          // After the NFT was created, and before the response.
          if (at === 3) service.onCreated = kill
          await ended
          served.onRequest = () => {}
          service.onCreated = onCreated
          const said = await mint(served, `kill ${idempotency}`, key).ended
          const made = service.nfts.filter(({ metadata }) => (metadata as { title: string }).title === key)
          if (idempotency) expect(said).toMatch(/^nft-\d+ deployed$/)
          else expect(said).toMatch(/^nft-\d+ deployed$|^unknown_outcome$/)
          expect(made.length).toBeLessThanOrEqual(1)
          if (said.startsWith('nft-')) expect(made).toHaveLength(1)
        }
      }
    } finally {
      await served.close()
    }
  },
)
