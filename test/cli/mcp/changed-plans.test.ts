/** @module-tag slow */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { NftRecord } from '../../../src/api/nft-record.ts'
import type { CommandTree } from '../../../src/cli/command-tree.ts'
import type { ToolResponse } from '../../../src/cli/mcp/tool-response.ts'
import { Toolbox } from '../../../src/cli/mcp/toolbox.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { backendForFile, call, createTestCollection, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { startEnsNode } from '../../helpers/ens-node.ts'
import { holdSigning } from '../../helpers/hold.ts'
import {
  openMcpSession,
  type RecordingProxy,
  startRecordingProxy,
  type TestMcpSession,
} from '../../helpers/mcp-session.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { dynamicNfts, ended, update } from '../../helpers/updates.ts'
import { cli, tempHome } from '../harness.ts'

const [OWNER, OTHER, THIRD] = WALLETS

let backend: TestBackend
let proxy: RecordingProxy
let session: TestMcpSession
let home: string
let sent: string[]

beforeAll(async () => {
  backend = await backendForFile()
  proxy = await startRecordingProxy(() => backend.url)
})
afterAll(async () => {
  await proxy.close()
})

beforeEach(async () => {
  home = (await tempHome()).dir
  await mkdir(join(home, 'project'))
  session = await open()
  sent = []
  proxy.record((key) => void sent.push(key))
})

async function open(): Promise<TestMcpSession> {
  const env = { GDN_API_KEY: backend.apiKey.reveal(), GDN_BLOCKCHAIN: 'polygon' }
  const opened = await openMcpSession({ home, url: proxy.url, env, maxCost: null })
  onTestFinished(() => opened.close())
  return opened
}

interface World {
  address: string
  ids: string[]
}

/** Mints two NFTs that can be updated, transferred and burned. */
async function world(): Promise<World> {
  const request = { enable_burn: true, enable_transfer: true, receiver: OWNER }
  const { collection, ids } = await dynamicNfts(backend, ['One', 'Two'], request)
  return { address: collection.address, ids }
}

const shown = async (id: string): Promise<NftRecord | undefined> =>
  (await call(backend, 'getnfts', { nft_gdn_ids: [id] })).nfts[0]

async function moveTo(receiver: string, { address, ids: [id = ''] }: World): Promise<void> {
  const nft = await shown(id)
  const { response } = await call(backend, 'transfernft', {
    ...{ nft_gdn_id: id, contract_address: address, blockchain: 'polygon', token_id: nft?.token_id },
    ...{ sender_wallet_address: nft?.receiver_wallet_address, receiver_wallet_address: receiver },
  })
  await ended(backend, response.transaction_gdn_id)
}

async function burnSecond({ address, ids: [, id = ''] }: World): Promise<void> {
  const request = { nft_gdn_id: id, contract_address: address, holder_wallet_address: OWNER }
  await ended(backend, (await call(backend, 'burnnft', request)).response.transaction_gdn_id)
}

const retitle = async ({ address, ids: [id = ''] }: World) =>
  void (await ended(backend, await update(backend, { address }, id, 'Theirs')))

const toOther = (currentWorld: World) => moveTo(OTHER, currentWorld)

interface Case {
  title: string
  tool: string
  values: (world: World) => object
  change: (world: World) => Promise<void>
  /** What the error says after the ID of the first NFT, or of the second. */
  error: string
  second?: boolean
}

const MOVED = `changed from ${OWNER} to ${OTHER} after it was shown`
const TITLED = 'changed from One to Theirs after it was shown'
const one = ({ ids: [id] }: World) => ({ nft_gdn_id: [id] })
const both = ({ ids }: World) => ({ nft_gdn_id: ids })

