import { expect, test } from 'vitest'
import { EventForwarder, mergeTargets, parseForwardTarget } from '../../src/cli/commands/local/forwarding.ts'
import { cli } from './harness.ts'

const parse = (raw: string) => parseForwardTarget(raw, '--forward-to')

test.each([
  ['http://localhost:3000/hook', ['*'], 'http://localhost:3000/hook'],
  ['localhost:3000/hook?a=b', ['*'], 'http://localhost:3000/hook?a=b'],
  ['example.test?a=b', ['*'], 'http://example.test/?a=b'],
  ['https://a.test/x=y', ['*'], 'https://a.test/x=y'],
  ['nft.deployed=localhost:3000', ['nft.deployed'], 'http://localhost:3000/'],
  ['nft.deployed,nft.failed=http://a.test/?b=c=d', ['nft.deployed', 'nft.failed'], 'http://a.test/?b=c=d'],
  ['*=http://a.test/', ['*'], 'http://a.test/'],
])('%s forwards %j to %s', (raw, events, url) => {
  expect(parse(raw)).toEqual({ events, url })
})

test.each([
  ['nft.deploied=http://a.test/', 'nft.deployed'],
  ['nft.deployed=', 'is not an http(s) URL'],
  ['nft.deployed=http://user:pw@a.test/', 'is not an http(s) URL'],
  ['nft.deployed=ftp://a.test/', 'is not an http(s) URL'],
  ['=http://a.test/', 'is not an http(s) URL'],
  ['', 'is not an http(s) URL'],
  ['nft.deployed,=http://a.test/', '--forward-to'],
])('rejects %j, and names the flag', async (raw, message) => {
  const { code, stderr } = await cli(['local', 'listen', '--forward-to', raw])
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('--forward-to') })
  expect(stderr).toContain(message)
})

test('rejects events that --event leaves out, before anything is opened', async () => {
  const argv = ['local', 'listen', '--event', 'nft.deployed', '--forward-to', 'nft.failed=http://a.test/']
  const { code, stderr } = await cli(argv)
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('nft.failed is not in --event') })
})

test('posts an event once to a URL that is given several times', () => {
  const targets = [parse('nft.failed=http://a.test/'), parse('nft.failed,nft.deployed=http://a.test/'), parse('b.test')]
  expect(mergeTargets(targets, ['*'])).toEqual([
    { url: 'http://a.test/', events: ['nft.deployed', 'nft.failed'] },
    { url: 'http://b.test/', events: ['*'] },
  ])
})

test('a URL that does not respond does not delay the others, and each gets its events in order', async () => {
  const posted: string[] = []
  const never = new Promise<void>(() => {})
  const targets = [parse('dead.test'), parse('nft.failed=a.test'), parse('b.test')]
  const forwarding = new EventForwarder<{ type: string; id: number }>(
    mergeTargets(targets, ['*']),
    async ({ id }, url) => {
      posted.push(`${new URL(url).host} ${id}`)
      if (url.includes('dead')) await never
    },
  )
  for (let id = 0; id < 8; id++) forwarding.add({ type: id % 2 === 0 ? 'nft.deployed' : 'nft.failed', id })
  const of = (host: string) => posted.filter((line) => line.startsWith(host)).map((line) => Number(line.split(' ')[1]))
  await expect.poll(() => of('b.test')).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  expect(of('a.test')).toEqual([1, 3, 5, 7])
  expect(of('dead.test')).toEqual([0, 1, 2, 3])
})

test('reports what a post threw, such as a full disk at stdout', async () => {
  const forwarding = new EventForwarder<{ type: string }>(mergeTargets([parse('a.test')], ['*']), async () => {
    throw new Error('no space')
  })
  forwarding.add({ type: 'nft.failed' })
  await expect
    .poll(() => {
      try {
        return forwarding.canAdd()
      } catch (error) {
        return String(error)
      }
    })
    .toBe('Error: no space')
})
