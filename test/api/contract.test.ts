import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { isBlockchain, isEvm, isKnownBlockchain } from '../../src/api/blockchains.ts'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { errorFormASchema, errorFormBSchema } from '../../src/api/errors.ts'
import { PERMISSIONS } from '../../src/api/permissions.ts'
import { validate } from '../../src/api/validate.ts'
import { API_VERSIONS, inVersion } from '../../src/api/versions.ts'
import { CREATING, ENDPOINTS } from '../helpers/endpoints.ts'

// API reference v1.1, Blockchain identifiers: value, transfer, create and transfer. Creating works everywhere.
const REFERENCE = `
polygon yes
polygon-mumbai yes
astar yes
astar-shiden yes
astar-shibuya yes
avalanche yes
avalanche-fuji yes
optimism yes
optimism-goerli yes
fantom yes
fantom-testnet yes
solana unsupported
solana-testnet unsupported
bnb-mainnet yes
bnb-testnet yes`
  .trim()
  .split('\n')
  .map((line) => line.split(' ') as [string, 'yes' | 'unsupported'])

const EVM_WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const SOLANA_WALLET = '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM'
const METADATA = { title: 't', description: '', file_fields: [] }
const all: [string, Endpoint][] = Object.entries(ENDPOINTS)

describe('blockchains', () => {
  it.each(REFERENCE)('%s: transfer is %s', (name, support) => {
    if (!isKnownBlockchain(name)) throw new Error(`${name} is missing`)
    const wallet = isEvm(name) ? EVM_WALLET : SOLANA_WALLET
    const parties = {
      contract_address: wallet,
      blockchain: name,
      sender_wallet_address: wallet,
      receiver_wallet_address: wallet,
    }
    const requests = [
      [
        ENDPOINTS.createnft.request,
        { contract_address: wallet, blockchain: name, receiver_wallet_address: wallet, metadata: METADATA },
        true,
      ],
      [
        ENDPOINTS.createcollection.request,
        { wallet_address: wallet, blockchain: name, name: 'n', description: 'd', image: 'https://example.com/i' },
        true,
      ],
      [ENDPOINTS.createnfttrans.request, { ...parties, metadata: METADATA }, support === 'yes'],
      [ENDPOINTS.transfernft.request, { ...parties, token_id: '1', nft_gdn_id: 'x' }, support === 'yes'],
    ] as const
    for (const [schema, request, taken] of requests) {
      const result = validate(schema as z.ZodType, request)
      expect(result.ok).toBe(taken)
      if (!result.ok)
        expect(result.issues.map((issue) => [issue.field, issue.message])).toEqual([
          ['blockchain', 'transfers are unsupported on Solana'],
        ])
    }
  })

  it.each([
    '',
    'Polygon',
    'polygon ',
    '__proto__',
    'toString',
    'a',
    '-a',
    'a-',
    'a b',
    'solana-devnet',
    'solanachain',
    'a'.repeat(41),
  ])('rejects %j as a blockchain', (name) => {
    expect(isBlockchain(name)).toBe(false)
  })
})

