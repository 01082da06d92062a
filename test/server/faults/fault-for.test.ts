import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chooseFaults, describeRule } from '../../../src/server/faults/fault-for.ts'
import { refuseOnPublicNetworks } from '../../../src/server/faults/public-networks.ts'
import { type FaultsFile, faultsFileSchema } from '../../../src/server/faults/schema.ts'

const plan = (file: object): FaultsFile => faultsFileSchema.parse(file)

const struck = (file: FaultsFile, count: number, endpoint: 'createnft' | 'getnfts' = 'createnft') =>
  Array.from({ length: count }, (_, i) => i + 1).filter((n) => chooseFaults(file, endpoint, n).verdict !== null)

const status = (share: number, endpoint: string | string[] = 'createnft') => ({
  endpoint,
  fault: 'status',
  status: 500,
  share,
})

describe('fault rules', () => {
  it('pick the same fault for the n-th request of an endpoint, in any order of requests', () => {
    const rule = fc.record({
      endpoint: fc.constantFrom('*', 'createnft'),
      share: fc.double({ min: 0.01, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(
        fc.integer(),
        fc.array(rule, { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 1e6 }),
        (seed, rules, n) => {
          const file = plan({
            seed,
            faults: rules.map((one, i) =>
              i % 2 ? { ...one, fault: 'latency', milliseconds: [1, 500] } : { ...one, fault: 'timeout' },
            ),
          })
          const first = chooseFaults(file, 'createnft', n)
          for (const other of [1, n + 1, 7]) chooseFaults(file, 'createnft', other)
          expect(chooseFaults(plan(structuredClone(file)), 'createnft', n)).toEqual(first)
        },
      ),
    )
  })

  it('pick the same requests for seed 1 on every machine and in every version', () => {
    expect(struck(plan({ seed: 1, faults: [status(0.2)] }), 30)).toMatchInlineSnapshot(`
      [
        3,
        15,
        16,
        19,
        21,
        30,
      ]
    `)
  })

  it('pick different requests for another seed and another endpoint', () => {
    const base = struck(plan({ seed: 1, faults: [status(0.5, '*')] }), 200)
    expect(struck(plan({ seed: 2, faults: [status(0.5, '*')] }), 200)).not.toEqual(base)
    expect(struck(plan({ seed: 1, faults: [status(0.5, '*')] }), 200, 'getnfts')).not.toEqual(base)
  })

  it.each([0.01, 0.1, 0.5, 0.9])('pick about a share of %d of all requests', (share) => {
    const hits = struck(plan({ seed: 7, faults: [status(share)] }), 5000).length / 5000
    expect(Math.abs(hits - share)).toBeLessThan(0.03)
  })

  it('pick all requests for a share of 1, and none of other endpoints', () => {
    const file = plan({ faults: [status(1)] })
    expect(struck(file, 50)).toHaveLength(50)
    expect(struck(file, 50, 'getnfts')).toHaveLength(0)
    expect(struck(plan({ faults: [status(1, ['createnft', 'getnfts'])] }), 50, 'getnfts')).toHaveLength(50)
  })

  it('inject the first matching fault, plus the sum of all latencies', () => {
    const file = plan({
      faults: [
        { endpoint: '*', fault: 'latency', milliseconds: 100 },
        { endpoint: '*', fault: 'timeout' },
        { endpoint: '*', fault: 'status', status: 503 },
        { endpoint: '*', fault: 'latency', milliseconds: [10, 20] },
      ],
    })
    const { delayMs, verdict } = chooseFaults(file, 'createnft', 1)
    expect(verdict?.fault).toBe('timeout')
    expect(delayMs).toBeGreaterThanOrEqual(110)
    expect(delayMs).toBeLessThanOrEqual(120)
  })

  it('spread latencies over their range', () => {
    const file = plan({ faults: [{ endpoint: '*', fault: 'latency', milliseconds: [100, 200] }] })
    const delays = Array.from({ length: 500 }, (_, n) => chooseFaults(file, 'getnfts', n).delayMs)
    expect(Math.min(...delays)).toBeLessThan(105)
    expect(Math.max(...delays)).toBeGreaterThan(195)
    expect(delays.every((ms) => ms >= 100 && ms <= 200)).toBe(true)
  })

  it('apply an NFT fault for all endpoints only to those that create NFTs', () => {
    const file = plan({ faults: [{ endpoint: '*', fault: 'nft', becomes: 'failed' }] })
    expect(struck(file, 10)).toHaveLength(10)
    expect(struck(file, 10, 'getnfts')).toHaveLength(0)
  })

  it('are described as sentences', () => {
    const { faults } = plan({
      faults: [
        { endpoint: '*', fault: 'latency', milliseconds: [5, 9], share: 0.125 },
        { endpoint: 'createnft', fault: 'cut', when: 'after', share: 0.1 },
        { endpoint: ['createnft', 'createnfttrans'], fault: 'nft', becomes: 'initiated' },
      ],
    })
    expect(faults.map(describeRule)).toEqual([
      '12.5 % of all requests are delayed by 5 to 9 ms',
      '10 % of createnft requests lose their connection after they are accepted',
      '100 % of createnft and createnfttrans requests create NFTs that stay initiated',
    ])
  })
})

it('rejects fault injection on a public network', () => {
  expect(() => refuseOnPublicNetworks({ embedded: false })).toThrow(/public network/)
  expect(() => refuseOnPublicNetworks({ embedded: true })).not.toThrow()
})
