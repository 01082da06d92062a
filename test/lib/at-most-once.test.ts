import { randomUUID } from 'node:crypto'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { createClient } from '../../src/lib/create-client.ts'
import type { Client, CollectionRequest, MintRequest, TransferRequest } from '../../src/lib/types.ts'
import { removeCommand } from '../../src/operations/remove-command.ts'
import { SharedDatabase } from '../../src/sqlite/shared-database.ts'
import { listKnownCollections } from '../../src/state/known-collections.ts'
import { openState } from '../../src/state/open-state.ts'
import { commandRuns, pruneRuns } from '../../src/state/runs.ts'
import { API_KEY, CONTRACT, inMemory, OTHER, RECEIVER, REQUESTS, SENDER, Service } from '../operations/world.ts'
import { type Served, serve } from './serve.ts'

const MINT = REQUESTS.createnft as MintRequest
const TRANSFER = REQUESTS.transfernft as TransferRequest

let folder: string
let service: Service
let served: Served
let gdn: Client
const clients: Client[] = []

const connect = (stateDir = join(folder, 'state'), apiVersion?: '1.2'): Client => {
  const client = createClient({ baseUrl: served.url, apiKey: API_KEY, stateDir, apiVersion })
  clients.push(client)
  return client
}

beforeEach(async () => {
  folder = await mkdtemp(join(inMemory, 'gdn-lib-'))
  vi.stubEnv('GDN_PACE_DIR', join(folder, 'pace'))
  service = new Service(true)
  served = await serve(service)
  gdn = connect()
})
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const client of clients.splice(0)) await client.close()
  await served.close()
  await rm(folder, { recursive: true, force: true })
})

/** The operations that `gdn batch list` shows. */
const commands = async () => {
  const state = await openState(join(folder, 'state'))
  try {
    return await state.read(commandRuns)
  } finally {
    state.close()
  }
}

const failure = async (call: Promise<unknown>): Promise<GdnError> => {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (error instanceof GdnError) return error
  throw new Error(`not an error of gdn: ${inspect(error)}`)
}

describe('createCollection()', () => {
  const COLLECTION = REQUESTS.createcollection as CollectionRequest

  test('waits for the address, and returns the same collection for each later call with the key', async () => {
    const first = await gdn.createCollection(COLLECTION, { idempotencyKey: 'spring' })
    expect(first.collection).toMatchObject({ status: 'deployed', contract_address: expect.stringMatching(/^0x/) })
    expect(first.collection.transaction_gdn_id).toEqual(expect.any(String))
    expect(await connect().createCollection(COLLECTION, { idempotencyKey: 'spring' })).toEqual(first)
    expect(served.paths.filter((path) => path === 'createcollection')).toHaveLength(1)
  })

  test('records the collection for the command line, and keeps its address in later calls', async () => {
    const { collection } = await gdn.createCollection(COLLECTION, { idempotencyKey: 'spring' })
    await gdn.createCollection(COLLECTION, { idempotencyKey: 'spring', wait: false })
    const state = await openState(join(folder, 'state'))
    const known = await state.read(listKnownCollections)
    state.close()
    const { transaction_gdn_id, contract_address } = collection
    const { name, blockchain, wallet_address } = COLLECTION
    expect(known).toEqual([
      expect.objectContaining({ transaction_gdn_id, contract_address, name, blockchain, wallet_address }),
    ])
  })

  test('returns the ID alone with wait: false', async () => {
    const { collection } = await gdn.createCollection(COLLECTION, { idempotencyKey: 'spring', wait: false })
    expect(Object.keys(collection).sort()).toEqual(['accepted_date', 'transaction_gdn_id'])
    expect(served.paths).not.toContain('getcollections')
  })

  test('rejects another request with the same key, and names what differs', async () => {
    await gdn.createCollection(COLLECTION, { idempotencyKey: 'spring' })
    const error = await failure(gdn.createCollection({ ...COLLECTION, name: 'Dusk' }, { idempotencyKey: 'spring' }))
    expect(error).toMatchObject({ code: 'idempotency_key_reused', details: { differs: ['name'] } })
  })
})

