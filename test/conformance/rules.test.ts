/** @module-tag slow */
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { withinASecond } from '../helpers/within-a-second.ts'
import { type Collection, formA, metadataOf, NON_EMPTY, startService, walletsOn } from './service.ts'

const { artist, first, second } = walletsOn('polygon')

/** A request body for every operation of the reference, given a collection. */
const OPERATIONS = {
  createnft: (where: Collection) => ({ ...where, receiver_wallet_address: first, metadata: [metadataOf('One')] }),
  transfernft: (where: Collection) => ({
    ...where,
    token_id: '1',
    nft_gdn_id: 'unknown',
    sender_wallet_address: first,
    receiver_wallet_address: second,
  }),
  createnfttrans: (where: Collection) => ({
    ...where,
    sender_wallet_address: first,
    receiver_wallet_address: second,
    metadata: [metadataOf('One')],
  }),
  getnftgdnids: ({ contract_address, blockchain }: Collection) => ({
    contract_addresses: contract_address,
    blockchain,
  }),
  getnfts: () => ({ nft_gdn_ids: ['unknown'] }),
  getisgdnnft: () => ({ receiver_wallet_address: first, blockchain: 'polygon', nft_gdn_ids: ['unknown'] }),
  createcollection: () => ({ wallet_address: artist, name: 'One', blockchain: 'polygon' }),
}

type Operation = keyof typeof OPERATIONS
const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[]

const PERMISSION = {
  createnft: 'nft:create',
  transfernft: 'nft:transfer',
  createnfttrans: 'nft:create',
  getnftgdnids: 'nft:read',
  getnfts: 'nft:read',
  getisgdnnft: 'nft:read',
  createcollection: 'collection:create',
} as const

const service = startService()
let where: Collection
beforeAll(async () => {
  where = await service.collection()
})

const ids = async () => (await service.ask('getnftgdnids', OPERATIONS.getnftgdnids(where))).nft_gdn_ids

describe('authentication', () => {
  it.each(OPERATION_NAMES)('rejects %s without the key', async (name) => {
    const before = await ids()
    for (const key of ['', 'wrong', `${service.apiKey()}0`]) {
      const { status, json } = await service.post(name, OPERATIONS[name](where), { 'x-api-key': key })
      expect(status).toBe(401)
      expect(json).toEqual(formA())
    }
    expect(await ids()).toEqual(before)
  })

  it.each(OPERATION_NAMES)('rejects %s if the key was issued without its permission', async (name) => {
    const before = await ids()
    const all = ['collection:create', 'nft:create', 'nft:transfer', 'nft:read', 'wallet:create'] as const
    const key = await service.keyFor(all.filter((permission) => permission !== PERMISSION[name]))
    const { status, json } = await service.post(name, OPERATIONS[name](where), key)
    expect(status).toBe(403)
    expect(json).toEqual(formA())
    expect(await ids()).toEqual(before)
  })

  it('allows only the functions that the key has permission for', async () => {
    const key = await service.keyFor(['collection:create'])
    expect(await service.post('createcollection', OPERATIONS.createcollection(), key)).toMatchObject({ status: 200 })
    expect(await service.post('getnfts', OPERATIONS.getnfts(), key)).toMatchObject({ status: 403 })
  })

  it('ignores the case of the header x-api-key', async () => {
    const headers = { 'x-api-key': '', 'X-API-KEY': service.apiKey() }
    expect(await service.post('getnfts', OPERATIONS.getnfts(), headers)).toMatchObject({ status: 200 })
  })

  it('reads the key only from the header, not from the query or the body', async () => {
    const none = { 'x-api-key': '' }
    const body = { ...OPERATIONS.getnfts(), 'x-api-key': service.apiKey() }
    const path = `/api/v1/getnfts?x-api-key=${service.apiKey()}`
    expect(await service.post(path, body, none)).toMatchObject({ status: 401 })
  })
})

describe('responses', () => {
  it('are JSON, also for errors', async () => {
    for (const name of OPERATION_NAMES) {
      for (const body of [OPERATIONS[name](where), {}, '{']) {
        const { headers, json } = await service.post(name, body)
        expect(headers.get('content-type')).toMatch(/^application\/json\b/)
        expect(json).toBeTypeOf('object')
      }
    }
  })

  it.each(OPERATION_NAMES)('show by the HTTP status whether %s succeeded', async (name) => {
    const { status, json } = await service.post(name, OPERATIONS[name](where))
    expect({ status, failed: 'error' in json }).toEqual(
      name === 'transfernft' ? { status: 400, failed: true } : { status: 200, failed: false },
    )
  })

  it.each(OPERATION_NAMES)('%s accepts only POST', async (name) => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(`${service.url()}/api/v1/${name}`, {
        method,
        headers: { 'x-api-key': service.apiKey(), 'content-type': 'application/json' },
        body: method === 'GET' ? null : JSON.stringify(OPERATIONS[name](where)),
      })
      expect(response.ok).toBe(false)
      expect(await response.json()).toEqual(formA())
    }
  })

  it('contain an acceptance timestamp and an identifier on success, not the final on-chain result', async () => {
    const { nfts } = await service.ask('createnft', OPERATIONS.createnft(where))
    expect(Object.keys(nfts[0]).sort()).toEqual(['accepted_date', 'nft_gdn_ids'])
  })

  it('contain as accepted_date the time at which the request was accepted', async () => {
    const since = Math.floor(Date.now() / 1000) * 1000
    const { response } = await service.ask('createcollection', OPERATIONS.createcollection())
    const accepted = Date.parse(`${response.accepted_date.replace(' ', 'T')}Z`)
    expect(accepted).toBeGreaterThanOrEqual(since)
    expect(accepted).toBeLessThanOrEqual(Date.now())
  })
})

describe('versioning', () => {
  it.each(['/getnfts', '/api/getnfts', '/api/v2/getnfts', '/v1/getnfts'])(
    'is part of the path: %s returns 404',
    async (path) => {
      const { status, json } = await service.post(path, OPERATIONS.getnfts())
      expect({ status, json }).toEqual({ status: 404, json: formA() })
    },
  )
})

describe('limits in requests per second', () => {
  const limited = startService({ rateLimits: true })

  const second = async (name: Operation, count: number) => {
    // The key is new, so that no other request counts in the same second.
    const key = await limited.keyFor(['nft:create', 'nft:transfer', 'nft:read', 'collection:create'])
    const body = OPERATIONS[name]({ contract_address: first, blockchain: 'polygon' })
    const send = () => limited.post(name, body, key)
    return { answers: await Promise.all(Array.from({ length: count }, send)), send }
  }

  it.each(['createnft', 'getnftgdnids', 'getnfts'] as const)('is 2 for POST /api/v1/%s', async (name) => {
    const { answers, send } = await withinASecond(() => second(name, 6))
    const over = answers.filter(({ status }) => status === 429)
    expect(over).toHaveLength(4)
    for (const { json } of over) expect(json).toEqual(formA(NON_EMPTY, NON_EMPTY))
    // Time is the condition: the limit applies to a second.
    await sleep(1100)
    expect((await Promise.all([send(), send()])).map(({ status }) => status)).not.toContain(429)
  })

  it('is separate for each operation', async () => {
    const key = await limited.keyFor(['nft:read'])
    const reads = ['getnfts', 'getnfts', 'getnftgdnids', 'getnftgdnids'] as const
    const answers = reads.map((name) =>
      limited.post(name, OPERATIONS[name]({ contract_address: first, blockchain: 'polygon' }), key),
    )
    expect((await Promise.all(answers)).map(({ status }) => status)).not.toContain(429)
  })
})