describe('every endpoint', () => {
  it('every endpoint of the reference exists, and no other is marked as part of the reference', () => {
    const ofReference = all.filter(([, { origin }]) => origin === 'reference')
    expect(ofReference.map(([name]) => name).sort()).toEqual(
      [
        'createcollection',
        'createnft',
        'createnfttrans',
        'getisgdnnft',
        'getnftgdnids',
        'getnfts',
        'getpresignedurl',
        'transfernft',
      ].sort(),
    )
  })

  it('has a contract file with its name, and every contract file has an endpoint', async () => {
    const contractFiles = await readdir(new URL('../../src/api/endpoints', import.meta.url))
    expect(contractFiles.sort()).toEqual(all.map(([name]) => `${name}.ts`).sort())
  })

  it.each(all)('%s has the path for its name, and permissions that exist', (name, { name: own, path, permissions }) => {
    expect([own, path]).toEqual([name, `/api/v1/${name}`])
    expect(permissions.length).toBeGreaterThan(0)
    for (const permission of permissions) expect(PERMISSIONS).toContain(permission)
  })

  it.each(all)('%s has valid examples in every version', (_name, endpoint) => {
    for (const { request, response, example } of API_VERSIONS.map((version) => inVersion(endpoint, version))) {
      expect(validate(request, example.request)).toMatchObject({ ok: true })
      expect(validate(response, example.response)).toMatchObject({ ok: true })
    }
  })

  // API reference v1.2, Differences from v1.1 in short.
  it('differs in version 1.2 as its reference says, and accepts there what version 1.1 accepts', () => {
    const changed = all.filter(([, { v12 }]) => Object.keys(v12).length > 0)
    expect(Object.fromEntries(changed.map(([name, { v12 }]) => [name, Object.keys(v12).sort()]))).toEqual({
      creatednft: ['origin'],
      createnfttrans: ['example', 'request'],
      getcollections: ['origin'],
      getnfts: ['validationStatus'],
      transfernft: ['example', 'request'],
      updatednft: ['origin'],
    })
    for (const [, endpoint] of changed) {
      const { request } = inVersion(endpoint, '1.2')
      expect(validate(request, endpoint.example.request)).toEqual(validate(endpoint.request, endpoint.example.request))
    }
  })

  it('has the rate limit of the reference: 2 requests per second on three of them', () => {
    const limited = all.filter(([, { ratePerSecond }]) => ratePerSecond !== null)
    expect(Object.fromEntries(limited.map(([name, { ratePerSecond }]) => [name, ratePerSecond]))).toEqual({
      createnft: 2,
      getnftgdnids: 2,
      getnfts: 2,
    })
  })

  it('returns the status and error form of the reference for an invalid request', () => {
    const of = (pick: (endpoint: Endpoint) => boolean) =>
      all
        .filter(([, endpoint]) => pick(endpoint))
        .map(([name]) => name)
        .sort()
    expect(of(({ validationStatus }) => validationStatus === 422)).toEqual(['getisgdnnft', 'getnfts'])
    expect(of(({ errorForm }) => errorForm === 'B')).toEqual(['getpresignedurl'])
  })

  it('is marked as creating if the reference creates something there, and no other is', () => {
    const creating = CREATING.filter((name) => ENDPOINTS[name].origin === 'reference')
    expect(creating.sort()).toEqual(['createcollection', 'createnft', 'createnfttrans', 'transfernft'].sort())
  })

  it.each(CREATING)('%s: the example response proves what was accepted', (name) => {
    const { creates, request, response, example } = ENDPOINTS[name]
    const sent = validate<z.ZodType>(request, example.request)
    const answered = validate<z.ZodType>(response, example.response)
    if (!sent.ok || !answered.ok) throw new Error('the examples are not valid')
    expect(creates.problem(sent.value, answered.value)).toBe(null)
    const { nfts, transaction_gdn_id } = creates.accepted(answered.value)
    expect(nfts.length > 0).toBe(creates.transactionsFrom === null)
    expect(transaction_gdn_id === null).toBe(creates.transactionsFrom === null)
  })

  it.each(['createnft', 'createnfttrans'] as const)(
    '%s: a response without an ID for each NFT proves nothing',
    (name) => {
      const { creates } = ENDPOINTS[name]
      const problem = (...ids: string[]) =>
        creates.problem(
          { metadata: [METADATA, METADATA] },
          { nfts: ids.map((id) => ({ nft_gdn_ids: id, accepted_date: '2026-01-31 12:00:00' })) },
        )
      expect(problem('a', 'b')).toBe(null)
      expect(problem('a')).toBe('1 IDs for 2 NFTs')
      expect(problem('a', 'a')).toBe('the same ID for several NFTs')
    },
  )

  it('createnfttrans needs the permissions to create and to transfer', () => {
    expect(ENDPOINTS.createnfttrans.permissions).toEqual(['nft:create', 'nft:transfer'])
  })

  it.each(all.filter(([name]) => name !== 'files'))(
    '%s names an unknown field in its error',
    (_name, { request, example }) => {
      const result = validate(request, { ...(example.request as object), surprise: 1 })
      expect(result).toMatchObject({ ok: false, issues: [{ field: 'surprise', message: 'is not a known field' }] })
    },
  )
})

describe('a response may have fields that the contract does not know', () => {
  it.each(all)('%s', (_name, { response, example }) => {
    const more = { ...(example.response as object), newer: { field: true } }
    expect(validate(response, more)).toEqual({ ok: true, value: more })
  })
})

