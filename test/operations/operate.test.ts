import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CreatingEndpoint } from '../../src/api/endpoints.ts'
import type { ApiClient } from '../../src/client/api-client.ts'
import { GdnError } from '../../src/core/errors.ts'
import { thisProcess } from '../../src/core/lock-holder.ts'
import { claimOperation } from '../../src/operations/hold.ts'
import { contentOf } from '../../src/operations/reconcile/content.ts'
import { CREATING } from '../helpers/endpoints.ts'
import { gate } from '../helpers/gate.ts'
import { DAWN, type Fault, Machine, OTHER, RECEIVER, REQUESTS, SENDER, Service } from './world.ts'

let machine: Machine
beforeEach(async () => {
  machine = await Machine.start()
})
afterEach(() => machine.stop())

const TO_OTHER = { ...REQUESTS.createnft, receiver_wallet_address: OTHER }
const unknown = expect.objectContaining({ code: 'unknown_outcome', exitCode: 9 })
const printedIds = (tried: Awaited<ReturnType<Machine['command']>>) =>
  tried.printed?.nfts.map(({ nft_gdn_id }) => nft_gdn_id)

describe('the same command again', () => {
  test.each([true, false])('after one that came to its end is a new order (idempotency: %s)', async (idempotency) => {
    const service = new Service(idempotency)
    const first = await machine.command(service, 'createnft')
    const second = await machine.command(service, 'createnft')
    expect([printedIds(first), printedIds(second)]).toEqual([['nft-1'], ['nft-2']])
    expect(second.events).toEqual([])
    expect(new Set(service.arrived.map(({ key }) => key)).size).toBe(2)
  })

  test('goes on with what was accepted and is not at its end, and sends nothing', async () => {
    const service = new Service(true)
    const problem = new GdnError('pending', 'still pending')
    expect(
      (await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem } })).error,
    ).toBe(problem)
    const again = await machine.command(service, 'createnft')
    expect(again).toMatchObject({ error: null, events: [{ type: 'going_on' }] })
    expect(printedIds(again)).toEqual(['nft-1'])
    expect(service.arrived).toHaveLength(1)
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-2'])
  })

  test('started before the other one ended sends nothing', async () => {
    const service = new Service(true)
    const startedAt = machine.now
    await machine.command(service, 'createnft')
    const twin = await machine.command(service, 'createnft', { startedAt })
    expect(twin).toMatchObject({ error: { code: 'run_busy' }, printed: null })
    expect(service.made).toBe(1)
    expect(printedIds(await machine.command(service, 'createnft', { startedAt, again: true }))).toEqual(['nft-2'])
    expect(printedIds(await machine.command(service, 'createnft', { startedAt: machine.now }))).toEqual(['nft-3'])
  })

  test('after the clock was set back sends a new request', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft')
    machine.now -= 30 * 24 * 3_600_000
    const second = await machine.command(service, 'createnft', { startedAt: machine.now })
    expect(printedIds(second)).toEqual(['nft-2'])
  })

  test('after a final failure is a new order', async () => {
    const service = new Service(true)
    const problem = new GdnError('nft_failed', 'the image answers 404')
    await machine.command(service, 'createnft', { ending: { ended: true, state: null, problem } })
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-2'])
  })

  test('with --again is another order while the first is under way, and says what it sets aside', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const again = await machine.command(service, 'createnft', { again: true })
    expect(printedIds(again)).toEqual(['nft-2'])
    expect(again.events).toMatchObject([
      { type: 'set_aside', operation: { accepted: { nfts: [{ nft_gdn_id: 'nft-1' }] } } },
    ])
    expect(await machine.live()).toEqual([])
  })

  test('with --again that is not confirmed sets nothing aside', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const no = () => Promise.reject(new GdnError('not_confirmed', 'nothing was sent'))
    expect((await machine.command(service, 'createnft', { again: true, request: no })).events).toEqual([])
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('neither asks nor uploads again when it goes on or finds out', async () => {
    const service = new Service(true)
    service.faults = ['cut_after', 'cut_after', 'cut_after', 'cut_after', 'cut_after', 'cut_after']
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
    const request = () => Promise.reject(new Error('asked again'))
    expect(await machine.command(service, 'createnft', { request })).toMatchObject({ error: null })
    expect(service.made).toBe(1)
    expect(new Set(service.arrived.map(({ key, body }) => key + body)).size).toBe(1)
  })

  test.each(['createnft', 'createcollection'] as const)(
    '%s on a server of this machine that was emptied orders anew, under the same key',
    async (endpoint) => {
      const first = new Service(true)
      await machine.command(first, endpoint, { ending: { ended: false, state: null, problem: null } })
      const other = new Service(true)
      const again = await machine.command(other, endpoint, { mayForget: true })
      expect(again).toMatchObject({ error: null, events: [{ type: 'forgotten' }] })
      expect(other.arrived).toEqual(first.arrived)
    },
  )

  test('on a server that shows late what it took does not take that for being emptied', async () => {
    const service = new Service(false)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const minted = service.nfts.splice(0)
    const again = await machine.command(service, 'createnft', { mayForget: true })
    expect(again).toMatchObject({ error: null, events: [{ type: 'going_on' }] })
    expect([minted.length, service.arrived.length]).toEqual([1, 1])
  })
})

