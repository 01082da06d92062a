import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { CreatingEndpoint } from '../../src/api/endpoints.ts'
import type { ApiClient } from '../../src/client/api-client.ts'
import { TransportError } from '../../src/client/transport.ts'
import { GdnError } from '../../src/core/errors.ts'
import { thisProcess } from '../../src/core/lock-holder.ts'
import { claimOperation } from '../../src/operations/leased-run.ts'
import { removeCommand } from '../../src/operations/remove-command.ts'
import { CREATING } from '../helpers/endpoints.ts'
import { gate } from '../helpers/gate.ts'
import { DAWN, type Fault, Killed, Killer, Machine, OTHER, RECEIVER, REQUESTS, SENDER, Service } from './world.ts'

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
  test.each([true, false])('starts a new operation after one that ended (idempotency: %s)', async (idempotency) => {
    const service = new Service(idempotency)
    const first = await machine.command(service, 'createnft')
    const second = await machine.command(service, 'createnft')
    expect([printedIds(first), printedIds(second)]).toEqual([['nft-1'], ['nft-2']])
    expect(second.events).toEqual([])
    expect(new Set(service.arrived.map(({ key }) => key)).size).toBe(2)
  })

  test('resumes an accepted operation that has not ended, and sends nothing', async () => {
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

  test('sends nothing if it was started before the other one ended', async () => {
    const service = new Service(true)
    const startedAt = machine.now
    await machine.command(service, 'createnft')
    const second = await machine.command(service, 'createnft', { startedAt })
    expect(second).toMatchObject({ error: { code: 'run_busy' }, printed: null })
    expect(service.made).toBe(1)
    expect(printedIds(await machine.command(service, 'createnft', { startedAt, again: true }))).toEqual(['nft-2'])
    expect(printedIds(await machine.command(service, 'createnft', { startedAt: machine.now }))).toEqual(['nft-3'])
  })

  test('sends a new request after the clock was set back', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft')
    machine.now -= 30 * 24 * 3_600_000
    const second = await machine.command(service, 'createnft', { startedAt: machine.now })
    expect(printedIds(second)).toEqual(['nft-2'])
  })

  test('starts a new operation after a final failure', async () => {
    const service = new Service(true)
    const problem = new GdnError('nft_failed', 'the image answers 404')
    await machine.command(service, 'createnft', { ending: { ended: true, state: null, problem } })
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-2'])
  })

  test('starts another operation with --again while the first is pending, and reports the one it sets aside', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const again = await machine.command(service, 'createnft', { again: true })
    expect(printedIds(again)).toEqual(['nft-2'])
    expect(again.events).toMatchObject([
      { type: 'set_aside', operation: { accepted: { nfts: [{ nft_gdn_id: 'nft-1' }] } } },
    ])
    expect(await machine.live()).toEqual([])
  })

  test('sets nothing aside with --again if the prompt is declined', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const no = () => Promise.reject(new GdnError('not_confirmed', 'nothing was sent'))
    expect((await machine.command(service, 'createnft', { again: true, request: no })).events).toEqual([])
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('neither prompts nor uploads again when it resumes or resolves an operation', async () => {
    const service = new Service(true)
    service.faults = ['cut_after', 'cut_after', 'cut_after', 'cut_after', 'cut_after', 'cut_after']
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
    const request = () => Promise.reject(new Error('asked again'))
    expect(await machine.command(service, 'createnft', { request })).toMatchObject({ error: null })
    expect(service.made).toBe(1)
    expect(new Set(service.arrived.map(({ key, body }) => key + body)).size).toBe(1)
  })

  test.each(['createnft', 'createcollection'] as const)(
    'repeats %s under the same key on a local server that was emptied',
    async (endpoint) => {
      const first = new Service(true)
      await machine.command(first, endpoint, { ending: { ended: false, state: null, problem: null } })
      const other = new Service(true)
      const again = await machine.command(other, endpoint, { mayForget: true })
      expect(again).toMatchObject({ error: null, events: [{ type: 'forgotten' }] })
      expect(other.arrived).toEqual(first.arrived)
    },
  )

  test('does not treat a server whose listing lags as emptied', async () => {
    const service = new Service(false)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const minted = service.nfts.splice(0)
    const again = await machine.command(service, 'createnft', { mayForget: true })
    expect(again).toMatchObject({ error: null, events: [{ type: 'going_on' }] })
    expect([minted.length, service.arrived.length]).toEqual([1, 1])
  })

  test('does not treat a server as emptied while it does not say whether it honors keys', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const emptied = new Service(true)
    const request = emptied.request.bind(emptied)
    emptied.request = async (sent, killer) => {
      if (sent.url.endsWith('getisgdnnft')) throw new TransportError('socket hang up', true)
      return { ...(await request(sent, killer)), headers: {} }
    }
    const again = await machine.command(emptied, 'createnft', { mayForget: true })
    expect(again).toMatchObject({ error: null, events: [{ type: 'going_on' }] })
    expect(emptied.arrived).toEqual([])
  })
})

