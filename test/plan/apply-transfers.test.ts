import { beforeEach, expect, test } from 'vitest'
import type { TransportRequest } from '../../src/client/transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import type { PlannedChange } from '../../src/plan/planned.ts'
import { ALICE, BOB, CAROL, Machine, row, Server } from './world.ts'

let server: Server
let machine: Machine
beforeEach(() => start(new Server()))

async function start(on: Server): Promise<void> {
  server = on
  machine = await Machine.start(server)
}

const sent = () => server.bodies('transfernft')

/** Ends the pending transactions once the client asks for them. */
const endsAs = (status: 'deployed' | 'failed') => (endpoint: string) => {
  if (endpoint === 'gettransactions') server.end(status)
  return undefined
}

/** Interrupts a command once the server has accepted its transfer, which stays pending. */
async function interrupted(act: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  server.holds = true
  const stop = new AbortController()
  server.onRequest = (endpoint) => {
    if (endpoint === 'gettransactions') stop.abort(new GdnError('interrupted', 'interrupted'))
    return undefined
  }
  await expect(act(stop.signal)).rejects.toMatchObject({ code: 'interrupted' })
}

test('names the owner and the number of earlier transfers, so that the server refuses a stale one', async () => {
  await machine.mint([row('a')])
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 1 } })
  expect(await machine.apply([row('a')])).toMatchObject({ transfer: { done: 1 } })
  expect(sent()).toMatchObject([
    { nft_gdn_id: 'nft-1', sender_wallet_address: ALICE, receiver_wallet_address: BOB, replaces_transfers: 0 },
    { nft_gdn_id: 'nft-1', sender_wallet_address: BOB, receiver_wallet_address: ALICE, replaces_transfers: 1 },
  ])
})

test('resumes a transfer after an interruption, and sends it once', async () => {
  await machine.mint([row('a')])
  await interrupted((signal) => machine.apply([row('a', BOB)], { signal }))
  expect(await machine.live('transfernft')).toEqual(['accepted'])
  server.onRequest = endsAs('deployed')
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 1 } })
  expect(sent()).toHaveLength(1)
})

test('transfers an NFT to the same receiver again that came back while nobody saw the first transfer end', async () => {
  await machine.mint([row('a')])
  await interrupted((signal) => machine.apply([row('a', BOB)], { signal }))
  server.end()
  server.transfer('a', ALICE)
  server.onRequest = endsAs('deployed')
  expect(await machine.apply([row('a', BOB)], { takeOver: true })).toMatchObject({ transfer: { done: 1 } })
  expect(sent().map(({ replaces_transfers }) => replaces_transfers)).toEqual([0, 2])
})

test('sends a transfer again that the server refused', async () => {
  await machine.mint([row('a')])
  server.onRequest = (endpoint) =>
    endpoint === 'transfernft'
      ? { status: 400, json: { error: { title: 'No', message: 'the NFT is locked' } } }
      : undefined
  const { transfer } = await machine.apply([row('a', BOB)])
  expect(transfer.failed).toEqual({
    count: 1,
    first: [{ key: 'a', line: 2, reason: expect.stringContaining('locked') }],
  })
  server.onRequest = () => undefined
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 1 } })
})

test('sends a transfer again that failed on chain, under the same name', async () => {
  await machine.mint([row('a')])
  server.holds = true
  server.onRequest = endsAs('failed')
  const { transfer } = await machine.apply([row('a', BOB)])
  expect(transfer.failed.first).toEqual([{ key: 'a', line: 2, reason: 'the transfer failed: the network rejected it' }])
  server.onRequest = endsAs('deployed')
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 1 } })
  const [first, second] = sent()
  expect(second).toEqual(first)
})

test('reports a transfer as failed if the NFT got another owner in its place', async () => {
  await machine.mint([row('a')])
  server.holds = true
  server.onRequest = (endpoint) => {
    if (endpoint !== 'gettransactions') return undefined
    server.sell('a', CAROL)
    server.end('failed')
    return undefined
  }
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 0, failed: { count: 1 } } })
})

test('sends no transfer again whose outcome is unknown', async () => {
  await start(new Server({ isOurs: false }))
  await machine.mint([row('a')])
  server.holds = true
  server.onRequest = (endpoint, body) => (endpoint === 'transfernft' ? server.cut(endpoint, body) : undefined)
  for (let times = 0; times < 2; times++) {
    expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 0, unknown: { count: 1 } } })
  }
  expect(sent()).toHaveLength(1)
})

