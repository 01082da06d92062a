/** @module-tag slow */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parseRateLimitPolicy } from '../../../src/client/announcements.ts'
import { sleep } from '../../../src/core/time.ts'
import { createMemoryLimiter } from '../../../src/server/http/memory-limiter.ts'
import { newApiKey, registerApiKey } from '../../../src/server/services/authenticate.ts'
import { localAccountId } from '../../../src/server/store/accounts.ts'
import { backendForTest, freshDataDir, startTestBackend, type TestBackend, withStore } from '../../helpers/backend.ts'
import { withinASecond } from '../../helpers/within-a-second.ts'

describe('rate limits on', () => {
  let dataDir: Awaited<ReturnType<typeof freshDataDir>>
  let backend: TestBackend
  beforeAll(async () => {
    dataDir = await freshDataDir()
    backend = await startTestBackend(dataDir.path, { rateLimits: true })
  })
  afterAll(async () => {
    await backend?.close()
    await dataDir?.remove()
  })

  /** A separate key for each test, so that no test waits for the rate limit of another. */
  async function freshKey(): Promise<Record<string, string>> {
    const key = newApiKey()
    await withStore(dataDir.path, async ({ db }) => {
      const accountId = (await localAccountId(db)) ?? ''
      await registerApiKey(db, { key, accountId, name: 'test', now: Date.now() })
    })
    return { 'x-api-key': key.reveal() }
  }

  const getNfts = (key: Record<string, string>) => backend.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] }, key)

  it.each(['createnft', 'getnftgdnids', 'getnfts'])(
    'the third %s within a second returns 429 in form A with the time to wait',
    async (name) => {
      const [, second, third] = await withinASecond(async () => {
        const key = await freshKey()
        const answers = []
        for (let i = 0; i < 3; i++) answers.push(await backend.post(`/api/v1/${name}`, {}, key))
        return answers
      })
      expect(second?.status).toBe(name === 'getnfts' ? 422 : 400)
      expect(third?.status).toBe(429)
      expect(third?.json).toEqual({
        error: {
          title: 'Too Many Requests',
          message: expect.stringMatching(/the limit is 2 requests per second for each key: wait 1 s/),
        },
      })
      expect(third?.headers.get('retry-after')).toBe('1')
      expect(third?.headers.get('ratelimit')).toBe(`"${name}";r=0;t=1`)
      expect(third?.headers.get('ratelimit-policy')).toBe(`"${name}";q=2;w=1`)
    },
  )

  it('every response of a limited endpoint reports the remaining quota of the key', async () => {
    const answers = await withinASecond(async () => {
      const key = await freshKey()
      return [await getNfts(key), await getNfts(key)]
    })
    expect(answers.map(({ headers }) => headers.get('ratelimit'))).toEqual(['"getnfts";r=1;t=1', '"getnfts";r=0;t=1'])
  })

  it('the next request after Retry-After is served', async () => {
    const { key, refused } = await withinASecond(async () => {
      const key = await freshKey()
      for (let i = 0; i < 2; i++) await getNfts(key)
      return { key, refused: await getNfts(key) }
    })
    expect(refused.status).toBe(429)
    await sleep(Number(refused.headers.get('retry-after')) * 1000)
    expect((await getNfts(key)).status).toBe(200)
  })

  it('endpoints are counted separately, with or without a trailing slash', async () => {
    const answers = await withinASecond(async () => {
      const key = await freshKey()
      await getNfts(key)
      await backend.post('/api/v1/getnfts/', { nft_gdn_ids: ['x'] }, key)
      return [await getNfts(key), await backend.post('/api/v1/createnft', {}, key)]
    })
    expect(answers.map(({ status }) => status)).toEqual([429, 400])
  })

  it('keys are counted separately', async () => {
    const answers = await withinASecond(async () => {
      const [key, other] = [await freshKey(), await freshKey()]
      for (let i = 0; i < 2; i++) await getNfts(key)
      return [await getNfts(key), await getNfts(other)]
    })
    expect(answers.map(({ status }) => status)).toEqual([429, 200])
  })

  it('wrong keys do not count toward the limit of other keys', async () => {
    const key = await freshKey()
    for (let i = 0; i < 5; i++) expect((await getNfts({ 'x-api-key': 'wrong' })).status).toBe(401)
    expect((await getNfts(key)).status).toBe(200)
  })

  it('endpoints without a limit in the API reference have none', async () => {
    const request = { transaction_gdn_ids: ['x'] }
    const answers = await Promise.all(Array.from({ length: 10 }, () => backend.post('/api/v1/getcollections', request)))
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200))
  })
})

describe('rate limits off', () => {
  it('no request is rejected, and the policy tells clients that there is no quota', async () => {
    const backend = await backendForTest({ rateLimits: false })
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => backend.post('/api/v1/getnfts', { nft_gdn_ids: ['x'] })),
    )
    for (const { status, headers } of answers) {
      expect([status, headers.get('ratelimit'), headers.get('retry-after')]).toEqual([200, null, null])
      const policy = headers.get('ratelimit-policy') ?? undefined
      expect(parseRateLimitPolicy(policy, 'getnfts')).toEqual({ perSecond: null })
    }
  })
})

it('a client never waits for longer than a second, even if the clock is set back', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const count = createMemoryLimiter(2)
    await count('key')
    vi.setSystemTime(Date.now() - 3_600_000)
    expect(await count('key')).toEqual({ allowed: true, remaining: 0, msBeforeNext: 1000 })
    expect(await count('key')).toEqual({ allowed: false, remaining: 0, msBeforeNext: 1000 })
  } finally {
    vi.useRealTimers()
  }
})
