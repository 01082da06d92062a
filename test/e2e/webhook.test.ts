/** @module-tag slow */
import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyWebhook } from '../../src/lib/index.ts'
import { OWNER } from '../helpers/addresses.ts'
import { until } from '../helpers/backend.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { filesHolding } from '../helpers/leaks.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'
import { isSigned, type Receiver, startReceiver } from '../helpers/webhook-receiver.ts'

let home: GdnHome
let dataDir: string
let backend: ServedBackend
let receiver: Receiver

beforeAll(async () => {
  home = await makeHome()
  dataDir = join(home.dir, 'backend')
  const log = ['--log-level', 'debug', '--log-file', join(home.dir, 'debug.log')]
  backend = await serve(dataDir, ['--rate-limits', 'off', '--allow-private-files', ...log]).ready
  receiver = await startReceiver()
})
afterAll(async () => {
  await backend?.end('SIGTERM')
  await receiver?.close()
  await home?.remove()
})

interface Webhook {
  id: string
  signing_secret: string
  delivered: number
}

const beside = (...argv: string[]) => [...argv, '--data-dir', dataDir]
const gdn = () => gdnAt(backend, home.dir)

async function mintThree(): Promise<string[]> {
  const collection = await gdn().json<{ contract_address: string }>(
    'collection',
    'create',
    '--name',
    'Dawn',
    '--wallet',
    OWNER,
  )
  const at = ['-c', collection.contract_address, '--receiver', OWNER]
  const minted = []
  for (const title of ['a', 'b', 'c']) {
    minted.push(await gdn().json<{ nft_gdn_id: string }>('nft', 'mint', ...at, '--title', title))
  }
  return minted.map(({ nft_gdn_id }) => nft_gdn_id)
}

test('a triggered event has the fields of a real one, is signed, and is marked as a test', async () => {
  const hook = await startReceiver()
  try {
    const added = await home.json<Webhook>(
      beside('webhook', 'add', hook.url, '--event', 'nft.deployed,collection.deployed'),
    )
    await mintThree()
    await until(
      async () => hook.events(),
      (events) => events.length === 4,
    )
    const real = hook.events()
    for (const type of ['nft.deployed', 'collection.deployed'] as const) {
      const triggered = await home.json<{ event_id: string }>(beside('webhook', 'trigger', added.id, type))
      expect(triggered).toMatchObject({
        type,
        state: 'delivered',
        attempts: 1,
        event_id: expect.stringMatching(/^evt_test_/),
      })
      const event = hook.events().find(({ id }) => id === triggered.event_id)
      expect(event).toMatchObject({ type, test: true })
      const like = real.find((one) => one.type === type)
      expect(like).not.toHaveProperty('test')
      expect(Object.keys(event?.data)).toEqual(Object.keys(like?.data))
      const deliveries = await home.json<object[]>(beside('webhook', 'deliveries', added.id))
      expect(deliveries).toContainEqual(expect.objectContaining({ event_id: triggered.event_id, type }))
    }
    const unknown = await home.json(beside('webhook', 'trigger', added.id, 'webhook.test')).catch(() => null)
    expect(unknown).toBeNull()
    expect(hook.received.every((one) => verifyWebhook(one.body, one.headers, added.signing_secret))).toBe(true)
    await home.run(beside('webhook', 'rm', added.id, '--yes'))
  } finally {
    await hook.close()
  }
})

test('a webhook created beside the running backend receives signed events with the data of nft show, until it is removed', async () => {
  const added = await home.json<Webhook>(beside('webhook', 'add', receiver.url, '--event', 'nft.deployed'))
  const tested = await home.json(beside('webhook', 'test', added.id))
  expect(tested).toMatchObject({ type: 'webhook.test', state: 'delivered', attempts: 1, response_status: 200 })
  const ids = await mintThree()
  const told = () => receiver.events().filter(({ type }) => type === 'nft.deployed')
  await until(
    async () => told(),
    (events) => events.length === 3,
  )
  expect(
    told()
      .map(({ data }) => data.nft_gdn_id)
      .sort(),
  ).toEqual([...ids].sort())
  expect(receiver.received.every((one) => isSigned(added.signing_secret, one))).toBe(true)
  const shownNft = await gdn().json<Record<string, unknown>>('nft', 'show', ids[0] ?? '')
  expect(told().find(({ data }) => data.nft_gdn_id === ids[0])?.data).toMatchObject({
    token_id: shownNft.token_id,
    metadata_url: shownNft.metadata_url,
    status: 'deployed',
  })
  const listed = await until(
    () => home.json<Webhook[]>(beside('webhook', 'list')),
    ([one]) => one?.delivered === 4,
  )
  expect(listed).toEqual([expect.objectContaining({ id: added.id, status: 'active', delivered: 4, failed: 0 })])

  // The backend signs events with the secret, so only its private database contains the secret.
  const holding = await filesHolding(home.dir, added.signing_secret)
  for (const file of holding) {
    expect(file).toMatch(/gdn\.db(-wal)?$/)
    expect((await stat(join(home.dir, file)).catch(() => stat(file))).mode & 0o77).toBe(0)
  }
  expect(await readFile(join(home.dir, 'debug.log'), 'utf8')).not.toContain('whsec_')
  expect((await home.run(beside('webhook', 'rm', added.id, '--yes'))).code).toBe(0)
  expect(await home.json(beside('webhook', 'list'))).toEqual([])
})