describe('mint()', () => {
  test('returns the NFTs, and the same ones for each later call with the key', async () => {
    const first = await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    expect(first.nfts).toEqual([expect.objectContaining({ nft_gdn_id: 'nft-1', status: 'deployed', token_id: '1' })])
    expect(await gdn.mint(MINT, { idempotencyKey: 'order-42' })).toEqual(first)
    // Another process, later.
    expect(await connect().mint(MINT, { idempotencyKey: 'order-42' })).toEqual(first)
    expect(service.made).toBe(1)
    const other = await gdn.mint(MINT, { idempotencyKey: 'order-43' })
    expect(other.operationId).not.toBe(first.operationId)
    expect(service.made).toBe(2)
  })

  test('sends an operation ID that follows from the key, so that other machines send the same', async () => {
    service.references = true
    const here = await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    const elsewhere = await connect(join(folder, 'another machine')).mint(MINT, { idempotencyKey: 'order-42' })
    expect(elsewhere.nfts).toEqual(here.nfts)
    expect(service.made).toBe(1)
    expect(here.operationId).toBe('5b548d08-e946-506c-b088-3adbd2005567')
    expect(service.arrived[0]).toMatchObject({ key: here.operationId })
    expect(JSON.parse(service.arrived[0]?.body ?? '')).toMatchObject({ reference_ids: [here.operationId] })
  })

  test('creates for a sender and transfers, if there is one', async () => {
    await gdn.mint(REQUESTS.createnfttrans as MintRequest, { idempotencyKey: 'order-42' })
    expect(served.paths).toContain('createnfttrans')
    expect(served.paths).not.toContain('createnft')
  })

  test('mints once for 20 concurrent calls of two clients, and each gets the NFT', async () => {
    const both = [gdn, connect()]
    const calls = Array.from({ length: 20 }, (_, i) => both[i % 2]?.mint(MINT, { idempotencyKey: 'order-42' }))
    const results = await Promise.all(calls)
    for (const result of results) expect(result).toEqual(results[0])
    expect(service.made).toBe(1)
  })

  test('mints 100 orders of equal content at once', async () => {
    const orders = Array.from({ length: 100 }, (_, i) => `order-${i}`)
    const results = await Promise.all(orders.map((idempotencyKey) => gdn.mint(MINT, { idempotencyKey })))
    expect(new Set(results.map(({ nfts }) => nfts[0]?.nft_gdn_id)).size).toBe(100)
    expect(service.made).toBe(100)
    expect(served.paths.filter((path) => path === '/healthz')).toHaveLength(1)
  })

  test('waits while the server is throttling', async () => {
    service.faults = [{ status: 429 }, 'not_now']
    vi.spyOn(Math, 'random').mockReturnValue(0)
    await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    expect(service.made).toBe(1)
    expect(service.arrived).toHaveLength(3)
  })

  test('is known after the state has forgotten commands', async () => {
    await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    const state = await openState(join(folder, 'state'))
    await state.write((sql) => pruneRuns(sql, Date.now() + 365 * 24 * 3_600_000))
    state.close()
    service.idempotency = false
    await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    expect(service.made).toBe(1)
  })

  test('without waiting, returns when the request is accepted', async () => {
    const { nfts } = await gdn.mint(MINT, { idempotencyKey: 'order-42', wait: false })
    expect(nfts).toEqual([{ nft_gdn_id: 'nft-1', accepted_date: '2026-01-31 12:00:00' }])
    expect(served.paths).not.toContain('getnfts')
  })
})

