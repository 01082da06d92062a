/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cli, tempHome } from '../cli/harness.ts'
import { freshDataDir, startTestBackend, until } from '../helpers/backend.ts'
import { whenTestDone } from '../helpers/clean-up.ts'
import { type IpfsNodeStandIn, startIpfsNode } from '../helpers/ipfs-node-stand-in.ts'
import { type PinningStandIn, startPinningService } from '../helpers/pinning-stand-in.ts'
import { databaseUrlOf, openTestStore } from '../helpers/test-database.ts'
import { drop } from './collection-world.ts'

const TOKEN = 'token-of-the-service'

/**
 * Archives a drop, and prepares an empty data directory whose configuration has a pinning service and, unless
 * `withNode` is false, an IPFS node.
 */
async function archived({ withNode = true } = {}) {
  const world = await drop(3)
  const { dir, env } = await tempHome()
  const file = join(dir, 'tides.car')
  expect((await cli(['collection', 'archive', ...world.flags, '--to', file], { env })).code).toBe(0)
  const dataDir = await freshDataDir()
  whenTestDone(() => dataDir.remove())
  const node = await startIpfsNode(join(dataDir.path, 'node'))
  whenTestDone(() => node.close())
  const service = await startPinningService(TOKEN)
  whenTestDone(() => service.close())
  const write = (name: string, text: string) => writeFile(join(dataDir.path, name), text, { mode: 0o600 })
  const token = (text: string) => write('pin-token', `${text}\n`)
  await token(TOKEN)
  const pinning = `pinning: { endpoint: "${service.url}", token_file: pin-token }`
  const storage = withNode ? `storage: { kind: ipfs, api: "${node.url}" }\n` : ''
  const url = await databaseUrlOf(dataDir.path)
  if (url !== undefined) await write('database-url', url)
  await write('backend.yaml', `${storage}${pinning}\n${url === undefined ? '' : 'database_url_file: database-url\n'}`)
  const restore = async () => {
    const { code, stdout, stderr } = await cli(['collection', 'restore', file, '--data-dir', dataDir.path, '--json'], {
      env,
    })
    return { code, stderr, result: stdout === '' ? null : JSON.parse(stdout) }
  }
  const uris = [...world.uris.values()]
  return { world, node, service, restore, token, dataDir: dataDir.path, uris, blocks: world.gateway.blocks }
}

/** Runs a backend until its node has all blocks, and the service has pinned both directories. */
async function publish(dataDir: string, node: IpfsNodeStandIn, service: PinningStandIn, blocks: Map<string, Buffer>) {
  const backend = await startTestBackend(dataDir, { publishRetryMs: () => 0 })
  try {
    const pinned = await until(
      () => service.pins.filter(({ status }) => status === 'pinned').map(({ pin }) => pin.cid),
      (cids) => cids.length === 2,
    )
    expect(new Set(pinned)).toEqual(node.pinned)
    for (const [cid, bytes] of blocks) expect([cid, await node.blocks.get(cid)]).toEqual([cid, new Uint8Array(bytes)])
  } finally {
    await backend.close()
  }
}

test('publishes every block to the IPFS node, and has the pinning service pin it', async () => {
  const { node, service, restore, dataDir, blocks } = await archived()
  expect(await restore()).toMatchObject({ code: 0, result: { tokens: 3, publishes: true } })
  await publish(dataDir, node, service, blocks)
  expect((await restore()).code).toBe(0)
  await publish(dataDir, node, service, blocks)
  expect(service.pins.length).toBe(2)
})

test('resumes after failures of the node and the service, and restarts of the backend', async () => {
  const { node, service, restore, dataDir, blocks } = await archived()
  expect((await restore()).code).toBe(0)
  node.refuse = (path) => (path.includes('dag/import') ? 500 : null)
  const backend = await startTestBackend(dataDir, { publishRetryMs: () => 0 })
  await until(
    () => backend.log.join(''),
    (log) => log.includes('content could not be stored on the IPFS node'),
  )
  await backend.close()
  expect([node.pinned.size, service.pins.length]).toEqual([0, 0])
  node.refuse = () => null
  let requestCount = 0
  // The first response is lost, and the first pin fails.
  service.hangUp = () => service.pins.length === 1
  service.next = () => (++requestCount === 1 ? 'failed' : 'pinned')
  await publish(dataDir, node, service, blocks)
})

test('says that the service rejects the token, or the node fails, and publishes when this is fixed', async () => {
  const { node, service, restore, token, dataDir, blocks } = await archived()
  await token('wrong')
  const rejected = await restore()
  expect(rejected.stderr).toContain('rejected the token (401)')
  expect(rejected.stderr).toContain('Check pinning.token_file. All blocks are stored')
  expect(rejected.stderr).not.toContain('wrong')
  expect(rejected.code).toBe(4)
  await token(TOKEN)
  node.refuse = () => 500
  const failing = await restore()
  expect([failing.code, failing.stderr]).toEqual([
    6,
    expect.stringContaining('did not respond like the RPC API of an IPFS node (500)'),
  ])
  node.refuse = () => null
  expect((await restore()).code).toBe(0)
  await publish(dataDir, node, service, blocks)
})

test('has a pinning service pin the files without an IPFS node, which fetches them from the backend', async () => {
  const { node, service, restore, dataDir, blocks } = await archived({ withNode: false })
  expect(await restore()).toMatchObject({ code: 0, result: { publishes: true } })
  const backend = await startTestBackend(dataDir, { publishRetryMs: () => 0 })
  try {
    const pins = await until(
      () => service.pins.filter(({ status }) => status === 'pinned'),
      (pinned) => pinned.length === 2,
    )
    expect(node.pinned.size).toBe(0)
    for (const { pin } of pins) {
      const root = await backend.get(`/ipfs/${pin.cid}?format=raw`)
      expect([root.status, Buffer.from(await root.arrayBuffer())]).toEqual([200, blocks.get(pin.cid)])
    }
  } finally {
    await backend.close()
  }
})

test('replaces a damaged block in the database, and leaves the others', async () => {
  const { restore, dataDir, blocks } = await archived()
  expect((await restore()).code).toBe(0)
  const stored = async () => {
    const store = await openTestStore(dataDir)
    try {
      const rows = await store.db.selectFrom('blocks').select(['cid', 'bytes']).execute()
      return new Map(rows.map(({ cid, bytes }) => [cid, Buffer.from(bytes)]))
    } finally {
      await store.close()
    }
  }
  const whole = await stored()
  const [cid] = blocks.keys()
  const store = await openTestStore(dataDir)
  await store.db
    .updateTable('blocks')
    .set({ bytes: Buffer.from('damaged') })
    .where('cid', '=', String(cid))
    .execute()
  await store.close()
  expect((await stored()).get(String(cid))?.toString()).toBe('damaged')
  expect((await restore()).code).toBe(0)
  expect(await stored()).toEqual(whole)
})