test('sends no transfer again that the server accepted and no longer returns', async () => {
  await machine.mint([row('a')])
  await interrupted((signal) => machine.apply([row('a', BOB)], { signal }))
  const [transaction] = server.transactions.splice(0)
  server.onRequest = (endpoint) => {
    if (endpoint === 'gettransactions') transaction?.effect()
    return undefined
  }
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 1 } })
  expect(sent()).toHaveLength(1)
})

test('waits while the server does not return the NFT', async () => {
  await machine.mint([row('a')])
  server.holds = true
  let polls = 0
  server.onRequest = (endpoint, body) => {
    if (endpoint !== 'getnfts' || server.transactions.length === 0) return undefined
    polls++
    if (polls === 3) server.end()
    return polls < 3 ? { status: 200, json: { requests: body, nfts: [] } } : undefined
  }
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 1 } })
  expect(polls).toBe(3)
})

test('rejects a transfer of another owner under the name of one in progress', async () => {
  const change: PlannedChange = {
    ...{ action: 'transfer', want: 'transfer', fields: [{ field: 'receiver', from: ALICE, to: BOB }], reason: null },
    ...{ nftGdnId: 'nft-1', tokenId: '1', revision: 0, transfers: 0, reference: 'a:to:b:0' },
    ...{ key: 'a', line: 2, title: 'a' },
  }
  async function* only(one: PlannedChange) {
    yield one
  }
  await machine.mint([row('a')])
  await interrupted((signal) => machine.transfer(only(change), signal))
  server.onRequest = endsAs('deployed')
  const other = { ...change, fields: [{ field: 'receiver', from: CAROL, to: BOB }] }
  await expect(machine.transfer(only(other))).rejects.toMatchObject({
    message: expect.stringContaining('the operation a:to:b:0 belongs to another'),
  })
  expect(sent()).toHaveLength(1)
})

test('reports a transfer once the NFT has another owner, which follows later than its transaction', async () => {
  await machine.mint([row('a')])
  server.holds = true
  let polls = 0
  server.onRequest = (endpoint) => {
    const [transaction] = server.transactions
    if (endpoint !== 'gettransactions' || transaction === undefined) return undefined
    polls++
    if (polls === 1) transaction.status = 'deployed'
    if (polls === 3) transaction.effect()
    return undefined
  }
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 1, pending: 0 } })
  expect(server.nft('a').owner).toBe(BOB)
})

test('waits for the owner alone on a server without reference IDs', async () => {
  await start(new Server({ isOurs: false }))
  await machine.mint([row('a')])
  server.holds = true
  let polls = 0
  server.onRequest = (endpoint) => {
    if (endpoint === 'gettransactions') throw new Error('asked for transactions')
    if (endpoint === 'getnfts' && server.transactions.length > 0 && ++polls === 3) server.end()
    return undefined
  }
  expect(await machine.apply([row('a', BOB)])).toMatchObject({ transfer: { done: 1, pending: 0 } })
  expect(server.nft('a').owner).toBe(BOB)
  expect(sent()).toHaveLength(1)
  expect(sent()[0]).not.toHaveProperty('replaces_transfers')
})

test('sends a transfer to an earlier owner on a server without reference IDs', async () => {
  await start(new Server({ isOurs: false }))
  await machine.mint([row('a')])
  for (const receiver of [BOB, ALICE, BOB]) {
    expect(await machine.apply([row('a', receiver)])).toMatchObject({ transfer: { done: 1 } })
  }
  expect(sent().map(({ receiver_wallet_address }) => receiver_wallet_address)).toEqual([BOB, ALICE, BOB])
})

test.each([
  ['deployed', { done: 1 }],
  ['failed', { failed: { count: 1 } }],
] as const)('two processes of a machine see the same transfer end as %s', async (status, outcome) => {
  await machine.mint([row('a')])
  server.holds = true
  const isWaiting = { first: false, second: false }
  let second: Promise<unknown> | null = null
  const other = machine.beside({
    request: async (request: TransportRequest) => {
      if (request.url.endsWith('/gettransactions')) isWaiting.second = true
      return await server.request(request)
    },
  })
  server.onRequest = (endpoint) => {
    if (endpoint !== 'gettransactions') return undefined
    isWaiting.first = true
    second ??= other.apply([row('a', BOB)])
    if (isWaiting.second) server.end(status)
    return undefined
  }
  const first = await machine.apply([row('a', BOB)])
  expect([first, await second]).toMatchObject([{ transfer: outcome }, { transfer: outcome }])
  expect(sent()).toHaveLength(1)
})

test('leaves no live operation behind', async () => {
  await machine.mint([row('a')])
  await machine.apply([row('a', BOB)])
  server.holds = true
  server.onRequest = endsAs('failed')
  await machine.apply([row('a')])
  expect(await machine.live('transfernft')).toEqual([])
})