describe('--operation', () => {
  const ID = '3f9a1c2e-6f0e-4c3b-9a51-2f6f0a1b2c3d'
  const named = { operationId: ID }

  test('repeats an operation that has ended, and sends nothing', async () => {
    const service = new Service(true)
    const first = await machine.command(service, 'createnft', named)
    const second = await machine.command(service, 'createnft', named)
    expect([printedIds(first), printedIds(second)]).toEqual([['nft-1'], ['nft-1']])
    expect(service.arrived).toMatchObject([{ key: ID }])
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-2'])
  })

  test('repeats it from another state directory on a server that creates each reference ID once', async () => {
    const service = new Service(false)
    service.references = true
    const elsewhere = await Machine.start()
    try {
      const first = await machine.command(service, 'createnft', named)
      expect(printedIds(await elsewhere.command(service, 'createnft', named))).toEqual(printedIds(first))
      expect(service.made).toBe(1)
    } finally {
      await elsewhere.stop()
    }
  })

  test('resolves an operation that was set aside with an unknown outcome', async () => {
    const service = new Service(true)
    service.faults = Array.from({ length: 6 }, () => 'cut_after' as const)
    expect((await machine.command(service, 'createnft', named)).error).toEqual(unknown)
    expect(printedIds(await machine.command(service, 'createnft', { again: true }))).toEqual(['nft-2'])
    expect(printedIds(await machine.command(service, 'createnft', named))).toEqual(['nft-1'])
    expect(service.made).toBe(2)
  })

  test('of another request is rejected, and nothing is sent', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', named)
    for (const { error } of [
      await machine.command(service, 'createnft', { ...named, content: TO_OTHER }),
      await machine.command(service, 'createcollection', named),
    ]) {
      expect(error).toMatchObject({ code: 'usage', message: `the operation ${ID} is another request` })
    }
    expect(service.arrived).toHaveLength(1)
  })

  test('with a new ID is rejected while the request has an operation that has not ended', async () => {
    const service = new Service(true)
    const operationId = ID.replace('3', '4')
    await machine.command(service, 'createnft', { operationId, ending: { ended: false, state: null, problem: null } })
    const { error } = await machine.command(service, 'createnft', named)
    expect(error).toMatchObject({ code: 'usage', hint: expect.stringContaining(`--operation ${operationId}`) })
    expect(service.arrived).toHaveLength(1)
  })

  test('of a refused request says that it was refused', async () => {
    const service = new Service(true)
    service.faults = [{ status: 422 }]
    await machine.command(service, 'createnft', named)
    const { error } = await machine.command(service, 'createnft', named)
    expect(error).toMatchObject({ code: 'refused', message: expect.stringContaining(`${ID} was refused`) })
    expect(service.arrived).toHaveLength(1)
  })
})

