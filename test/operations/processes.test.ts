import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundleProcess } from '../helpers/bundle-process.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { CONTRACT, inMemory } from './world.ts'

const ROUNDS = process.env.GDN_SOAK === '1' ? 200 : 4
const PROCESSES = 8

let folder: string
let script: string
beforeAll(async () => {
  folder = await mkdtemp(join(inMemory, 'gdn-together-'))
  script = join(folder, 'operate.mjs')
  await bundleProcess(new URL('./operate-process.ts', import.meta.url), script, import.meta.url)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const nftOf = (nft_gdn_id: string, title: string) => ({
  nft_gdn_id,
  token_id: '1',
  contract_address: CONTRACT,
  receiver_wallet_address: CONTRACT,
  status: 'deployed',
  request_metadata: { title, description: '', file_fields: [] },
})

/** Counts what it creates: with `idempotency` once for each key. Cuts every other response. */
async function service(idempotency: boolean) {
  const created: string[] = []
  const keys = new Map<string, object>()
  let requests = 0
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    const headers = {
      'content-type': 'application/json',
      'ratelimit-policy': '"createnft", "getisgdnnft", "getnftgdnids", "getnfts"',
      ...(idempotency ? { 'idempotency-supported': 'yes' } : {}),
    }
    if (request.url?.endsWith('createnft') !== true) {
      const ids = created.map((_, i) => `nft-${i + 1}`)
      const nfts = ids.map((id, i) => nftOf(id, created[i] ?? ''))
      const asked: readonly string[] = body.nft_gdn_ids ?? []
      const listing = {
        requests: { contract_address: CONTRACT, blockchain: 'polygon', nft_gdn_ids: asked },
        nft_gdn_ids: ids,
        nfts: nfts.filter(({ nft_gdn_id }) => asked.includes(nft_gdn_id)),
      }
      return void response.writeHead(200, headers).end(JSON.stringify(listing))
    }
    const key = String(request.headers['idempotency-key'])
    const known = idempotency ? keys.get(key) : undefined
    if (known === undefined) created.push(body.metadata[0].title)
    const answer = known ?? {
      message: 'accepted',
      requests: body,
      nfts: [{ nft_gdn_ids: `nft-${created.length}`, accepted_date: '2026-01-31 12:00:00' }],
    }
    keys.set(key, answer)
    await pause(10)
    if (requests++ % 2 === 0) return void response.socket?.destroy()
    response.writeHead(200, headers).end(JSON.stringify(answer))
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    created,
    close,
  }
}

/** A separate namespace for process IDs, as in a container. */
const CONTAINER = ['unshare', '--pid', '--fork', '--mount-proc'] as const

async function give(
  url: string,
  round: number,
  killAfterMs: number | null,
  within: readonly string[] = [],
): Promise<string> {
  const stateDir = join(folder, `state-${new URL(url).port}`)
  const [command = '', ...argv] = [...within, process.execPath, script, stateDir, url, String(round)]
  const child = spawn(command, argv, {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.on('data', (text) => {
    said += text
  })
  const timer = killAfterMs === null ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  await once(child, 'close')
  clearTimeout(timer)
  return said.trim()
}

test.each([true, false])(
  'one command run by 8 processes at once, some killed, has one effect (idempotency: %s)',
  async (idempotency) => {
    const { random } = seededRandom('processes of one command')
    const { url, created, close } = await service(idempotency)
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const kills = Array.from({ length: PROCESSES }, (_, i) => (i % 2 === 0 ? 100 + random() * 600 : null))
        const said = await Promise.all(kills.map((kill) => give(url, round, kill)))
        const known = ['', 'accepted', 'run_busy', 'unknown_outcome']
        for (const one of said) expect(known).toContain(one)
        // An interrupted operation is resolved, or stays unknown and is not sent a second time.
        if (idempotency) expect(await give(url, round, null)).toBe('accepted')
        const copies = created.filter((title) => title === `Round ${round}`).length
        expect(copies).toBeLessThanOrEqual(1)
        if (idempotency) expect(copies).toBe(1)
      }
    } finally {
      close()
    }
    report(`  ${created.length} created in ${ROUNDS} rounds`)
  },
)

test('one command run in several containers that share a state directory has one effect', async (context) => {
  const [inContainer = '', ...argv] = [...CONTAINER, 'true']
  const isAllowed = spawnSync(inContainer, argv).status === 0
  if (!isAllowed) return context.skip('namespaces of processes are not allowed here')
  const { url, created, close } = await service(true)
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const said = await Promise.all(
        Array.from({ length: 4 }, (_, i) => give(url, round, null, i < 3 ? CONTAINER : [])),
      )
      for (const one of said) expect(['accepted', 'run_busy']).toContain(one)
      expect(said).toContain('accepted')
      expect(created.filter((title) => title === `Round ${round}`)).toHaveLength(1)
    }
  } finally {
    close()
  }
})