describe('a limit of its cost', () => {
  const ID = '3f9a1c2e-6f0e-4c3b-9a51-2f6f0a1b2c3d'
  const named = { operationId: ID }
  const cut: Fault[] = Array(6).fill('cut_before')
  const permitting = (most: bigint | null) =>
    vi.fn(async (run: string) => (most === null ? null : { run, maxCost: { wei: most, isSet: false } }))

  test('goes with each attempt, with the operation as its run', async () => {
    const service = new Service(true)
    service.faults = ['not_now', 'cut_after']
    const permit = permitting(7n)
    expect((await machine.command(service, 'createnft', { ...named, permit })).error).toBe(null)
    expect(service.limits).toEqual(Array(3).fill([ID, '7']))
    expect(permit.mock.calls).toEqual([[ID, null]])
  })

  test('is absent without one, and so is the run', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { permit: permitting(null) })
    await machine.command(service, 'createnft')
    expect(service.limits).toEqual(Array(2).fill([undefined, undefined]))
  })

  test('is permitted again before another process repeats a request with an unknown outcome', async () => {
    const service = new Service(true)
    service.faults = [...cut]
    expect((await machine.command(service, 'createnft', { ...named, permit: permitting(7n) })).error).toEqual(unknown)
    const sent = service.arrived.length
    const refusal = new GdnError('max_cost', 'not permitted')
    const refused = await machine.command(service, 'createnft', { permit: () => Promise.reject(refusal) })
    expect(refused.error).toBe(refusal)
    expect(service.arrived).toHaveLength(sent)
    const permit = permitting(9n)
    expect((await machine.command(service, 'createnft', { permit })).error).toBe(null)
    expect(permit.mock.calls).toEqual([[ID, 7n]])
    expect(service.limits.slice(sent)).toEqual([[ID, '9']])
    expect(service.made).toBe(1)
  })

  test('leaves the operation free to be sent again if fees have risen above it', async () => {
    const service = new Service(true)
    service.faults = ['max_cost']
    const refused = await machine.command(service, 'createnft', { ...named, permit: permitting(7n) })
    expect(refused.error).toMatchObject({ code: 'max_cost', hint: expect.stringMatching(/when fees are lower/) })
    expect(await machine.live()).toEqual([])
    expect((await machine.command(service, 'createnft', { ...named, permit: permitting(8n) })).error).toBe(null)
    expect(service.limits).toEqual([
      [ID, '7'],
      [ID, '8'],
    ])
  })

  test('is not asked for where nothing is sent', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const permit = permitting(7n)
    expect((await machine.command(service, 'createnft', { permit })).events).toMatchObject([{ type: 'going_on' }])
    expect(permit.mock.calls).toEqual([])
  })

  test('is that of the new operation with --again, which sets nothing aside if it is refused', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ...named, ending: { ended: false, state: null, problem: null } })
    const again = { again: true, request: async () => TO_OTHER }
    const refusal = new GdnError('max_cost', 'not permitted')
    const refused = await machine.command(service, 'createnft', { ...again, permit: () => Promise.reject(refusal) })
    expect(refused).toMatchObject({ error: refusal, events: [] })
    const permit = permitting(7n)
    expect((await machine.command(service, 'createnft', { ...again, permit })).error).toBe(null)
    const [[id] = []] = permit.mock.calls
    expect(id).not.toBe(ID)
    expect(permit.mock.calls).toHaveLength(1)
    expect(service.limits.at(-1)).toEqual([id, '7'])
  })
})