test('a test event that the receiver rejects exits with 5 and shows the response', async () => {
  const refusing = await startReceiver((response) => void response.writeHead(418).end('teapot'))
  const { id } = await home.json<Webhook>(beside('webhook', 'add', refusing.url, '--event', '*'))
  const { code, stdout, stderr } = await home.run(beside('webhook', 'test', id, '--json'))
  expect([code, JSON.parse(stdout).response]).toEqual([5, 'teapot'])
  expect(JSON.parse(stderr).error).toMatchObject({
    code: 'refused',
    message: expect.stringContaining('returned HTTP 418'),
  })
  await home.run(beside('webhook', 'rm', id, '--yes'))
  await refusing.close()
})

test('local listen shows events as they arrive, forwards them signed, exits with 0 at Ctrl-C and leaves nothing', async () => {
  const app = await startReceiver()
  // It accepts connections, and responds to nothing.
  const dead = createServer().listen(0, '127.0.0.1')
  await once(dead, 'listening')
  const deadUrl = `http://127.0.0.1:${(dead.address() as AddressInfo).port}/hook?a=b`
  const targets = ['--forward-to', app.url.replace('http://', ''), '--forward-to', `nft.deployed=${deadUrl}`]
  const argv = beside('local', 'listen', ...targets, '--event', 'nft.deployed', '--json')
  const child = home.start(argv)
  let text = ''
  child.stdout?.on('data', (chunk) => {
    text += chunk
  })
  const lines = () =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line))
  await until(
    async () => lines().length,
    (count) => count > 0,
  )
  const [ready] = lines()
  expect(ready).toEqual({
    ...{ event: 'ready', signing_secret: expect.stringMatching(/^whsec_/) },
    forward_to: [
      { url: app.url, events: ['*'] },
      { url: deadUrl, events: ['nft.deployed'] },
    ],
  })
  const ids = await mintThree()
  await until(
    async () => lines(),
    (all) => all.filter(({ event }) => event === 'forwarded').length === 3,
  )
  const shown = lines().filter(({ type }) => type === 'nft.deployed')
  expect(shown.map(({ data }) => data.nft_gdn_id).sort()).toEqual([...ids].sort())
  expect(lines().filter(({ event }) => event === 'forwarded')).toEqual(
    shown.map(({ id }) => ({ event: 'forwarded', id, url: app.url, response_status: 200, error: null })),
  )
  expect(app.received.map(({ body }) => body).sort()).toEqual(shown.map((event) => JSON.stringify(event)).sort())
  expect(app.received.every((one) => isSigned(ready.signing_secret, one))).toBe(true)
  child.kill('SIGINT')
  expect((await child).exitCode).toBe(0)
  expect(await home.json(beside('webhook', 'list'))).toEqual([])

  const again = home.start(beside('local', 'listen', '--forward-to', deadUrl))
  let said = ''
  again.stderr?.on('data', (chunk) => {
    said += chunk
  })
  let seen = ''
  again.stdout?.on('data', (chunk) => {
    seen += chunk
  })
  await until(
    async () => said,
    (all) => all.includes('Ctrl-C'),
  )
  expect(seen).toContain(`Events are signed with ${ready.signing_secret}`)
  expect(said).toContain('Start your application with this secret. Each webhook has its own secret.')
  const [first = ''] = await mintThree()
  await until(
    async () => seen,
    (all) => all.includes(first),
  )
  expect(seen).toMatch(new RegExp(`--> nft\\.deployed {2}${first} {2}\\[evt_`))
  expect(seen).toContain('--> collection.deployed')
  again.kill('SIGINT')
  expect((await again).exitCode).toBe(0)
  await app.close()
  dead.close()
})