const CASES: Case[] = [
  {
    ...{ title: 'a burn of the NFT of a new owner', tool: 'nft_burn', values: one, change: toOther },
    error: `receiver_wallet_address ${MOVED}`,
  },
  {
    title: 'a burn of an NFT with a new title',
    tool: 'nft_burn',
    values: one,
    change: retitle,
    error: `title ${TITLED}`,
  },
  {
    ...{ title: 'a burn of two NFTs, of which one is burned', tool: 'nft_burn', values: both, change: burnSecond },
    ...{ error: 'is already burned', second: true },
  },
  {
    ...{ title: 'a transfer from a new owner', tool: 'nft_transfer', change: toOther },
    values: ({ ids: [id] }) => ({ nft_gdn_id: id, receiver: THIRD }),
    error: `sender_wallet_address ${MOVED}`,
  },
  {
    ...{ title: 'a freeze of other metadata', tool: 'nft_freeze', values: one, change: retitle },
    error: `title ${TITLED}`,
  },
  {
    ...{ title: 'an update of other metadata', tool: 'nft_update', change: retitle },
    values: ({ ids: [id] }) => ({ nft_gdn_id: id, title: 'Mine' }),
    error: `title ${TITLED}`,
  },
]

async function plan(
  { tool, values }: Case,
  currentWorld: World,
): Promise<{ id: string; run: () => Promise<ToolResponse> }> {
  const planned = await session.call(tool, values(currentWorld))
  expect(planned).toMatchObject({ status: 'planned', plan_id: expect.any(String) })
  const id = planned.plan_id ?? ''
  return { id, run: async () => await session.call(tool, { dry_run: false, plan_id: id }) }
}

test.each(CASES)('a plan refuses $title, sends nothing, and works once it is planned again', async (tested) => {
  const currentWorld = await world()
  const { run } = await plan(tested, currentWorld)
  await tested.change(currentWorld)
  sent = []
  const refused = await run()
  expect(refused).toMatchObject({
    status: 'error',
    error: {
      code: 'refused',
      message: `${currentWorld.ids[tested.second ? 1 : 0]}: ${tested.error}`,
      hint: 'Nothing was sent. Call with dry_run true to plan again.',
    },
  })
  expect(sent).toEqual([])
  const secondPlan = await plan(tested, currentWorld)
  expect(await secondPlan.run()).toMatchObject({ status: 'ok' })
  expect(sent).toHaveLength(1)
})

test('a plan shows and compares the address of an ENS name, and is refused once the name has another', async () => {
  const node = await startEnsNode({ 'alice.eth': { 2147483785: OTHER }, 'away.eth': 'gateway' })
  onTestFinished(node.close)
  const env = { GDN_API_KEY: backend.apiKey.reveal(), GDN_BLOCKCHAIN: 'polygon', GDN_ENS_RPC_URL: node.url }
  const named = await openMcpSession({ home, url: proxy.url, env, maxCost: null, flags: ['--no-ccip'] })
  onTestFinished(() => named.close())
  const { address } = await world()
  const mint = { contract: address, title: 'Dawn', receiver: 'alice.eth' }
  const planned = await named.call('nft_mint', mint)
  expect(planned).toMatchObject({ status: 'planned', data: { body: { receiver_wallet_address: OTHER } } })
  expect(await named.call('nft_mint', { ...mint, receiver: 'away.eth' })).toMatchObject({
    error: { message: expect.stringContaining('away.eth is resolved by a gateway, and --no-ccip forbids gateways') },
  })
  node.records['alice.eth'] = { 2147483785: THIRD }
  sent = []
  expect(await named.call('nft_mint', { dry_run: false, plan_id: planned.plan_id })).toMatchObject({
    status: 'error',
    error: {
      code: 'refused',
      message: expect.stringContaining(`changed from ${OTHER} to ${THIRD} after it was shown`),
    },
  })
  expect(sent).toEqual([])
})

async function freezeSecond({ address, ids: [, id = ''] }: World): Promise<void> {
  const request = { nft_gdn_ids: [id], contract_address: address }
  await ended(backend, (await call(backend, 'freezenft', request)).response.transaction_gdn_id)
}

test.each([
  ['nft_burn', burnSecond, 'is already burned'],
  ['nft_freeze', freezeSecond, 'is already frozen or burned'],
])(
  'a plan of %s for one NFT is refused if somebody else has done it, but not once it was started',
  async (tool, change, why) => {
    const currentWorld = await world()
    const id = currentWorld.ids[1] ?? ''
    const { plan_id } = await session.call(tool, { nft_gdn_id: [id] })
    const file = join(home, 'state', 'agent-plans', `${plan_id}.json`)
    const before = await readFile(file, 'utf8')
    await change(currentWorld)
    sent = []
    const run = async () => await session.call(tool, { dry_run: false, plan_id })
    expect(await run()).toMatchObject({
      status: 'error',
      error: { code: 'refused', message: `${id}: ${why}` },
    })
    await writeFile(file, JSON.stringify({ ...JSON.parse(before), state: 'started' }))
    expect(await run()).toMatchObject({ status: 'ok' })
    expect(sent).toEqual([])
  },
)