describe('what became of a request decides what is kept of it', () => {
  test.each<[string, Fault]>([
    ['was never sent', 'not_sent'],
    ...[400, 401, 403, 404, 413, 415, 422].map((status): [string, Fault] => [`was refused with ${status}`, { status }]),
  ])('one that %s is forgotten', async (_what, fault) => {
    const service = new Service(false)
    service.faults = [fault]
    expect((await machine.command(service, 'createnft')).error).not.toEqual(unknown)
    expect(await machine.live()).toEqual([])
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test.each<[string, Fault]>([
    ['was cut', 'cut_after'],
    ['has ids of another number', 'wrong_count'],
    ...[408, 409, 425, 500, 502, 503].map((status): [string, Fault] => [`is a ${status}`, { status, after: true }]),
  ])(
    'one whose answer %s is unknown on a server without idempotency, and found by the next try',
    async (_what, fault) => {
      const service = new Service(false)
      service.faults = [fault]
      const first = await machine.command(service, 'createnft')
      expect(first.error).toEqual(unknown)
      expect(first.printed).toBeNull()
      const second = await machine.command(service, 'createnft')
      expect(second.events.map(({ type }) => type)).toEqual(expect.arrayContaining(['in_doubt', 'found']))
      expect(printedIds(second)).toEqual(['nft-1'])
      expect(service.arrived).toHaveLength(1)
      expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-2'])
    },
  )

  test('an unknown outcome tells what was sent, when, and what to do', async () => {
    const service = new Service(false)
    service.faults = ['cut_after']
    const { error } = await machine.command(service, 'createnft')
    expect(error?.message).toBe(
      'createnft was sent at 2027-01-15T08:00:00Z, but its outcome is unknown: socket hang up',
    )
    expect(error).toMatchObject({
      hint: expect.stringMatching(/same command again.*--again/),
      details: { endpoint: 'createnft', request: { metadata: [DAWN] }, idempotency_key: expect.any(String) },
    })
  })

  test('a rate limit is waited for, and leaves nothing in doubt', async () => {
    const service = new Service(false)
    service.faults = [{ status: 429 }]
    expect(await machine.command(service, 'createnft')).toMatchObject({ error: null })
    expect(service.made).toBe(1)
  })

  test('interrupted before the first byte left, nothing is kept', async () => {
    const stop = new AbortController()
    const service = new Service(true)
    const request = async () => {
      stop.abort(new GdnError('interrupted', 'interrupted'))
      return {}
    }
    const { error } = await machine.command(service, 'transfernft', { request, signal: stop.signal })
    expect(error).toMatchObject({ code: 'interrupted' })
    expect(await machine.live()).toEqual([])
  })
})

describe('looking for what was ordered, where nothing else tells', () => {
  const doubt = async (service: Service, endpoint: CreatingEndpoint, fault: Fault = 'cut_after') => {
    service.faults = [fault]
    expect((await machine.command(service, endpoint)).error).toEqual(unknown)
  }

  test('what never reached the server stays unknown, and is never sent again by itself', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft', 'cut_before')
    for (let time = 0; time < 3; time++) {
      const tried = await machine.command(service, 'createnft')
      expect(tried.error).toEqual(unknown)
      expect(tried.error?.message).toContain('no new NFT of the collection has the requested content')
    }
    expect(service.arrived).toHaveLength(1)
    const again = await machine.command(service, 'createnft', { again: true })
    expect(printedIds(again)).toEqual(['nft-1'])
    expect(again.events).toMatchObject([{ type: 'set_aside', operation: { accepted: null } }])
  })

  test('it looks until 30 s after the sending, for a listing that lags', async () => {
    const service = new Service(false)
    service.hidden.add('nft-1')
    await doubt(service, 'createnft')
    const tried = await machine.command(service, 'createnft')
    expect(tried.error).toEqual(unknown)
    expect(tried.slept).toBeGreaterThan(25_000)
    expect(tried.slept).toBeLessThan(31_000)
    expect((await machine.command(service, 'createnft')).slept).toBe(0)
  })

  test('an NFT of the same content from before is not taken for it', async () => {
    const service = new Service(false)
    service.mint(DAWN, RECEIVER)
    await doubt(service, 'createnft', 'cut_before')
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
    expect(service.made).toBe(1)
  })

  test('an NFT that another order of this machine has is not taken for it', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft', 'cut_before')
    await machine.command(service, 'createnft', { content: 'another command' })
    expect(service.made).toBe(1)
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
  })

  test('does not adopt an NFT that may belong to a batch with an unknown outcome', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    const { error } = await machine.command(service, 'createnft', { contested: new Set([contentOf(DAWN)]) })
    expect(error).toEqual(unknown)
    expect(error?.message).toContain('to a batch whose outcome is unknown too')
  })

  test('more NFTs of its content than were ordered leave it undecided, and are named', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    service.mint(DAWN, RECEIVER)
    const { error } = await machine.command(service, 'createnft')
    expect(error).toEqual(unknown)
    expect(error).toMatchObject({ details: { nft_gdn_ids: ['nft-1', 'nft-2'] } })
    expect(error?.message).toContain('more than were requested')
  })

  test('an owner breaks the tie', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    service.mint(DAWN, OTHER)
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('one that belongs to somebody else by now is undecided, never absent', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    for (const nft of service.nfts) nft.owner = OTHER
    const { error } = await machine.command(service, 'createnft')
    expect(error?.message).toContain('they belong to another wallet now')
  })

  test('one whose owner is not told yet is looked for again, until it is', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    for (const nft of service.nfts) nft.owner = null
    const tried = await machine.command(service, 'createnft')
    expect(tried.error?.message).toContain('their owner is not known yet')
    expect(tried.slept).toBeGreaterThan(25_000)
    for (const nft of service.nfts) nft.owner = RECEIVER
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('a record that is told in full only later is read again within one look', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    let read = 0
    const late = {
      id: 'nft-1',
      metadata: DAWN,
      get owner() {
        return ++read > 1 ? RECEIVER : null
      },
    }
    service.nfts.splice(0, 1, late)
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('an id that the listing tells twice is one NFT', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    service.listedTwice = true
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test.each([SENDER, RECEIVER])('a grant is found with %s, its sender or receiver', async (owner) => {
    const service = new Service(false)
    await doubt(service, 'createnfttrans')
    for (const nft of service.nfts) nft.owner = owner
    expect(printedIds(await machine.command(service, 'createnfttrans'))).toEqual(['nft-1'])
  })

  test('a collection that could not be listed before: what fits may be older', async () => {
    const service = new Service(false)
    service.listable = false
    await doubt(service, 'createnft')
    service.listable = true
    const { error } = await machine.command(service, 'createnft')
    expect(error?.message).toContain('it is not known whether they existed before')
  })

  test('what was set aside unknown counts: one NFT for two orders is undecided, two are one each', async () => {
    const service = new Service(false)
    service.hidden.add('nft-1')
    await doubt(service, 'createnft')
    service.faults = ['cut_after']
    expect((await machine.command(service, 'createnft', { again: true })).error).toEqual(unknown)
    expect((await machine.command(service, 'createnft')).error?.message).toContain('fewer than were requested')
    service.hidden.clear()
    expect(printedIds(await machine.command(service, 'createnft'))).toHaveLength(1)
    expect(service.made).toBe(2)
  })

  test.each([
    ['a grant of the same', 'createnfttrans', {}],
    ['a mint to who owns it now', 'createnft', { content: 'other', request: async () => TO_OTHER }],
  ] as const)('an NFT that %s of unknown outcome may have created is undecided', async (_what, endpoint, options) => {
    const service = new Service(false)
    service.faults = ['cut_before', 'cut_after']
    service.hidden.add('nft-1')
    expect((await machine.command(service, endpoint, options)).error).toEqual(unknown)
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
    service.hidden.clear()
    // The only NFT is of the second command. It was moved since then.
    if (endpoint === 'createnft') for (const nft of service.nfts) nft.owner = OTHER
    const { error } = await machine.command(service, endpoint, options)
    expect(error?.message).toContain('to another command whose outcome is unknown too')
  })

  test('two receivers of the same content each get one NFT', async () => {
    const service = new Service(false)
    service.faults = ['cut_after', 'cut_after']
    const other = { content: 'other', request: async () => TO_OTHER }
    await machine.command(service, 'createnft')
    await machine.command(service, 'createnft', other)
    expect(printedIds(await machine.command(service, 'createnft', other))).toEqual(['nft-2'])
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('looks for a request on a server that did not honor keys when it was sent', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    const updated = new Service(true)
    updated.nfts.push(...service.nfts)
    expect(printedIds(await machine.command(updated, 'createnft'))).toEqual(['nft-1'])
    expect(updated.arrived).toHaveLength(0)
    expect(updated.made).toBe(1)
  })

  test.each(['createcollection', 'transfernft'] as const)(
    'nor is %s sent to one that honors keys only since then',
    async (endpoint) => {
      const service = new Service(false)
      await doubt(service, endpoint)
      const updated = new Service(true)
      expect((await machine.command(updated, endpoint)).error).toEqual(unknown)
      expect(updated.arrived).toHaveLength(0)
    },
  )

  test('a transfer is done when the receiver owns the NFT', async () => {
    const service = new Service(false)
    await doubt(service, 'transfernft')
    const tried = await machine.command(service, 'transfernft')
    expect(tried).toMatchObject({ error: null, printed: { by: 'found', transaction_gdn_id: null } })
    expect(service.arrived).toHaveLength(1)
  })

  test.each([
    [SENDER, 'still belongs to its sender'],
    [OTHER, `belongs to ${OTHER} now`],
    [null, 'the server returns no owner'],
  ])('a transfer of an NFT that belongs to %s stays unknown', async (owner, message) => {
    const service = new Service(false)
    await doubt(service, 'transfernft', 'cut_before')
    service.owner = owner
    const { error } = await machine.command(service, 'transfernft')
    expect(error).toEqual(unknown)
    expect(error?.message).toContain(message)
    expect(service.arrived).toHaveLength(1)
  })

  test('a collection can not be looked up: unknown until --again', async () => {
    const service = new Service(false)
    await doubt(service, 'createcollection')
    const { error } = await machine.command(service, 'createcollection')
    expect(error).toEqual(unknown)
    expect(error).toMatchObject({ hint: expect.stringMatching(/website.*--again/) })
    expect((await machine.command(service, 'createcollection', { again: true })).error).toBeNull()
    expect(service.made).toBe(2)
  })
})

describe('a server that creates each reference ID once', () => {
  const sentBodies = (service: Service) => service.arrived.map(({ body }) => JSON.parse(body))

  test.each(CREATING)('gets the ID of the operation with every sending of %s', async (endpoint) => {
    const service = new Service(true)
    service.references = true
    service.faults = ['cut_after', 'cut_after', 'cut_after', 'cut_after', 'cut_after', 'cut_after']
    // What it is asked before tells that it knows them.
    await machine.command(service, endpoint)
    service.faults = []
    expect(await machine.command(service, endpoint)).toMatchObject({ error: null })
    const bodies = sentBodies(service)
    expect(new Set(service.arrived.map(({ body }) => body)).size).toBe(1)
    expect(service.made).toBe(1)
    const { reference_id, reference_ids = [reference_id] } = bodies[0]
    expect(reference_ids).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
  })

  test('that stops announcing them while an outcome is unknown gets nothing again', async () => {
    const service = new Service(true)
    service.references = true
    service.faults = Array<'cut_after'>(6).fill('cut_after')
    service.onCreated = () => {
      service.references = false
      service.idempotency = false
    }
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
    expect(service.arrived).toHaveLength(1)
    // It still tells what a reference names.
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
    expect(service.made).toBe(1)
  })

  test('needs no keys: an unknown outcome is resolved by the same bytes', async () => {
    const service = new Service(false)
    service.references = true
    service.faults = Array<'cut_after'>(6).fill('cut_after')
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
    expect(service.made).toBe(1)
  })

  test.each([
    ['names another reference ID', { reference_id: 'another' }],
    ['names an NFT of an earlier operation', { nft_gdn_ids: 'nft-1' }],
    ['has an empty ID', { nft_gdn_ids: '' }],
  ])('whose answer %s leaves the outcome unknown', async (_what, odd) => {
    const service = new Service(true)
    service.references = true
    await machine.command(service, 'createnft', {
      content: 'earlier',
      request: async () => ({ ...REQUESTS.createnft, metadata: [{ ...DAWN, title: 'Dusk' }] }),
    })
    service.answers = (json) => ({ ...json, nfts: json.nfts.map((nft) => ({ ...nft, ...odd })) })
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
    service.answers = (json) => json
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-2'])
  })

  test('gets one for each NFT of a request, and another ID with --again', async () => {
    const service = new Service(true)
    service.references = true
    const two = { request: async () => ({ ...REQUESTS.createnft, metadata: [DAWN, DAWN] }) }
    await machine.command(service, 'createnft', two)
    await machine.command(service, 'createnft', { ...two, again: true })
    const ids = sentBodies(service).flatMap(({ reference_ids }) => reference_ids)
    expect(new Set(ids).size).toBe(4)
    expect(ids[1]).toMatch(/^[0-9a-f-]{36}\/2$/)
  })

  test.each(CREATING)(
    'that was restored and still knows the references of %s is asked by them, and sent nothing',
    async (endpoint) => {
      const service = new Service(true)
      service.references = true
      const first = { backend: { id: 'one', incarnation: 'first' } }
      // It answers something before, so that the client knows what it can do.
      const request = async (client: Pick<ApiClient, 'learnIdempotency'>) => {
        await client.learnIdempotency()
        return REQUESTS[endpoint]
      }
      service.faults = ['cut_after', ...Array<Fault>(20).fill('cut_before')]
      expect((await machine.command(service, endpoint, { ...first, asking: request })).error).toEqual(unknown)
      service.faults = []
      service.hidden.add('nft-1')
      const arrived = service.arrived.length
      const tried = await machine.command(service, endpoint, { backend: { id: 'one', incarnation: 'second' } })
      expect(tried).toMatchObject({ error: null, printed: { by: 'found' } })
      expect(service.arrived).toHaveLength(arrived)
      expect(service.made).toBe(1)
    },
  )

  test('a server that does not announce them gets none', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft')
    expect(sentBodies(service)[0]).not.toHaveProperty('reference_ids')
  })
})

describe('two processes', () => {
  test('with the same operation: the second names the first, and sends nothing', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const holder = JSON.stringify(await thisProcess('nft mint'))
    await machine.state((state) => state.write((sql) => sql.run('UPDATE runs SET holder = ?', holder)))
    const { error } = await machine.command(service, 'createnft', { again: true })
    expect(error).toMatchObject({ code: 'run_busy', message: expect.stringContaining('nft mint') })
    await machine.forgetHolders()
    expect(service.arrived).toHaveLength(1)
  })

  test.each(CREATING)(
    'with the same %s: while one is at its prompt, the other asks and sends nothing',
    async (endpoint) => {
      const service = new Service(true)
      const prompt = gate()
      const first = machine.command(service, endpoint, {
        async request() {
          await prompt.pass()
          return REQUESTS[endpoint]
        },
      })
      await prompt.reached
      const request = () => Promise.reject(new Error('asked'))
      for (const again of [false, true]) {
        const { error } = await machine.command(service, endpoint, { again, request })
        expect(error).toMatchObject({ code: 'run_busy' })
      }
      prompt.open()
      expect((await first).error).toBeNull()
      expect({ arrived: service.arrived.length, made: service.made }).toEqual({ arrived: 1, made: 1 })
    },
  )

  test('that start at the same instant: one of them has the operation', async () => {
    await machine.state(async (state) => {
      const name = { origin: 'https://api.test', blockchain: null, contract: null, identity: 'same' }
      const claims = await Promise.allSettled(
        Array.from({ length: 8 }, () =>
          claimOperation(
            state,
            { ...name, kind: 'createcollection' },
            { note: 'a test', signal: new AbortController().signal },
          ),
        ),
      )
      const taken = claims.filter((one) => one.status === 'fulfilled')
      expect(taken).toHaveLength(1)
      for (const one of claims) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'run_busy' })
      for (const { value } of taken) await value.run.release()
    })
  })
})