describe('unusual spellings of the reference', () => {
  it('getnfts returns nft_gdn_id for a record that has nft_gdn_ids', () => {
    const record = { nft_gdn_ids: 'a', token_id: null, status: 'initiated', request_metadata: {}, metadata_url: null }
    const response = { requests: { nft_gdn_ids: ['a'] }, nfts: [record, null] }
    const { response: schema } = ENDPOINTS.getnfts
    expect(validate(schema, { ...response, nfts: [record] })).toMatchObject({
      ok: true,
      value: { nfts: [{ nft_gdn_id: 'a', status: 'initiated' }] },
    })
    expect(validate(schema, response)).toMatchObject({ ok: false, issues: [{ field: 'nfts[1]' }] })
  })

  const parse = (endpoint: Endpoint, change: object) =>
    validate(endpoint.request, { ...(endpoint.example.request as object), ...change })

  it('transfernft accepts token_id and tokenid, and returns token_id', () => {
    const { token_id, ...rest } = ENDPOINTS.transfernft.example.request as Record<string, unknown>
    const expected = validate(ENDPOINTS.transfernft.request, { ...rest, token_id })
    expect(expected.ok).toBe(true)
    expect(validate(ENDPOINTS.transfernft.request, { ...rest, tokenid: token_id })).toEqual(expected)
    expect(validate(ENDPOINTS.transfernft.request, { ...rest, tokenid: '1', token_id: '2' }).ok).toBe(false)
  })

  it.each(['createnft', 'createnfttrans'] as const)(
    '%s accepts one metadata object or a list, and returns a list',
    (name) => {
      const one = parse(ENDPOINTS[name], { metadata: METADATA })
      expect(one).toMatchObject({ ok: true, value: { metadata: [METADATA] } })
      expect(parse(ENDPOINTS[name], { metadata: [METADATA] })).toEqual(one)
    },
  )

  it('getisgdnnft accepts one ID as a string or as a list of one', () => {
    for (const ids of ['x', ['x']]) {
      expect(parse(ENDPOINTS.getisgdnnft, { nft_gdn_ids: ids })).toMatchObject({
        ok: true,
        value: { nft_gdn_ids: ['x'] },
      })
    }
    const several = parse(ENDPOINTS.getisgdnnft, { nft_gdn_ids: ['x', 'y'] })
    expect(several).toMatchObject({
      ok: false,
      issues: [{ field: 'nft_gdn_ids', message: 'must have at most 1 entries' }],
    })
  })

  it.each([['x'], [['x']]])('getisgdnnft accepts a response whose echoed nft_gdn_id is %j', (echoed) => {
    const { response, example } = ENDPOINTS.getisgdnnft
    const answer = { ...example.response, requests: { ...example.response.requests, nft_gdn_id: echoed } }
    expect(response.safeParse(answer).success).toBe(true)
  })

  it.each(['getcollections', 'gettransactions'] as const)(
    '%s accepts one ID as a string, and up to 1000 in a list',
    (name) => {
      expect(parse(ENDPOINTS[name], { transaction_gdn_ids: 'x' })).toMatchObject({
        ok: true,
        value: { transaction_gdn_ids: ['x'] },
      })
      expect(parse(ENDPOINTS[name], { transaction_gdn_ids: Array(1000).fill('x') }).ok).toBe(true)
      expect(parse(ENDPOINTS[name], { transaction_gdn_ids: Array(1001).fill('x') }).ok).toBe(false)
    },
  )

  it('accepts a token ID only as a string, because a number above 2^53 would lose digits', () => {
    const big = String(2n ** 256n - 1n)
    expect(parse(ENDPOINTS.transfernft, { token_id: big })).toMatchObject({ ok: true, value: { token_id: big } })
    for (const bad of [1, 2 ** 53, '-0', '01', '1e3', '0x10', ' 1', '９', '']) {
      expect([bad, parse(ENDPOINTS.transfernft, { token_id: bad }).ok]).toEqual([bad, false])
    }
  })
})

describe('createcollection', () => {
  const request = (change: object) =>
    validate(ENDPOINTS.createcollection.request, {
      wallet_address: EVM_WALLET,
      name: 'n',
      blockchain: 'polygon',
      ...change,
    })

  it('requires description and image on Solana, and only there', () => {
    expect(request({}).ok).toBe(true)
    const solana = request({ blockchain: 'solana', wallet_address: SOLANA_WALLET })
    expect(solana).toMatchObject({
      ok: false,
      issues: [
        { field: 'description', message: 'is required on Solana' },
        { field: 'image', message: 'is required on Solana' },
      ],
    })
  })

  it.each([501, 10_000])('rejects a name of %i characters, and accepts one of 500', (length) => {
    expect(request({ name: 'n'.repeat(length) }).ok).toBe(false)
    expect(request({ name: 'n'.repeat(500) }).ok).toBe(true)
  })
})

describe('getpresignedurl', () => {
  it.each([
    [1, true],
    [10_080, true],
    [0, false],
    [10_081, false],
    [1.5, false],
    ['60', false],
    [-0, false],
    [Number.NaN, false],
    [Number.POSITIVE_INFINITY, false],
    [undefined, true],
  ])('a timeout of %s minutes is legal: %s', (timeout, legal) => {
    expect(validate(ENDPOINTS.getpresignedurl.request, { email: 'a@example.com', timeout }).ok).toBe(legal)
  })

  it('reports the limit that the value exceeds', () => {
    const result = validate(ENDPOINTS.getpresignedurl.request, { email: 'a@example.com', timeout: 10_081 })
    expect(result).toMatchObject({
      ok: false,
      issues: [{ field: 'timeout', message: 'must be at most 10080', limit: 10_080 }],
    })
  })
})

describe('error forms', () => {
  it('A is {error: {title, message}}, B is {errorCode, message, detail}', () => {
    const detail = [{ loc: ['body', 'timeout'], msg: 'm', type: 't', ctx: { limit_value: 10_080 } }]
    expect(errorFormASchema.safeParse({ error: { title: 't', message: 'm' } }).success).toBe(true)
    expect(errorFormBSchema.safeParse({ errorCode: 'VALIDATION_ERROR', message: 'm', detail }).success).toBe(true)
    expect(errorFormASchema.safeParse({ errorCode: 'x', message: 'm', detail: [] }).success).toBe(false)
    expect(errorFormBSchema.safeParse({ error: { title: 't', message: 'm' } }).success).toBe(false)
  })

  it('every request schema can be converted to JSON Schema, from which the documentation is generated', () => {
    for (const [name, { request }] of all) {
      expect([name, typeof z.toJSONSchema(request, { io: 'input', unrepresentable: 'any' })]).toEqual([name, 'object'])
    }
  })
})
