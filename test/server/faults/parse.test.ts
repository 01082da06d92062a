import { describe, expect, it } from 'vitest'
import { parseYaml } from '../../../src/api/parse-yaml.ts'
import { formatPlace, GdnError } from '../../../src/core/errors.ts'
import { faultsFileSchema } from '../../../src/server/faults/schema.ts'

const parseFaults = (text: string, file: string) => parseYaml(faultsFileSchema, text, file)

function refusalOf(text: string): string {
  try {
    parseFaults(text, 'faults.yaml')
  } catch (error) {
    if (!(error instanceof GdnError)) throw error
    expect(error.code).toBe('invalid_config')
    expect(error.exitCode).toBe(2)
    return `${error.place === undefined ? '' : formatPlace(error.place)} ${error.message}`
  }
  return 'taken'
}

const one = (...lines: string[]) => `faults:\n  - ${lines.join('\n    ')}\n`

describe('a fault injection file', () => {
  it('contains a seed and rules, each for one, several or all endpoints', () => {
    const text = `
seed: 42
faults:
  - { endpoint: '*', fault: latency, milliseconds: [100, 2000], share: 0.5 }
  - endpoint: [createnft, getnfts]
    fault: status
    status: 429
    retry_after: 3
    share: 0.1
  - { endpoint: createnft, fault: timeout, share: 0.02 }
  - { endpoint: createnft, fault: cut, when: after }
  - { endpoint: createnft, fault: nft, becomes: failed, reason: 'no such file' }
`
    expect(parseFaults(text, 'f')).toEqual({
      seed: 42,
      faults: [
        { endpoint: '*', fault: 'latency', milliseconds: [100, 2000], share: 0.5 },
        { endpoint: ['createnft', 'getnfts'], fault: 'status', status: 429, retry_after: 3, share: 0.1 },
        { endpoint: 'createnft', fault: 'timeout', share: 0.02 },
        { endpoint: 'createnft', fault: 'cut', when: 'after', share: 1 },
        { endpoint: 'createnft', fault: 'nft', becomes: 'failed', reason: 'no such file', share: 1 },
      ],
    })
  })

  it('may be JSON', () => {
    const rule = { endpoint: 'getnfts', fault: 'timeout' }
    expect(parseFaults(JSON.stringify({ faults: [rule] }), 'f')).toEqual({ seed: 1, faults: [{ ...rule, share: 1 }] })
  })

  it.each([
    [
      'an unknown endpoint',
      one('endpoint: createnfts', 'fault: timeout'),
      /faults\.yaml:2:15 \(faults\[0\]\.endpoint\) must be \*, an endpoint/,
    ],
    [
      'an unknown fault',
      one('endpoint: "*"', 'fault: explode'),
      /faults\.yaml:3:12 \(faults\[0\]\.fault\) must be one of latency/,
    ],
    ['no fault', one('endpoint: "*"'), /faults\.yaml:2:5 \(faults\[0\]\.fault\) must be one of latency/],
    [
      'a share above 1',
      one('endpoint: "*"', 'fault: timeout', 'share: 10'),
      /:4:12 \(faults\[0\]\.share\) must be at most 1/,
    ],
    ['a share of 0', one('endpoint: "*"', 'fault: timeout', 'share: 0'), /share\) must be above 0/],
    ['a share in percent', one('endpoint: "*"', 'fault: timeout', 'share: 10%'), /share\) must be a number/],
    ['an unsupported status', one('endpoint: "*"', 'fault: status', 'status: 404'), /:4:13 .*must be 429, 500 or 503/],
    ['a reversed range', one('endpoint: "*"', 'fault: latency', 'milliseconds: [9, 1]'), /milliseconds\) must be/],
    [
      'a negative latency',
      one('endpoint: "*"', 'fault: latency', 'milliseconds: -1'),
      /:4:19 .*milliseconds\) must not be negative/,
    ],
    [
      'a field of another fault',
      one('endpoint: "*"', 'fault: timeout', 'status: 500'),
      /:4:5 \(faults\[0\]\.status\) is not a known field/,
    ],
    ['an unknown field at the top', 'faulty: []\nfaults: []', /faults\.yaml/],
    ['no rule', 'faults: []', /faults\.yaml:1:9 \(faults\) must have at least one fault/],
    ['an empty file', '', /faults\.yaml the file is empty/],
    ['a list', '- 1', /faults\.yaml:1:1 must be an object/],
    [
      'an NFT fault for an endpoint that creates none',
      one('endpoint: getnfts', 'fault: nft', 'becomes: failed'),
      /endpoint\) must be one of createnft, creatednft, createnfttrans, since getnfts creates no NFTs/,
    ],
    [
      'a reason for NFTs that do not fail',
      one('endpoint: createnft', 'fault: nft', 'becomes: initiated', 'reason: x'),
      /:5:13 .*reason\) is allowed only/,
    ],
    ['broken YAML', 'faults:\n  - {', /faults\.yaml:\d+:\d+ the file is not valid YAML/],
    [
      'a key twice',
      'seed: 1\nseed: 2\nfaults: []',
      /faults\.yaml:2:1 the file is not valid YAML: the key "seed" is repeated/,
    ],
    ['aliases', 'a: &a [1]\nfaults: *a', /aliases/],
  ])('is rejected for %s, with the location', (_what, text, message) => {
    expect(refusalOf(text)).toMatch(message)
  })

  it('is rejected with all of its errors at once', () => {
    const text = one('endpoint: nowhere', 'fault: status', 'status: 1')
    const caught = (() => {
      try {
        return parseFaults(text, 'f')
      } catch (error) {
        return error
      }
    })()
    const { issues } = (caught as GdnError).details as { issues: unknown[] }
    expect(issues).toHaveLength(2)
  })
})
