/** @module-tag slow */
import { BlockList, isIP } from 'node:net'
import { expect, test } from 'vitest'
import { fileUrlProblem } from '../../src/api/file-url.ts'
import { isPublicAddress } from '../../src/files/address.ts'
import { FetchFailure } from '../../src/files/failure.ts'
import { checkTarget, type FileTarget } from '../../src/files/target.ts'
import { mutate, pick, stopwatch } from '../helpers/mutate.ts'
import { report, seededRandom } from '../helpers/seed.ts'

const CASES = process.env.GDN_SOAK === '1' ? 1_000_000 : 20_000
/** Of one case. */
const HANG_MS = 50

// The same rule from the IANA registries, in a second implementation.
const special = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  special.addSubnet(network, bits, 'ipv4')
}
const specialSix = new BlockList()
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  specialSix.addSubnet(network, bits, 'ipv6')
}
const globalSix = new BlockList()
globalSix.addSubnet('2000::', 3, 'ipv6')

function mayBeFetchedFrom(address: string): boolean {
  if (isIP(address) === 4) return !special.check(address, 'ipv4')
  return globalSix.check(address, 'ipv6') && !specialSix.check(address, 'ipv6')
}

test('never treats an address of a special range as public, compared with a second implementation', () => {
  const { random } = seededRandom('addresses')
  const number = (below: number) => Math.floor(random() * below)
  // Half of the values are near the ends of ranges.
  const edges = [0, 1, 9, 10, 11, 100, 126, 127, 128, 169, 172, 192, 198, 203, 223, 224, 240, 255]
  const octet = () => (random() < 0.5 ? pick(random, edges) : number(256))
  const group = () =>
    pick(random, [
      '0',
      '0',
      'ffff',
      '64',
      'ff9b',
      '2001',
      '2002',
      '3fff',
      'db8',
      'fe80',
      'fc00',
      number(65536).toString(16),
    ])
  const counts = { public: 0, special: 0 }
  for (let i = 0; i < CASES; i++) {
    const four = `${octet()}.${octet()}.${octet()}.${octet()}`
    const six = random() < 0.2 ? `${group()}:${group()}::${four}` : Array.from({ length: 8 }, group).join(':')
    const address = random() < 0.5 ? four : six
    const verdict = isPublicAddress(address)
    counts[verdict ? 'public' : 'special']++
    // Rejecting more is allowed. Other tests show that no plain range is rejected without need.
    if (verdict && !mayBeFetchedFrom(address)) throw new Error(`${address} is taken for public`)
  }
  report({ addresses: CASES, ...counts })
  expect(counts.public).toBeGreaterThan(CASES / 20)
  expect(counts.special).toBeGreaterThan(CASES / 20)
})

const SEEDS = [
  'https://files.example/art.png',
  'http://127.0.0.1/',
  'http://[::ffff:127.0.0.1]/x?y=z#w',
  'http://user:secret@files.example:8080/a/../b',
  'http://0x7f.1/',
  'http://2130706433./',
  'https://xn--nxasmq6b.example/%2e%2e/',
  'http://１２７。０。０。１/',
  'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/1.png',
  'data:image/png;base64,AAAA',
  'file:///etc/passwd',
  'http:\\\\localhost\\',
]

test('any bytes as a URL are either rejected with a reason or lead to a public address', () => {
  const { random } = seededRandom('URLs')
  const counts = { refused: 0, taken: 0, 'refused by the contract': 0 }
  const watch = stopwatch((text: string) => {
    if (fileUrlProblem(text) !== null) counts['refused by the contract']++
    try {
      if (!isSound(checkTarget(text, false))) throw new Error(`${JSON.stringify(text)} is taken`)
      counts.taken++
    } catch (error) {
      if (!(error instanceof FetchFailure)) throw error
      if (!error.isLasting || error.message.length > 600) throw new Error(`odd refusal of ${JSON.stringify(text)}`)
      counts.refused++
    }
  })
  for (let i = 0; i < CASES; i++) watch.time(mutate(random, SEEDS).toString(random() < 0.5 ? 'utf8' : 'latin1'))
  report({ URLs: CASES, ...counts, 'ms of the slowest': watch.again() })
  expect(watch.again()).toBeLessThan(HANG_MS)
  expect(Math.min(counts.taken, counts.refused)).toBeGreaterThan(CASES / 50)
})

function isSound({ url, label }: FileTarget): boolean {
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return (
    /^https?:$/.test(url.protocol) &&
    ['', '80', '443'].includes(url.port) &&
    url.username === '' &&
    url.password === '' &&
    !/(^|\.)localhost\.?$/.test(host) &&
    (isIP(host) === 0 || mayBeFetchedFrom(host)) &&
    label.length < 300
  )
}