test('a plan that was started holds only what it showed, also in another process, until it is planned again', async () => {
  const currentWorld = await world()
  const [burn] = CASES
  if (burn === undefined) throw new Error('no case')
  const { id, run } = await plan(burn, currentWorld)
  const file = join(home, 'state', 'agent-plans', `${id}.json`)
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), state: 'started' }))
  await moveTo(OTHER, currentWorld)
  session = await open()
  // Shown again as it is now, then changed once more.
  expect((await plan(burn, currentWorld)).id).toBe(id)
  await moveTo(THIRD, currentWorld)
  sent = []
  expect((await run()).error?.message).toContain(`changed from ${OTHER} to ${THIRD}`)
  expect(sent).toEqual([])
})

test('a freeze of an NFT that is updated in the last instant is rejected', async () => {
  const currentWorld = await world()
  const planned = await session.call('nft_freeze', one(currentWorld))
  proxy.record(async () => await retitle(currentWorld))
  const refused = await session.call('nft_freeze', { dry_run: false, plan_id: planned.plan_id })
  expect(refused.error?.message).toMatch(/replaces_revisions has 0 for the NFT .*, which has revision 1/)
  expect(await shown(currentWorld.ids[0] ?? '')).toMatchObject({ is_frozen: false })
})

/** Tools whose plans other tests change: collection_set in test/e2e/mcp.test.ts, and the others below. */
const ELSEWHERE = ['collection_set', 'batch_mint', 'batch_resume', 'batch_retry', 'reveal']

test('every tool with a dry run records what its plan showed', async () => {
  const currentWorld = await world()
  const metadata = { contract: currentWorld.address, receiver: OTHER, title: 'New' }
  const planned: Record<string, object> = {
    ...Object.fromEntries(CASES.map(({ tool, values }) => [tool, values(currentWorld)])),
    nft_mint: metadata,
    nft_grant: { ...metadata, sender: OWNER },
    collection_create: { name: 'New', wallet: OWNER },
  }
  const tree = JSON.parse((await cli(['help', '--json'])).stdout) as CommandTree
  const { offeredTools } = new Toolbox(tree.commands, {
    allowWrites: true,
    passwordFile: null,
    toolsets: ['all'],
  })
  const shows = offeredTools.filter(({ flags, effect }) => effect !== 'read' && flags.has('--dry-run'))
  expect([...Object.keys(planned), ...ELSEWHERE].sort()).toEqual(shows.map(({ name }) => name).sort())
  for (const [tool, values] of Object.entries(planned)) {
    const { plan_id } = await session.call(tool, values)
    const { shown } = JSON.parse(await readFile(join(home, 'state', 'agent-plans', `${plan_id}.json`), 'utf8'))
    expect(Object.keys(shown), tool).toHaveLength(tool === 'nft_burn' ? 2 : 1)
  }
})