describe('a backend that was restored from a backup', () => {
  const before = { backend: { id: 'one', incarnation: 'first' } }
  const after = { backend: { id: 'one', incarnation: 'second' } }

  test('gets nothing again whose outcome is unknown: its key may be lost, and the NFT minted', async () => {
    const service = new Service(true)
    service.faults = Array(20).fill('cut_before')
    expect((await machine.command(service, 'createnft', before)).error).toEqual(unknown)
    service.faults = []
    const arrived = service.arrived.length
    expect((await machine.command(service, 'createnft', after)).error).toEqual(unknown)
    expect(service.arrived).toHaveLength(arrived)
    // The same incarnation honors the key.
    expect(await machine.command(service, 'createnft', before)).toMatchObject({ error: null })
    expect(service.arrived).toHaveLength(arrived + 1)
  })

  test('that lost what it accepted is not sent it anew, but --again orders another', async () => {
    const service = new Service(true)
    const pending = { ending: { ended: false, state: null, problem: null } }
    await machine.command(service, 'createnft', { ...before, ...pending })
    const restored = new Service(true)
    const again = await machine.command(restored, 'createnft', after)
    expect(again.error).toEqual(unknown)
    expect(again.events[0]).toMatchObject({ type: 'lost' })
    expect(restored.arrived).toEqual([])
    expect(printedIds(await machine.command(restored, 'createnft', { ...after, again: true }))).toEqual(['nft-1'])
  })

  test('that still knows it goes on with it', async () => {
    const service = new Service(true)
    const pending = { ending: { ended: false, state: null, problem: null } }
    await machine.command(service, 'createnft', { ...before, ...pending })
    const again = await machine.command(service, 'createnft', { ...after, ...pending })
    expect(again).toMatchObject({ error: null, events: [{ type: 'going_on' }] })
    expect(service.arrived).toHaveLength(1)
  })
})

test('an order of one backend is neither sent to another of the same origin nor looked for there', async () => {
  const service = new Service(false)
  service.faults = ['cut_before']
  await machine.command(service, 'createnft', { backend: { id: 'one', incarnation: 'a' } })
  const other = new Service(true)
  const tried = await machine.command(other, 'createnft', { backend: { id: 'two', incarnation: 'b' } })
  expect(tried.error).toMatchObject({ code: 'wrong_backend', exitCode: 2 })
  expect([other.arrived, tried.events]).toEqual([[], []])
})