describe('an idempotency key', () => {
  test.each([
    ['receiver_wallet_address', { ...MINT, receiver_wallet_address: OTHER }],
    ['metadata[0].title', { ...MINT, metadata: [{ title: 'Dusk', description: '', file_fields: [] }] }],
  ])('that stands for another request is rejected, with the name of what differs: %s', async (differs, request) => {
    const { operationId } = await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    const error = await failure(gdn.mint(request as MintRequest, { idempotencyKey: 'order-42' }))
    expect(error).toMatchObject({ code: 'idempotency_key_reused', operationId, details: { differs: [differs] } })
    expect(error.message).toBe(
      `the idempotency key "order-42" was already used for another request, which differs in ${differs}`,
    )
    expect(service.made).toBe(1)
  })

  test('an idempotency key of another server is rejected, with a hint to use another state directory', async () => {
    await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    const other = await serve(new Service(true))
    onTestFinished(() => other.close())
    const client = createClient({ baseUrl: other.url, apiKey: API_KEY, stateDir: join(folder, 'state') })
    clients.push(client)
    const error = await failure(client.mint(MINT, { idempotencyKey: 'order-42' }))
    expect(error).toMatchObject({ code: 'idempotency_key_reused', hint: expect.stringContaining('another stateDir') })
  })

  test('an idempotency key of a mint is rejected for a transfer', async () => {
    await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    const error = await failure(gdn.transfer(TRANSFER, { idempotencyKey: 'order-42' }))
    expect(error.message).toMatch(/differs in endpoint/)
    expect(service.made).toBe(1)
  })

  test('is the same request with addresses in another case', async () => {
    await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    await gdn.mint({ ...MINT, contract_address: CONTRACT.toLowerCase() } as MintRequest, { idempotencyKey: 'order-42' })
    expect(service.made).toBe(1)
  })

  test('an idempotency key that another machine has used for another request is rejected at once, and leaves no record', {
    tags: ['promise'],
  }, async () => {
    const { nfts } = await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    const elsewhere = connect(join(folder, 'another machine'))
    const wrong = { ...MINT, receiver_wallet_address: OTHER } as MintRequest
    expect(await failure(elsewhere.mint(wrong, { idempotencyKey: 'order-42' }))).toMatchObject({
      code: 'idempotency_key_reused',
      message: 'the idempotency key "order-42" was already used for another request on the server',
      operationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect(service.arrived).toHaveLength(2)
    expect((await elsewhere.mint(MINT, { idempotencyKey: 'order-42' })).nfts).toEqual(nfts)
    expect(service.made).toBe(1)
  })

  test('may be used again after the server refused its request', async () => {
    service.faults = [{ status: 422 }]
    const wrong = { ...MINT, receiver_wallet_address: OTHER } as MintRequest
    expect(await failure(gdn.mint(wrong, { idempotencyKey: 'order-42' }))).toMatchObject({ code: 'refused' })
    await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    expect(service.made).toBe(1)
  })

  test.each(['', 'x'.repeat(256), undefined])('must have 1 to 255 characters: %j', async (idempotencyKey) => {
    const error = await failure(gdn.mint(MINT, { idempotencyKey: idempotencyKey as string }))
    const details = [{ field: 'idempotencyKey', message: expect.stringContaining('must be') }]
    expect(error).toMatchObject({ code: 'invalid_input', place: { field: 'idempotencyKey' }, details })
    expect(served.paths).toEqual([])
  })

  test('does not replace reference IDs of the caller silently', async () => {
    const request = { ...MINT, reference_ids: ['mine'] } as unknown as MintRequest
    const error = await failure(gdn.mint(request, { idempotencyKey: 'order-42' }))
    expect(error).toMatchObject({ code: 'invalid_input', place: { field: 'reference_ids' } })
  })

  test('does not belong to metadata with a misspelled field, which would be minted as an extra key', async () => {
    const request = { ...MINT, metadata: { ...[MINT.metadata].flat()[0], atribute: 'x' } } as unknown as MintRequest
    const error = await failure(gdn.mint(request, { idempotencyKey: 'order-43' }))
    expect(error).toMatchObject({
      code: 'invalid_input',
      message: 'metadata.atribute is not a field of metadata: did you mean "attribute"?',
      details: [{ field: 'metadata.atribute' }],
      hint: expect.stringContaining('extra:<key>'),
    })
    expect(served.paths).toEqual([])
  })

  test.each(['\ud800', 'order-\udfff'])('must be well-formed text: %j', async (idempotencyKey) => {
    const error = await failure(gdn.mint(MINT, { idempotencyKey }))
    expect(error).toMatchObject({ code: 'invalid_input', place: { field: 'idempotencyKey' } })
  })

  test('is shown without control characters', async () => {
    await gdn.mint(MINT, { idempotencyKey: '\u001b[2J' })
    const other = { ...MINT, receiver_wallet_address: OTHER } as MintRequest
    const error = await failure(gdn.mint(other, { idempotencyKey: '\u001b[2J' }))
    expect(error.message).toContain('the idempotency key "\\u001b[2J" was already used')
  })

  test('stands for the request of its call, though the caller reuses the objects', async () => {
    const request = structuredClone(MINT)
    const options = { idempotencyKey: '' }
    const calls = [RECEIVER, OTHER].map((receiver, i) => {
      request.receiver_wallet_address = receiver
      request.metadata = [{ title: receiver, description: '', file_fields: [] }]
      options.idempotencyKey = `order-${i}`
      return gdn.mint(request, options)
    })
    const minted = await Promise.all(calls)
    expect(minted.map(({ nfts }) => nfts[0]?.receiver_wallet_address)).toEqual([RECEIVER, OTHER])
    expect(service.made).toBe(2)
  })
})

describe('a call without types', () => {
  test.each([
    ['no options', MINT, undefined],
    ['no request', null, { idempotencyKey: 'order-42' }],
    ['text', 'a request', { idempotencyKey: 'order-42' }],
    ['an unknown option', MINT, { idempotencyKey: 'order-42', timeout: 5000 }],
    ['a timeout in text', MINT, { idempotencyKey: 'order-42', timeoutMs: '5000' }],
    ['a negative timeout', MINT, { idempotencyKey: 'order-42', timeoutMs: -1 }],
  ])('is rejected by an error of gdn: %s', async (_, request, options) => {
    const error = await failure(gdn.mint(request as MintRequest, options as { idempotencyKey: string }))
    expect(error.code).toBe('invalid_input')
    expect(served.paths).toEqual([])
  })

  test('names the key that is missing', async () => {
    const error = await failure(gdn.mint(MINT, { idempotencykey: 'order-42' } as never))
    expect(error.message).toBe('idempotencykey is not an option of this call')
    expect((await failure(gdn.mint(MINT, {} as never))).message).toMatch(/^idempotencyKey must be/)
  })

  test.each([
    ['waitForNfts', () => gdn.waitForNfts('nft-1' as never)],
    ['waitForNfts', () => gdn.waitForNfts([42] as never)],
    ['files', () => gdn.api.files(undefined as never)],
    ['files', () => gdn.api.files({ path: 'dawn.png' } as never)],
  ])('of %s is rejected by an error of gdn', async (_, call) => {
    expect((await failure(call())).code).toBe('invalid_input')
    expect(served.paths).toEqual([])
  })

  test('may have fields that are undefined', async () => {
    const request = { ...MINT, sender_wallet_address: undefined, reference_ids: undefined } as unknown as MintRequest
    await connect(join(folder, 'state'), '1.2').mint(request, { idempotencyKey: 'order-42' })
    expect(served.paths).toContain('createnft')
  })
})

test.each([true, false])(
  'the NFT of another key is not taken for that of this one (idempotency: %s)',
  async (idempotency) => {
    service.idempotency = idempotency
    served.backend = { id: randomUUID(), incarnation: randomUUID() }
    await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    // As from a cache that stored the response for another request.
    service.answers = (json) => ({ ...json, nfts: [{ ...json.nfts[0], nft_gdn_ids: 'nft-1' }] })
    expect(await failure(gdn.mint(MINT, { idempotencyKey: 'order-43' }))).toMatchObject({ code: 'unknown_outcome' })
    service.answers = (json) => json
    const { nfts } = await gdn.mint(MINT, { idempotencyKey: 'order-43' })
    expect(nfts).toEqual([expect.objectContaining({ nft_gdn_id: 'nft-2' })])
    expect(service.made).toBe(2)
  },
)

describe('an unknown outcome', () => {
  test('is an error that says how to go on, and the next call finds what the request did', async () => {
    service.idempotency = false
    service.faults = ['cut_after']
    // The collection shows the NFT only later.
    service.hidden.add('nft-1')
    vi.spyOn(Date, 'now').mockImplementation(clockOf(60_000))
    const error = await failure(gdn.mint(MINT, { idempotencyKey: 'order-42' }))
    expect(error).toMatchObject({
      code: 'unknown_outcome',
      hint: 'Repeat the call with the same idempotency key. The client first determines the outcome of the request.',
      operationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    service.hidden.clear()
    const found = await connect().mint(MINT, { idempotencyKey: 'order-42' })
    expect(found.nfts).toEqual([expect.objectContaining({ nft_gdn_id: 'nft-1', status: 'deployed' })])
    expect(service.made).toBe(1)
  })

  test('is resolved within the call by a server that honors Idempotency-Key', async () => {
    service.faults = ['cut_after']
    await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    expect(service.made).toBe(1)
    expect(service.arrived).toHaveLength(2)
  })

  test('is checked first after the backend was restored from a backup', async () => {
    served.backend = { id: randomUUID(), incarnation: randomUUID() }
    const { nfts } = await gdn.mint(MINT, { idempotencyKey: 'order-42', wait: false })
    served.backend = { ...served.backend, incarnation: randomUUID() }
    served.paths.length = 0
    const later = await connect().mint(MINT, { idempotencyKey: 'order-42', wait: false })
    expect(later.nfts).toEqual(nfts)
    expect(served.paths.filter((path) => path !== '/healthz')).toEqual(['getnfts'])
  })

  test('cannot be told from another mint in a restored state, which is reported', async () => {
    service.idempotency = false
    await gdn.mint(MINT, { idempotencyKey: 'order-1' })
    await gdn.close()
    await cp(join(folder, 'state'), join(folder, 'backup'), { recursive: true })
    await connect().mint(MINT, { idempotencyKey: 'order-2' })
    const restored = connect(join(folder, 'backup'))
    const error = await failure(restored.mint(MINT, { idempotencyKey: 'order-2' }))
    expect(error).toMatchObject({ code: 'seems_minted', details: { nft_gdn_ids: ['nft-2'] } })
    expect(service.made).toBe(2)
  })
})

/** A clock that advances by a time with each look, so that nothing waits for a listing that lags. */
function clockOf(step: number): () => number {
  let now = performance.timeOrigin
  return () => (now += step)
}

describe('waiting', () => {
  const instead = (status: string) => {
    const { request } = service
    service.request = async (asked, killer) => {
      const answer = await request.call(service, asked, killer)
      if (!asked.url.endsWith('getnfts')) return answer
      return { ...answer, body: Buffer.from(Buffer.from(answer.body).toString().replaceAll('deployed', status)) }
    }
  }

  test.each(['failed', 'error'])('for an NFT with the status %s ends with nft_failed', async (status) => {
    const { nfts } = await gdn.mint(MINT, { idempotencyKey: 'order-42' })
    instead(status)
    const error = await failure(gdn.waitForNfts(nfts.map(({ nft_gdn_id }) => nft_gdn_id)))
    expect(error).toMatchObject({ code: 'nft_failed' })
  })

  test('for an ID that a gdn backend does not know ends at once', async () => {
    service.references = true
    expect(await failure(gdn.waitForNfts(['no-such-nft']))).toMatchObject({
      code: 'not_found',
      message: 'the server has no NFT no-such-nft',
    })
  })

  test('for an ID that another server does not know ends with that reason', async () => {
    const error = await failure(gdn.waitForNfts(['no-such-nft'], { timeoutMs: 0 }))
    expect(error).toMatchObject({ code: 'pending', message: expect.stringContaining('the server returns no NFT with') })
  })

  test('ends at the timeout with the code pending, and a later call waits on', async () => {
    instead('initiated')
    const error = await failure(gdn.mint(MINT, { idempotencyKey: 'order-42', timeoutMs: 1 }))
    expect(error).toMatchObject({
      code: 'pending',
      hint: 'Repeat the call with the same idempotency key to keep waiting.',
      details: { nft_gdn_ids: ['nft-1'] },
    })
    expect(error.operationId).toBeDefined()
    expect(await failure(gdn.waitForNfts(['nft-1'], { timeoutMs: 1 }))).toMatchObject({ code: 'pending' })
    service.request = Service.prototype.request
    expect((await gdn.mint(MINT, { idempotencyKey: 'order-42' })).nfts[0]?.status).toBe('deployed')
    expect(service.made).toBe(1)
  })

  const COLLECTION = REQUESTS.createcollection as CollectionRequest
  const calls: [string, (key: string) => Promise<unknown>][] = [
    ['createCollection', (idempotencyKey) => gdn.createCollection(COLLECTION, { idempotencyKey })],
    ['mint', (idempotencyKey) => gdn.mint(MINT, { idempotencyKey })],
    ['transfer', (idempotencyKey) => gdn.transfer(TRANSFER, { idempotencyKey })],
  ]
  describe.each(calls)('of %s() for what was accepted', (_, call) => {
    test.each([
      ['drops its connections', null],
      ['no longer accepts the key', { status: 401, body: '{}' }],
      ['returns a page', { status: 200, body: '<html>' }],
    ])('ends as pending when the server %s, and a later call waits on', async (_, changed) => {
      service.request = async (asked, killer) => {
        const answer = await Service.prototype.request.call(service, asked, killer)
        if (!/get(nfts|transactions|collections)$/.test(asked.url)) return answer
        if (changed === null) throw new Error('dropped')
        return { ...answer, status: changed.status, body: Buffer.from(changed.body) }
      }
      const error = await failure(call('order-42'))
      expect(error).toMatchObject({ code: 'pending', operationId: expect.any(String), details: expect.anything() })
      expect(error.message).toContain("accepted, but the status can't be read: ")
      expect(error.hint).toBe('Repeat the call with the same idempotency key to keep waiting.')
      service.request = Service.prototype.request
      await call('order-42')
      expect(served.paths.filter((path) => /^(create|transfer)/.test(path))).toHaveLength(1)
    })
  })

  test('after a timeout, a later call finds out that the backend was restored without the NFT', async () => {
    served.backend = { id: randomUUID(), incarnation: randomUUID() }
    instead('initiated')
    expect(await failure(gdn.mint(MINT, { idempotencyKey: 'order-42', timeoutMs: 1 }))).toMatchObject({
      code: 'pending',
    })
    served.backend = { ...served.backend, incarnation: randomUUID() }
    service.request = Service.prototype.request
    service.restore()
    const later = await failure(gdn.mint(MINT, { idempotencyKey: 'order-42', timeoutMs: 1 }))
    expect(later).toMatchObject({ code: 'unknown_outcome' })
    expect(service.made).toBe(0)
    expect(await commands()).toMatchObject([{ name: 'order-42', state: 'unknown', isKept: true }])
    await removeCommand(join(folder, 'state'), String(later.operationId))
    expect((await gdn.mint(MINT, { idempotencyKey: 'order-42' })).nfts[0]?.status).toBe('deployed')
    expect(service.made).toBe(1)
    expect(await commands()).toEqual([])
  })

  test('ends with the reason of the signal', async () => {
    instead('initiated')
    const controller = new AbortController()
    served.onRequest = (path) => {
      if (path === 'getnfts') controller.abort(new Error('the visitor left'))
    }
    await expect(gdn.mint(MINT, { idempotencyKey: 'order-42', signal: controller.signal })).rejects.toThrow(
      'the visitor left',
    )
    const aborted = AbortSignal.abort(new Error('too late'))
    await expect(gdn.mint(MINT, { idempotencyKey: 'order-43', signal: aborted })).rejects.toThrow('too late')
    expect(service.made).toBe(1)
  })

  test('for a transfer ends when the receiver owns the NFT', async () => {
    const { transaction } = await gdn.transfer(TRANSFER, { idempotencyKey: 'gift-1' })
    expect(transaction).toMatchObject({ transaction_gdn_id: 'transaction-1', status: 'deployed' })
    await gdn.transfer(TRANSFER, { idempotencyKey: 'gift-1' })
    expect(service.made).toBe(1)
    expect(service.owner).toBe(RECEIVER)
    expect(SENDER).not.toBe(RECEIVER)
  })

  test('for a transfer that was done does not depend on where the NFT has moved since', async () => {
    const first = await gdn.transfer(TRANSFER, { idempotencyKey: 'gift-1' })
    service.owner = SENDER
    expect(await gdn.transfer(TRANSFER, { idempotencyKey: 'gift-1', timeoutMs: 1 })).toEqual(first)
    expect(service.made).toBe(1)
  })
})

test('no error or inspection has the API key', async () => {
  service.faults = [{ status: 422 }]
  const error = await failure(gdn.mint(MINT, { idempotencyKey: 'order-42' }))
  await gdn.mint(MINT, { idempotencyKey: 'order-42' })
  for (const value of [gdn, error]) {
    expect(inspect(value, { depth: 10, showHidden: true })).not.toContain(API_KEY)
    expect(JSON.stringify(value)).not.toContain(API_KEY)
  }
})

test('clients that are closed, and rejected requests, leave no database open', async () => {
  const used = vi.spyOn(SharedDatabase.prototype, 'write')
  const closed = vi.spyOn(SharedDatabase.prototype, 'close')
  for (let i = 0; i < 3; i++) {
    service.faults = [{ status: 422 }]
    expect(await failure(gdn.mint(MINT, { idempotencyKey: `order-${i}` }))).toMatchObject({ code: 'refused' })
    const one = connect()
    await one.mint(MINT, { idempotencyKey: `order-${i}` })
    await one.close()
  }
  await gdn.close()
  for (const database of new Set(used.mock.contexts)) expect(closed.mock.contexts).toContain(database)
})

test('a state directory that was replaced while in use is opened again', async () => {
  await gdn.mint(MINT, { idempotencyKey: 'order-1' })
  await cp(join(folder, 'state'), join(folder, 'copy'), { recursive: true })
  await rm(join(folder, 'state'), { recursive: true })
  await cp(join(folder, 'copy'), join(folder, 'state'), { recursive: true })
  expect(await failure(gdn.mint(MINT, { idempotencyKey: 'order-1' }))).toMatchObject({ code: 'data_dir' })
  expect((await gdn.mint(MINT, { idempotencyKey: 'order-1' })).nfts[0]?.nft_gdn_id).toBe('nft-1')
})