describe('--operation', () => {
  const ID = '3f9a1c2e-6f0e-4c3b-9a51-2f6f0a1b2c3d'
  const named = { operationId: ID }

  test('repeats the result of an operation that has ended, and sends nothing', async () => {
    const service = new Service(true)
    const first = await machine.command(service, 'createnft', named)
    const second = await machine.command(service, 'createnft', named)
    expect([printedIds(first), printedIds(second)]).toEqual([['nft-1'], ['nft-1']])
    expect(service.arrived).toMatchObject([{ key: ID }])
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-2'])
  })

  test('repeats the result of an accepted operation whose NFT failed', async () => {
    const service = new Service(true)
    const problem = new GdnError('unexpected', 'the NFT failed')
    await machine.command(service, 'createnft', { ...named, ending: { ended: true, state: 'failed', problem } })
    const again = await machine.command(service, 'createnft', named)
    expect(again).toMatchObject({ error: null, events: [{ type: 'going_on' }] })
    expect(printedIds(again)).toEqual(['nft-1'])
    expect(service.arrived).toHaveLength(1)
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

  describe('that another machine has used for another request', () => {
    const reused = expect.objectContaining({ code: 'idempotency_key_reused', exitCode: 2 })
    const other = { ...named, content: TO_OTHER, request: async () => TO_OTHER }

    test('is rejected at once, and leaves no record', { tags: ['promise'] }, async () => {
      const service = new Service(true)
      const elsewhere = await Machine.start()
      try {
        await elsewhere.command(service, 'createnft', named)
        const wrong = await machine.command(service, 'createnft', other)
        expect(wrong.error).toEqual(reused)
        expect(service.arrived).toHaveLength(2)
        expect(await machine.live()).toEqual([])
        expect(printedIds(await machine.command(service, 'createnft', named))).toEqual(['nft-1'])
      } finally {
        await elsewhere.stop()
      }
    })

    test('leaves an attempt unknown whose outcome was unknown before', { tags: ['promise'] }, async () => {
      const service = new Service(true)
      const elsewhere = await Machine.start()
      try {
        await elsewhere.command(service, 'createnft', named)
        service.faults = ['cut_before']
        for (const arrived of [3, 4]) {
          const doubtful = await machine.command(service, 'createnft', other)
          expect(doubtful.error).toEqual(unknown)
          // The server would return the same response.
          expect(service.arrived).toHaveLength(arrived)
        }
        expect(await machine.live()).toHaveLength(1)
      } finally {
        await elsewhere.stop()
      }
    })
  })

  test('resolves an operation that was set aside with an unknown outcome', async () => {
    const service = new Service(true)
    service.faults = Array.from({ length: 6 }, () => 'cut_after' as const)
    expect((await machine.command(service, 'createnft', named)).error).toEqual(unknown)
    expect(printedIds(await machine.command(service, 'createnft', { again: true }))).toEqual(['nft-2'])
    expect(printedIds(await machine.command(service, 'createnft', named))).toEqual(['nft-1'])
    expect(service.made).toBe(2)
  })

  test('--operation of another request is rejected, and nothing is sent', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', named)
    for (const { error } of [
      await machine.command(service, 'createnft', { ...named, content: TO_OTHER }),
      await machine.command(service, 'createcollection', named),
    ]) {
      expect(error).toMatchObject({ code: 'usage', message: `the operation ${ID} belongs to another request` })
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

  test('--operation of a rejected request reports the rejection', async () => {
    const service = new Service(true)
    service.faults = [{ status: 422 }]
    await machine.command(service, 'createnft', named)
    const { error } = await machine.command(service, 'createnft', named)
    expect(error).toMatchObject({ code: 'refused', message: expect.stringContaining(`${ID} was rejected`) })
    expect(service.arrived).toHaveLength(1)
  })
})

describe('--operation after a response that says nothing about the request', () => {
  test.each([401, 403, 413])('%i sends the request again', async (status) => {
    const service = new Service(true)
    service.faults = [{ status }]
    const named = { operationId: '3f9a1c2e-6f0e-4c3b-9a51-2f6f0a1b2c3d' }
    expect((await machine.command(service, 'createnft', named)).error).not.toBeNull()
    expect(printedIds(await machine.command(service, 'createnft', named))).toEqual(['nft-1'])
    expect(service.arrived).toHaveLength(2)
  })
})

describe('the outcome of a request decides what is stored', () => {
  test.each<[string, Fault]>([
    ['was never sent', 'not_sent'],
    ...[400, 401, 403, 404, 413, 415, 422].map((status): [string, Fault] => [
      `was rejected with ${status}`,
      { status },
    ]),
  ])('forgets a request that %s', async (_what, fault) => {
    const service = new Service(false)
    service.faults = [fault]
    expect((await machine.command(service, 'createnft')).error).not.toEqual(unknown)
    expect(await machine.live()).toEqual([])
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test.each<[string, Fault]>([
    ['was cut', 'cut_after'],
    ['has too few IDs', 'fewer_ids'],
    ['has more IDs than NFTs', 'more_ids'],
    ...[408, 409, 425, 500, 502, 503].map((status): [string, Fault] => [`is a ${status}`, { status, after: true }]),
  ])(
    'stores a request whose response %s as unknown without idempotency, and the next attempt finds it',
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

  test('reports for an unknown outcome what was sent, when, and what to do', async () => {
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

  test('keeps an outcome unknown, with its first reason, if later attempts are not sent', async () => {
    const service = new Service(true)
    const neverSent = Array.from({ length: 10 }, () => 'not_sent' as const)
    service.faults = Array.from({ length: 6 }, () => 'cut_after' as const)
    await machine.command(service, 'createnft')
    service.faults = [...neverSent]
    const { error } = await machine.command(service, 'createnft')
    expect(error).toMatchObject({
      code: 'unknown_outcome',
      message: expect.stringContaining('unknown: socket hang up'),
    })
    expect(await machine.live()).toEqual(['unknown'])
    service.faults = ['not_sent', 'not_sent']
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('treats a request as unknown if its process was killed, also if later attempts are not sent', async () => {
    const service = new Service(true)
    const killer = new Killer()
    service.onCreated = () => {
      killer.killed = true
    }
    expect((await machine.command(service, 'createnft', { killer })).error).toBeInstanceOf(Killed)
    service.onCreated = () => {}
    service.faults = Array.from({ length: 10 }, () => 'not_sent' as const)
    const { error } = await machine.command(service, 'createnft')
    expect(error).toMatchObject({
      code: 'unknown_outcome',
      message: expect.stringContaining('unknown: gdn exited before the response arrived'),
    })
    expect(await machine.live()).toEqual(['unknown'])
    service.faults = []
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
    expect(service.made).toBe(1)
  })

  test('lists the collection before a request only if nothing else can resolve an unknown outcome', async () => {
    for (const idempotency of [true, false]) {
      const service = new Service(idempotency)
      const asked = vi.spyOn(service, 'request')
      await machine.command(service, 'createnft')
      const urls = asked.mock.calls.map(([{ url }]) => url)
      expect(urls.some((url) => url.endsWith('getnftgdnids'))).toBe(!idempotency)
    }
  })

  test('sends nothing to a backend on this machine that could not be identified', async () => {
    const service = new Service(true)
    const silence = new GdnError('unreachable', 'no response to /healthz')
    const backend = { id: null, incarnation: null, silence, isLocal: true }
    expect((await machine.command(service, 'createnft', { backend })).error).toBe(silence)
    expect(service.arrived).toEqual([])
    expect(await machine.live()).toEqual([])
  })

  test('waits for a rate limit, and leaves no unknown outcome', async () => {
    const service = new Service(false)
    service.faults = [{ status: 429 }]
    expect(await machine.command(service, 'createnft')).toMatchObject({ error: null })
    expect(service.made).toBe(1)
  })

  test('stores nothing if it is interrupted before the first byte is sent', async () => {
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

describe('the lookup of an unknown outcome in the collection', () => {
  const doubt = async (service: Service, endpoint: CreatingEndpoint, fault: Fault = 'cut_after') => {
    service.faults = [fault]
    expect((await machine.command(service, endpoint)).error).toEqual(unknown)
  }

  test('leaves a request that never reached the server unknown, and never resends it by itself', async () => {
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

  test('continues until 30 s after the request was sent, for a listing that lags', async () => {
    const service = new Service(false)
    service.hidden.add('nft-1')
    await doubt(service, 'createnft')
    const tried = await machine.command(service, 'createnft')
    expect(tried.error).toEqual(unknown)
    expect(tried.slept).toBeGreaterThan(25_000)
    expect(tried.slept).toBeLessThan(31_000)
    expect((await machine.command(service, 'createnft')).slept).toBe(0)
  })

  test('ignores an older NFT with the same content', async () => {
    const service = new Service(false)
    service.mint(DAWN, RECEIVER)
    await doubt(service, 'createnft', 'cut_before')
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
    expect(service.made).toBe(1)
  })

  test('ignores an NFT that belongs to another operation of this machine', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft', 'cut_before')
    await machine.command(service, 'createnft', { content: 'another command' })
    expect(service.made).toBe(1)
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
  })

  test('ignores an NFT of an operation whose record was removed', async () => {
    const service = new Service(false)
    service.faults = ['cut_before']
    const named = { operationId: '3f9a1c2e-6f0e-4c3b-9a51-2f6f0a1b2c3d' }
    expect((await machine.command(service, 'createnft', named)).error).toEqual(unknown)
    await machine.command(service, 'createnft', { again: true })
    // Lists the collection, and records the NFT of the second operation.
    await machine.command(service, 'createnft', { content: 'other', request: async () => TO_OTHER })
    const [owner] = await machine.state((state) =>
      state.read((sql) => sql.all<{ id: string }>("SELECT operation_id AS id FROM nfts WHERE nft_gdn_id = 'nft-1'")),
    )
    await removeCommand(machine.stateDir, owner?.id ?? '')
    const { error } = await machine.command(service, 'createnft', named)
    expect(error).toEqual(unknown)
    expect(error?.message).toContain('no new NFT of the collection has the requested content')
  })

  test('does not adopt an NFT that may belong to a batch with an unknown outcome', async () => {
    const service = new Service(false)
    service.faults = ['cut_before']
    const row = { operationId: '3f9a1c2e-6f0e-4c3b-9a51-2f6f0a1b2c3d', content: 'a row' }
    expect((await machine.command(service, 'createnft', row)).error).toEqual(unknown)
    // A line makes the operation a row of a run.
    await machine.state((state) =>
      state.write((sql) => sql.run('UPDATE operations SET line = 2 WHERE id = ?', row.operationId)),
    )
    await doubt(service, 'createnft')
    const { error } = await machine.command(service, 'createnft')
    expect(error).toEqual(unknown)
    expect(error?.message).toContain('to a run whose outcome is also unknown')
  })

  test('stays undecided and names the NFTs if more have the content than were requested', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    service.mint(DAWN, RECEIVER)
    const { error } = await machine.command(service, 'createnft')
    expect(error).toEqual(unknown)
    expect(error).toMatchObject({ details: { nft_gdn_ids: ['nft-1', 'nft-2'] } })
    expect(error?.message).toContain('2 NFTs with the same metadata were found, more than the 1 requested')
  })

  test('prefers the NFT with the right owner', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    service.mint(DAWN, OTHER)
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('stays undecided if the NFT belongs to another wallet, and never reports it as absent', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    for (const nft of service.nfts) nft.owner = OTHER
    const { error } = await machine.command(service, 'createnft')
    expect(error?.message).toContain('belongs to another wallet')
  })

  test('continues until the owner of the NFT is known', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    for (const nft of service.nfts) nft.owner = null
    const tried = await machine.command(service, 'createnft')
    expect(tried.error?.message).toContain('its owner is not known yet')
    expect(tried.slept).toBeGreaterThan(25_000)
    for (const nft of service.nfts) nft.owner = RECEIVER
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('reads an incomplete record again within one lookup', async () => {
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

  test('treats an ID that is listed twice as one NFT', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    service.listedTwice = true
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test.each([SENDER, RECEIVER])('finds the NFT of createnfttrans with %s, the sender or receiver', async (owner) => {
    const service = new Service(false)
    await doubt(service, 'createnfttrans')
    for (const nft of service.nfts) nft.owner = owner
    expect(printedIds(await machine.command(service, 'createnfttrans'))).toEqual(['nft-1'])
  })

  test('stays undecided if the collection could not be listed before the request, because the NFT may be older', async () => {
    const service = new Service(false)
    service.listable = false
    await doubt(service, 'createnft')
    service.listable = true
    const { error } = await machine.command(service, 'createnft')
    expect(error?.message).toContain('the collection could not be listed before the request')
  })

  test('counts operations that were set aside, so that two operations need two NFTs', async () => {
    const service = new Service(false)
    service.hidden.add('nft-1')
    await doubt(service, 'createnft')
    service.faults = ['cut_after']
    expect((await machine.command(service, 'createnft', { again: true })).error).toEqual(unknown)
    expect((await machine.command(service, 'createnft')).error?.message).toContain(
      'fewer NFTs with this metadata than were requested',
    )
    service.hidden.clear()
    expect(printedIds(await machine.command(service, 'createnft'))).toHaveLength(1)
    expect(service.made).toBe(2)
  })

  test.each([
    ['createnfttrans of the same content', 'createnfttrans', {}],
    ['a mint to its current owner', 'createnft', { content: 'other', request: async () => TO_OTHER }],
  ] as const)(
    'stays undecided about an NFT that %s with an unknown outcome may have created',
    async (_what, endpoint, options) => {
      const service = new Service(false)
      service.faults = ['cut_before', 'cut_after']
      service.hidden.add('nft-1')
      expect((await machine.command(service, endpoint, options)).error).toEqual(unknown)
      expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
      service.hidden.clear()
      // The only NFT belongs to the second command. It was transferred since.
      if (endpoint === 'createnft') for (const nft of service.nfts) nft.owner = OTHER
      const { error } = await machine.command(service, endpoint, options)
      expect(error?.message).toContain('to another command whose outcome is also unknown')
    },
  )

  test('assigns one NFT to each of two receivers of the same content', async () => {
    const service = new Service(false)
    service.faults = ['cut_after', 'cut_after']
    const other = { content: 'other', request: async () => TO_OTHER }
    await machine.command(service, 'createnft')
    await machine.command(service, 'createnft', other)
    expect(printedIds(await machine.command(service, 'createnft', other))).toEqual(['nft-2'])
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
  })

  test('finds a request on a server that did not honor keys when it was sent', async () => {
    const service = new Service(false)
    await doubt(service, 'createnft')
    const updated = new Service(true)
    updated.nfts.push(...service.nfts)
    expect(printedIds(await machine.command(updated, 'createnft'))).toEqual(['nft-1'])
    expect(updated.arrived).toHaveLength(0)
    expect(updated.made).toBe(1)
  })

  test.each([
    [true, 'Run the same command again later. The command checks the outcome before it sends anything.'],
    [false, "Check whether the collection is in the list on the service's website."],
  ])('suggests repeating an unknown collection if the server honors keys: %s', async (honors, hint) => {
    const service = new Service(honors)
    service.faults = Array.from({ length: 6 }, () => 'cut_after' as const)
    const { error } = await machine.command(service, 'createcollection')
    expect((error as GdnError).hint).toBe(
      `${hint} To send another request and pay for it, regardless of the outcome of this request, add --again.`,
    )
  })

  test.each(['createcollection', 'transfernft'] as const)(
    'does not resend %s to a server that has honored keys only since the first attempt',
    async (endpoint) => {
      const service = new Service(false)
      await doubt(service, endpoint)
      const updated = new Service(true)
      expect((await machine.command(updated, endpoint)).error).toEqual(unknown)
      expect(updated.arrived).toHaveLength(0)
    },
  )

  test('treats a transfer as done if the receiver owns the NFT', async () => {
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
  ])('leaves a transfer of an NFT that belongs to %s unknown', async (owner, message) => {
    const service = new Service(false)
    await doubt(service, 'transfernft', 'cut_before')
    service.owner = owner
    const { error } = await machine.command(service, 'transfernft')
    expect(error).toEqual(unknown)
    expect(error?.message).toContain(message)
    expect(service.arrived).toHaveLength(1)
  })

  test('leaves a collection unknown until --again, because it cannot be looked up', async () => {
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

  test.each(CREATING)('receives the ID of the operation with every attempt of %s', async (endpoint) => {
    const service = new Service(true)
    service.references = true
    service.faults = ['cut_after', 'cut_after', 'cut_after', 'cut_after', 'cut_after', 'cut_after']
    // The earlier response announces reference IDs.
    await machine.command(service, endpoint)
    service.faults = []
    expect(await machine.command(service, endpoint)).toMatchObject({ error: null })
    const bodies = sentBodies(service)
    expect(new Set(service.arrived.map(({ body }) => body)).size).toBe(1)
    expect(service.made).toBe(1)
    const { reference_id, reference_ids = [reference_id] } = bodies[0]
    expect(reference_ids).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)])
  })

  test('receives no retry if it stops announcing reference IDs while an outcome is unknown', async () => {
    const service = new Service(true)
    service.references = true
    service.faults = Array<'cut_after'>(6).fill('cut_after')
    service.onCreated = () => {
      service.references = false
      service.idempotency = false
    }
    expect((await machine.command(service, 'createnft')).error).toEqual(unknown)
    expect(service.arrived).toHaveLength(1)
    // The lookup by reference still works.
    expect(printedIds(await machine.command(service, 'createnft'))).toEqual(['nft-1'])
    expect(service.made).toBe(1)
  })

  test('needs no keys, because the same bytes resolve an unknown outcome', async () => {
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
  ])('leaves the outcome unknown if its response %s', async (_what, odd) => {
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

  test('receives an ID for each NFT of a request, and other IDs with --again', async () => {
    const service = new Service(true)
    service.references = true
    const two = { request: async () => ({ ...REQUESTS.createnft, metadata: [DAWN, DAWN] }) }
    await machine.command(service, 'createnft', two)
    await machine.command(service, 'createnft', { ...two, again: true })
    const ids = sentBodies(service).flatMap(({ reference_ids }) => reference_ids)
    expect(new Set(ids).size).toBe(4)
    expect(ids[1]).toMatch(/^[0-9a-f-]{36}\/2$/)
  })

  // API reference v1.2: the last two name neither the blockchain nor the sender.
  test.each([
    ...CREATING.map((endpoint) => ({ endpoint, version: '1.1', body: REQUESTS[endpoint] })),
    { endpoint: 'transfernft', version: '1.2', body: { ...REQUESTS.transfernft, blockchain: undefined } },
    {
      endpoint: 'createnfttrans',
      version: '1.2',
      body: { ...REQUESTS.createnfttrans, sender_wallet_address: undefined },
    },
  ] as const)(
    'resolves $endpoint of version $version by its references after a restore, and receives nothing again',
    async ({ endpoint, body }) => {
      const service = new Service(true)
      service.references = true
      const first = { backend: { id: 'one', incarnation: 'first' } }
      // The server sends an earlier response, so that the client knows its capabilities.
      const request = async (client: Pick<ApiClient, 'learnCapabilities'>) => {
        await client.learnCapabilities()
        return body
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

  test('receives no reference IDs if it does not announce them', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft')
    expect(sentBodies(service)[0]).not.toHaveProperty('reference_ids')
  })
})

describe('two processes', () => {
  test('with the same operation: the second names the first and sends nothing', async () => {
    const service = new Service(true)
    await machine.command(service, 'createnft', { ending: { ended: false, state: null, problem: null } })
    const holder = JSON.stringify(await thisProcess('nft mint'))
    await machine.state((state) => state.write((sql) => sql.run('UPDATE runs SET holder = ?', holder)))
    const { error } = await machine.command(service, 'createnft', { again: true })
    expect(error).toMatchObject({
      code: 'run_busy',
      message: expect.stringMatching(/working on the same request: .*nft mint/),
    })
    await machine.forgetHolders()
    expect(service.arrived).toHaveLength(1)
  })

  test.each(CREATING)(
    'with the same %s: while one waits at its prompt, the other prompts for nothing and sends nothing',
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

  test('of two processes that start at the same moment, only one gets the operation', async () => {
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

  test('receives no retry of an unknown outcome, because its key may be lost although the NFT was minted', async () => {
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

  test('receives no retry of an operation that it lost, but --again starts another', async () => {
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

  test('resumes an operation that it still has', async () => {
    const service = new Service(true)
    const pending = { ending: { ended: false, state: null, problem: null } }
    await machine.command(service, 'createnft', { ...before, ...pending })
    const again = await machine.command(service, 'createnft', { ...after, ...pending })
    expect(again).toMatchObject({ error: null, events: [{ type: 'going_on' }] })
    expect(service.arrived).toHaveLength(1)
  })
})

test('an operation of one backend is neither sent to another of the same origin nor looked up there', async () => {
  const service = new Service(false)
  service.faults = ['cut_before']
  await machine.command(service, 'createnft', { backend: { id: 'one', incarnation: 'a' } })
  const other = new Service(true)
  const tried = await machine.command(other, 'createnft', { backend: { id: 'two', incarnation: 'b' } })
  expect(tried.error).toMatchObject({ code: 'wrong_backend', exitCode: 2 })
  expect([other.arrived, tried.events]).toEqual([[], []])
})