describe('a plan of a run', () => {
  let manifest: string
  beforeEach(() => {
    manifest = join(home, 'project', 'drop.csv')
  })
  const csv = `title,description,receiver\n${['One', 'Two', 'Three'].map((title) => `${title},x,${OWNER}\n`).join('')}`

  /** Runs gdn in a terminal. */
  async function terminal(argv: readonly string[], signal = new AbortController().signal): Promise<number> {
    const flags = ['--base-url', proxy.url, '--state-dir', join(home, 'state'), '--yes']
    const env = { HOME: home, GDN_PACE_DIR: join(home, 'pace'), GDN_API_KEY: backend.apiKey.reveal() }
    const { code } = await cli([...argv, ...flags], { env, cwd: join(home, 'project'), signal })
    sent = []
    proxy.record((key) => void sent.push(key))
    return code
  }

  /** Runs a command that ends after its first request, of one row. */
  async function sendOneRow(argv: readonly string[]): Promise<void> {
    const stop = new AbortController()
    proxy.record(() => stop.abort(new GdnError('interrupted', 'interrupted by this test')))
    await terminal([...argv, '--chunk-size', '1'], stop.signal)
    expect(stop.signal.aborted).toBe(true)
  }

  const target = (contract: string) => ['-c', contract, '-b', 'polygon']
  const mintOneRow = (contract: string) => sendOneRow(['batch', 'mint', manifest, ...target(contract), '--in-order'])

  async function expectRefused(tool: string, values: object, change: () => Promise<unknown>): Promise<void> {
    const { plan_id, error } = await session.call(tool, values)
    expect([plan_id, error]).toEqual([expect.any(String), null])
    await change()
    sent = []
    const refused = await session.call(tool, { dry_run: false, plan_id })
    expect(refused.error?.message).toMatch(/^rows: \w+ changed from \d to \d after it was shown$/)
    expect(sent).toEqual([])
  }

  async function planned(): Promise<() => Promise<ToolResponse>> {
    const { plan_id: creating } = await session.call('collection_create', { name: 'Known', wallet: OWNER })
    const { data } = await session.call('collection_create', { dry_run: false, plan_id: creating })
    known = (data as { contract_address: string }).contract_address
    await writeFile(manifest, csv)
    const { plan_id, error } = await session.call('batch_mint', { manifest })
    expect(error).toBe(null)
    return async () => await session.call('batch_mint', { dry_run: false, plan_id })
  }
  let known: string

  test('refuses to mint in another collection, in which a terminal has started its run meanwhile', async () => {
    const run = await planned()
    const other = await createTestCollection(backend)
    await mintOneRow(other.address)
    const refused = await run()
    expect(refused.error?.message).toContain(`collection: contract_address changed from ${known} to ${other.address}`)
    expect(sent).toEqual([])
  })

  test('refuses to mint other rows, of which a terminal has sent some meanwhile', async () => {
    const run = await planned()
    await mintOneRow(known)
    expect((await run()).error?.message).toMatch(/^rows: (to_send|unknown) changed from \d to \d after it was shown$/)
    expect(sent).toEqual([])
  })

  test('refuses to resume other rows, of which a terminal has sent some meanwhile', async () => {
    const { address } = await createTestCollection(backend)
    await writeFile(manifest, csv)
    await mintOneRow(address)
    await expectRefused('batch_resume', { run: 'drop' }, () => sendOneRow(['batch', 'resume', 'drop']))
  })

  test('refuses to retry other rows, of which a terminal has sent some meanwhile', async () => {
    const owner = newWallet()
    const { address } = await createTestCollection(backend, { wallet_address: owner.address })
    const enableApi = async (args: [boolean]) =>
      await rpcOf(backend).send(owner, address, { functionName: 'setEnableApi', args })
    await writeFile(manifest, csv)
    const letGo = await holdSigning(backend.dataDir, 'mint')
    expect(await terminal(['batch', 'mint', manifest, ...target(address), '--no-wait'])).toBe(0)
    await enableApi([false])
    await letGo()
    expect(await terminal(['batch', 'mint', manifest, ...target(address)])).toBe(7)
    await enableApi([true])
    await expectRefused('batch_retry', { run: 'drop' }, () => sendOneRow(['batch', 'retry', 'drop']))
  })

  test('refuses to reveal other NFTs, of which one was updated meanwhile', async () => {
    const { address } = await createTestCollection(backend, { dynamic: true })
    await writeFile(manifest, csv)
    const placeholder = join(home, 'project', 'hidden.json')
    await writeFile(placeholder, JSON.stringify({ title: 'Hidden', description: '', file_fields: [] }))
    expect(await terminal(['batch', 'mint', manifest, ...target(address), '--unrevealed', placeholder])).toBe(0)
    const { data } = await session.call('nft_list', { contract: address })
    const [first] = data as { nft_gdn_id: string }[]
    await expectRefused('reveal', { manifest, contract: address }, () =>
      retitle({ address, ids: [first?.nft_gdn_id ?? ''] }),
    )
  })
})
