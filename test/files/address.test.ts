import { once } from 'node:events'
import net from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isCloudMetadata, isPublicAddress } from '../../src/files/address.ts'
import { createCheckedLookup, PrivateAddressError, type Resolve } from '../../src/files/lookup.ts'

// The special-purpose registries of IANA (RFC 6890 and later), with both ends of each range.
test.each([
  ['0.0.0.0', 'unspecified'],
  ['0.255.255.255', 'this network'],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['100.64.0.0', 'shared by carriers'],
  ['100.127.255.255', 'shared by carriers'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['169.254.0.1', 'link-local'],
  ['169.254.169.254', 'metadata of clouds'],
  ['172.16.0.0', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.1', 'protocol assignments'],
  ['192.0.2.1', 'documentation'],
  ['192.88.99.1', '6to4 relay'],
  ['192.168.0.0', 'private'],
  ['192.168.255.255', 'private'],
  ['198.18.0.1', 'benchmarking'],
  ['198.19.255.255', 'benchmarking'],
  ['198.51.100.7', 'documentation'],
  ['203.0.113.9', 'documentation'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::127.0.0.1', 'IPv4-compatible'],
  ['::93.184.215.14', 'IPv4-compatible, of a public address'],
  ['::ffff:127.0.0.1', 'IPv4-mapped'],
  ['::ffff:93.184.215.14', 'IPv4-mapped, of a public address'],
  ['::ffff:0:127.0.0.1', 'IPv4-translated'],
  ['64:ff9b::7f00:1', 'NAT64'],
  ['64:ff9b:1::7f00:1', 'local NAT64'],
  ['100::1', 'discard'],
  ['2001::1', 'Teredo'],
  ['2001:2::1', 'benchmarking'],
  ['2001:10::1', 'ORCHID'],
  ['2001:20::1', 'ORCHID v2'],
  ['2001:db8::1', 'documentation'],
  ['3fff::1', 'documentation'],
  ['2002:7f00:1::', '6to4'],
  ['4000::1', 'assigned to nobody'],
  ['5f00::1', 'segment routing'],
  ['fc00::1', 'unique local'],
  ['fdff:ffff::1', 'unique local'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local with a zone'],
  ['2606:4700::1%eth0', 'with a zone'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['', 'nothing'],
  ['files.example', 'a name'],
])('%s is not public (%s)', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each([
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:830::200e',
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test.each([
  ['Azure', '168.63.129.16'],
  ['Azure, mapped to IPv6', '::ffff:168.63.129.16'],
  ['Azure, mapped in hex', '::ffff:a83f:8110'],
  ['Azure, by NAT64', '64:ff9b::a83f:8110'],
  ['Azure, by local NAT64', '64:ff9b:1::a83f:8110'],
  ['Azure, translated', '::ffff:0:168.63.129.16'],
  ['Azure, by 6to4', '2002:a83f:8110::1'],
  ['AWS, GCP, Azure, Oracle Cloud and DigitalOcean', '169.254.169.254'],
  ['AWS over IPv6', 'fd00:ec2::254'],
  ['AWS ECS', '169.254.170.2'],
  ['AWS EKS', '169.254.170.23'],
  ['GCP over IPv6', 'fd20:ce::254'],
  ['Oracle Cloud', '192.0.0.192'],
  ['Alibaba Cloud', '100.100.100.200'],
  ['Tencent Cloud', '169.254.0.23'],
  ['Scaleway', '169.254.42.42'],
  ['Scaleway over IPv6', 'fd00:42::42'],
  ['AWS, as an IPv4-compatible address', '::a9fe:a9fe'],
])('rejects the metadata service of %s, even if private addresses are allowed', async (_cloud, address) => {
  expect([isPublicAddress(address), isCloudMetadata(address)]).toEqual([false, true])
  const lookup = createCheckedLookup(async () => [{ address, family: 4 }], true)
  const error = await new Promise((resolve) => lookup('metadata.google.internal', {}, (failure) => resolve(failure)))
  expect(error).toBeInstanceOf(PrivateAddressError)
})

test.each(['metadata.google.internal', '1.1.1.1', '2606:4700::1111'])('%s is not a metadata service', (host) => {
  expect(isCloudMetadata(host)).toBe(false)
})

describe('the lookup of a socket', () => {
  let canary: net.Server
  let reached = 0
  let port = 0

  beforeEach(async () => {
    reached = 0
    canary = net.createServer((socket) => {
      reached++
      socket.destroy()
    })
    canary.listen(0, '127.0.0.1')
    await once(canary, 'listening')
    const address = canary.address()
    port = typeof address === 'object' && address !== null ? address.port : 0
  })

  afterEach(async () => {
    await new Promise((done) => canary.close(done))
  })

  const answering =
    (...addresses: string[]): Resolve =>
    async () =>
      addresses.map((address) => ({ address, family: net.isIP(address) }))

  async function connect(resolve: Resolve, allowPrivate: boolean, autoSelectFamily: boolean): Promise<string> {
    const lookup = createCheckedLookup(resolve, allowPrivate)
    const socket = net.connect({ host: 'files.example', port, lookup, autoSelectFamily })
    const outcome = await new Promise<string>((settle) => {
      socket.once('connect', () => settle('connected'))
      socket.once('error', (error) => settle(error.name))
    })
    socket.destroy()
    return outcome
  }

  test.each([
    [['127.0.0.1']],
    [['93.184.215.14', '127.0.0.1']],
    [['::1', '2606:4700:4700::1111']],
    [['::ffff:127.0.0.1']],
  ])('refuses to connect to %j', async (addresses) => {
    for (const auto of [true, false]) {
      expect(await connect(answering(...addresses), false, auto)).toBe('PrivateAddressError')
    }
    expect(reached).toBe(0)
  })

  test('connects if private addresses are allowed', async () => {
    expect(await connect(answering('127.0.0.1'), true, true)).toBe('connected')
    expect(await connect(answering('127.0.0.1'), true, false)).toBe('connected')
  })

  test('reports a host without an address', async () => {
    expect(await connect(answering(), true, true)).toBe('Error')
    expect(reached).toBe(0)
  })
})
