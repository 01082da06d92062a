/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Place } from '../../../src/core/errors.ts'
import { ALICE, BOB } from '../../helpers/addresses.ts'
import { type EnsStandIn, startEnsNode } from '../../helpers/ens-node.ts'
import { folder, service, TARGET } from '../batch/drop.ts'
import { fakeApi } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'

const CAROL = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const POLYGON = '2147483785'
const RECORDS = {
  'alice.eth': { [POLYGON]: ALICE },
  'al1ce.eth': { [POLYGON]: CAROL },
  'ally.eth': { [POLYGON]: ALICE },
  'bob.eth': { [POLYGON]: BOB },
  'zero.eth': { [POLYGON]: `0x${'0'.repeat(40)}` },
  'mainnet.eth': { 60: ALICE },
} as const

let node: EnsStandIn
let path: (name: string) => string
let options: CliOptions

beforeAll(async () => {
  node = await startEnsNode(RECORDS)
})
afterAll(() => node.close())

beforeEach(async () => {
  const workFolder = await folder({})
  path = workFolder.path
  options = { ...workFolder.options, env: { ...workFolder.options.env, GDN_ENS_RPC_URL: node.url } }
  node.records = { ...RECORDS }
  node.asked.length = 0
})

const gdn = (argv: string[], more: CliOptions = {}) => cli(argv, { ...options, ...more })
const withoutNode = (): CliOptions => ({ env: { ...options.env, GDN_ENS_RPC_URL: '' } })
const OFFLINE = ['--dry-run', '--no-lookup', '--base-url', 'http://127.0.0.1:9']

/** Mints files at one API, and returns the receivers of all rows that it got. */
async function minter() {
  const api = await fakeApi(service())
  const mint = (argv: string[], more: CliOptions = {}) =>
    gdn(['batch', 'mint', ...argv, ...TARGET, '--rate', '1000', '--yes', '--base-url', api.url], more)
  const sent = () =>
    (api.bodies('createnft') as { receiver_wallet_address: string; metadata: { title: string }[] }[]).flatMap(
      ({ receiver_wallet_address: receiver, metadata }) => metadata.map(({ title }) => `${title} ${receiver}`),
    )
  return { mint, sent, url: api.url }
}

const rows = (...lines: string[]) => writeFile(path('drop.csv'), `title,description,receiver\n${lines.join('\n')}\n`)
const withIds = (...lines: string[]) =>
  writeFile(path('drop.csv'), `id,title,description,receiver\n${lines.join('\n')}\n`)

/** Writes a row for a list, and the list. */
async function list(...lines: string[]): Promise<string[]> {
  await writeFile(path('row.json'), JSON.stringify({ title: 'Dawn', description: 'x' }))
  await writeFile(path('to.csv'), `${lines.join('\n')}\n`)
  return [path('row.json'), '--to', path('to.csv')]
}

/** Returns the problems of a rejected manifest as `line:column message`. */
function issuesOf(refused: Awaited<ReturnType<typeof cli>>): string[] {
  expect(refused.code).toBe(2)
  const { issues } = errorOf(refused).details as { issues: { place: Place; message: string }[] }
  return issues.map(({ place: { line, column }, message }) => `${line}:${column} ${message}`)
}

describe('reading', () => {
  test.each<[string, string, string, string[]]>([
    ['a CSV column', 'drop.csv', 'title,description,receiver\nA,x,Alice.ETH\nB,x,bob.eth\n', []],
    [
      'JSON rows',
      'drop.json',
      JSON.stringify([
        { title: 'A', description: 'x', receiver: 'alice.eth' },
        { title: 'B', description: 'x', receiver: 'bob.eth' },
      ]),
      [],
    ],
  ])('takes ENS names from %s and prints each once before anything is sent', async (_, name, text) => {
    await writeFile(path(name), text)
    const { mint, sent } = await minter()
    const minted = await mint([path(name)])
    expect(minted.code, minted.stderr).toBe(0)
    expect(sent().sort()).toEqual([`A ${ALICE}`, `B ${BOB}`])
    expect(minted.stderr.match(/alice\.eth → 0xd1E64/g)).toHaveLength(1)
    expect(minted.stderr).toContain(`bob.eth → ${BOB}`)
  })

  test('takes an ENS name as the receiver of a complete request', async () => {
    const metadata = [{ title: 'A', description: 'x', file_fields: [] }]
    await writeFile(path('request.json'), JSON.stringify({ receiver_wallet_address: 'alice.eth', metadata }))
    const { mint, sent } = await minter()
    expect(await mint([path('request.json')])).toMatchObject({ code: 0 })
    expect(sent()).toEqual([`A ${ALICE}`])
  })

  test.each([
    [
      '--receiver',
      'title,description\nA,x\nB,x\n',
      ['--receiver', 'nobody.eth'],
      '--receiver: nobody.eth does not exist',
    ],
    [
      'a complete request',
      JSON.stringify({
        receiver_wallet_address: 'nobody.eth',
        metadata: [{ title: 'A', description: 'x', file_fields: [] }],
      }),
      [],
      'drop.json:1 (receiver_wallet_address): nobody.eth does not exist',
    ],
  ])('reports a name of %s that has no address once', async (where, text, flags, message) => {
    const file = path(where === '--receiver' ? 'drop.csv' : 'drop.json')
    await writeFile(file, text)
    const refused = await gdn(['batch', 'mint', file, ...flags, ...TARGET, ...OFFLINE])
    expect(refused.code).toBe(5)
    expect(refused.stderr).toContain(message)
  })

  test('takes names that begin with 0x, in rows and lists', async () => {
    node.records = { ...RECORDS, '0xalice.eth': RECORDS['alice.eth'] }
    const { mint, sent } = await minter()
    await rows('A,x,0xalice.eth')
    expect(await mint([path('drop.csv')])).toMatchObject({ code: 0 })
    expect(await mint([...(await list('0xalice.eth'))])).toMatchObject({ code: 0 })
    expect(sent()).toEqual([`A ${ALICE}`, `Dawn ${ALICE}`])
  })

  test('reports a JSON receiver that would be an escaped cell of a CSV file', async () => {
    await writeFile(path('drop.json'), JSON.stringify([{ title: 'A', description: 'x', receiver: "'-alice.eth" }]))
    const refused = await gdn(['batch', 'validate', path('drop.json'), '-b', 'polygon'])
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('is not a valid ENS name')])
  })

  test('takes the names of a list, which needs no header', async () => {
    const { mint, sent } = await minter()
    expect(await mint(await list('alice.eth', BOB))).toMatchObject({ code: 0 })
    expect(sent().sort()).toEqual([`Dawn ${ALICE}`, `Dawn ${BOB}`])
  })

  test.each([
    ['validate', ['batch', 'validate']],
    ['preview', ['batch', 'preview']],
    ['cost', ['cost']],
  ])('%s resolves the names of rows', async (command, argv) => {
    await rows('A,x,alice.eth')
    const found = await gdn([...argv, path('drop.csv'), '-b', 'polygon', '--base-url', 'http://127.0.0.1:9'])
    // Without a server, no fees are known.
    expect(found.code, found.stderr).toBe(command === 'cost' ? 6 : 0)
    expect(found.stderr).toContain(`alice.eth → ${ALICE}`)
  })

  test('reports every name without an address with its line and column, and sends nothing', async () => {
    await rows('A,x,nobody.eth', 'B,x,alice.eth', 'C,x,zero.eth', 'D,x,mainnet.eth', 'E,x,a..eth')
    const refused = await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, ...OFFLINE])
    expect(refused.code).toBe(2)
    for (const text of [
      ':2:3 (receiver): nobody.eth does not exist',
      ':4:3 (receiver): zero.eth resolves to the zero address',
      ':5:3 (receiver): mainnet.eth has an address for Ethereum only',
      ':6:3 (receiver): "a..eth" is not a valid ENS name',
    ])
      expect(refused.stderr).toContain(text)
  })

  test('rejects a name on Solana as a problem of its row', async () => {
    await rows('A,x,alice.eth')
    const refused = await gdn(['batch', 'validate', path('drop.csv'), '-b', 'solana'])
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(':2:3 (receiver): alice.eth is an ENS name'),
    })
  })

  test('names the setting of the node if none is configured', async () => {
    await rows('A,x,alice.eth', 'B,x,bob.eth')
    const refused = await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, ...OFFLINE], withoutNode())
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain('GDN_ENS_RPC_URL')
  })

  test('reports names without a node in their rows, next to all other problems', async () => {
    await writeFile(path('drop.csv'), `title,description,receiver\n,x,${ALICE}\nB,x,alice.eth\nC,x,bob.eth\nD,x,0x12\n`)
    const argv = ['batch', 'validate', path('drop.csv'), '-b', 'polygon', '--json']
    expect(issuesOf(await gdn(argv, withoutNode()))).toEqual([
      '2:1 title is required',
      '3:3 alice.eth is an ENS name, and no Ethereum node is configured to resolve it',
      '4:3 bob.eth is an ENS name, and no Ethereum node is configured to resolve it',
      expect.stringMatching(/^5:3 receiver must have 40 hex digits/),
    ])
    const listed = await list('receiver', BOB, 'alice.eth', '0x12')
    const mint = ['batch', 'mint', ...listed, ...TARGET, ...OFFLINE, '--json']
    expect(issuesOf(await gdn(mint, withoutNode()))).toEqual([
      '3:1 alice.eth is an ENS name, and no Ethereum node is configured to resolve it',
      expect.stringMatching(/^4:1 receiver must have 40 hex digits/),
    ])
  })

  test('needs no node for a manifest without names', async () => {
    await rows(`A,x,${ALICE}`)
    const planned = await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, ...OFFLINE])
    expect(planned.code, planned.stderr).toBe(0)
    expect(node.asked).toEqual([])
  })

  test('prints 20 names and counts the others', async () => {
    const names = Array.from({ length: 23 }, (_, n) => `guest${n}a.eth`)
    node.records = Object.fromEntries(
      names.map((name, n) => [name, { [POLYGON]: `0x${String(n + 1).padStart(40, '0')}` as const }]),
    )
    await rows(...names.map((name) => `A,x,${name}`))
    const checked = await gdn(['batch', 'validate', path('drop.csv'), '-b', 'polygon'])
    expect(checked.stderr.match(/ → 0x/g)).toHaveLength(20)
    expect(checked.stderr).toContain('and 3 other names')
  })
})

describe('warnings', () => {
  test('name receivers that look alike', async () => {
    await rows('A,x,alice.eth', 'B,x,al1ce.eth')
    const checked = await gdn(['batch', 'validate', path('drop.csv'), '-b', 'polygon'])
    expect(checked.stderr).toContain(`alice.eth (${ALICE}) and al1ce.eth (${CAROL}) look alike`)
  })

  test.each([
    ['of another name', 'B,x,ally.eth', 'alice.eth and ally.eth are names of the same address'],
    ['of another row', `B,x,${ALICE}`, `alice.eth resolves to ${ALICE}, which is also the receiver of other rows`],
  ])('name a receiver whose address is that %s', async (_, line, warning) => {
    await rows('A,x,alice.eth', line)
    const planned = await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, ...OFFLINE])
    expect(planned.code, planned.stderr).toBe(0)
    expect(planned.stderr.replaceAll(/\s+/g, ' ')).toContain(warning)
  })
})

describe('the same receiver', () => {
  test.each([
    ['two names', ['alice.eth', 'ally.eth']],
    ['a name and its address', ['alice.eth', ALICE]],
    ['an address and its name', [ALICE.toLowerCase(), 'alice.eth']],
  ])('as %s is an error of a list with both lines, also with --merge', async (_, lines) => {
    const argv = await list('receiver', ...lines)
    for (const flags of [[], ['--merge']]) {
      const refused = await gdn(['batch', 'mint', ...argv, ...flags, ...TARGET, ...OFFLINE])
      expect(refused.code).toBe(2)
      expect(refused.stderr).toMatch(/:3:1: receiver .* has the address .* which is already on line 2/)
    }
  })

  test('a receiver that a list has twice by the same name is merged', async () => {
    const argv = await list('receiver,count', 'alice.eth,1', 'Alice.eth,2')
    const { mint, sent } = await minter()
    expect(await mint([...argv, '--merge'])).toMatchObject({ code: 0 })
    expect(sent()).toEqual(Array(3).fill(`Dawn ${ALICE}`))
  })

  test.each([
    ['a name and its address', ['alice.eth', ALICE]],
    ['two names', ['ally.eth', 'alice.eth']],
  ])('of two rows that differ only as %s is an error with both lines', async (_, [first, second]) => {
    await rows(`A,x,${first}`, `A,x,${second}`)
    const planned = await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, ...OFFLINE])
    const checked = await gdn(['batch', 'validate', path('drop.csv'), '-b', 'polygon'])
    for (const refused of [planned, checked]) expect(refused.code).toBe(2)
    for (const { stderr } of [planned, checked])
      expect(stderr).toContain('drop.csv:3 (receiver): the row differs from line 2 only in')
  })
})

describe('a name that was minted', () => {
  /** Mints, replaces the file, and mints again. */
  async function edited(
    before: () => Promise<unknown>,
    after: () => Promise<unknown>,
    argv: string[],
    more: string[] = [],
  ) {
    const { mint, sent } = await minter()
    await before()
    const first = await mint([...argv, '-o', 'ndjson'])
    expect(first.code, first.stderr).toBe(0)
    const count = sent().length
    await after()
    const second = await mint([...argv, ...more, '-o', 'ndjson'])
    return { second, isNew: sent().length > count }
  }
  const LIST = () => [path('row.json'), '--to', path('to.csv')]
  const DROP = () => [path('drop.csv')]

  test.each([
    ['its address', 'alice.eth', ALICE],
    ['a name by its address', ALICE, 'alice.eth'],
    ['another name', 'alice.eth', 'ally.eth'],
  ])('is refused in a list if it was replaced by %s', async (_, was, now) => {
    const { second, isNew } = await edited(
      () => list('receiver', was, BOB),
      () => list('receiver', now, BOB),
      LIST(),
    )
    expect(errorOf(second)).toMatchObject({
      code: 'edited_rows',
      message: expect.stringContaining('has the same address as'),
    })
    expect(isNew).toBe(false)
  })

  test('is refused in a list if it was removed and comes back as its address', async () => {
    const { mint, sent } = await minter()
    const argv = await list('receiver', 'alice.eth', BOB)
    expect((await mint(argv)).code).toBe(0)
    await list('receiver', BOB)
    await mint(argv)
    await list('receiver', BOB, CAROL)
    expect((await mint(argv)).code).toBe(0)
    expect(sent()).toHaveLength(3)
    await list('receiver', BOB, CAROL, ALICE)
    expect(errorOf(await mint([...argv, '-o', 'ndjson']))).toMatchObject({ code: 'edited_rows' })
    expect(sent()).toHaveLength(3)
  })

  test('keeps its address if its line of a list is removed and comes back', async () => {
    const { mint, sent } = await minter()
    const argv = await list('receiver,count', 'alice.eth,1', `${BOB},1`)
    expect((await mint(argv)).code).toBe(0)
    await list('receiver,count', `${BOB},2`)
    expect((await mint(argv)).code).toBe(0)
    node.records['alice.eth'] = { [POLYGON]: CAROL }
    await list('receiver,count', `${BOB},2`, 'alice.eth,2')
    const minted = await mint(argv)
    expect(minted.code, minted.stderr).toBe(0)
    expect(sent().filter((one) => one === `Dawn ${ALICE}`)).toHaveLength(2)
    expect(sent()).toHaveLength(4)
  })

  test.each([
    ['its address', 'alice.eth', ALICE, []],
    ['its address', 'alice.eth', ALICE, ['--new-rows']],
    ['its name', ALICE, 'alice.eth', ['--new-rows']],
  ])('is refused in a row without an ID if it was replaced by %s (%s → %s, flags %j)', async (_, was, now, more) => {
    const { second, isNew } = await edited(
      () => rows(`A,x,${was}`, `B,x,${BOB}`),
      () => rows(`A,x,${now}`, `B,x,${BOB}`, `C,x,${CAROL}`),
      DROP(),
      more,
    )
    expect(errorOf(second)).toMatchObject({ code: 'edited_rows' })
    expect(isNew).toBe(false)
  })

  test('is recognized in a row with an ID if it was replaced by its address', async () => {
    const { second, isNew } = await edited(
      () => withIds('a,A,x,alice.eth'),
      () => withIds(`a,A,x,${ALICE}`),
      DROP(),
    )
    expect(second.code, second.stderr).toBe(0)
    expect(isNew).toBe(false)
  })

  test.each([
    ['rows', 'its address', 'alice.eth', ALICE],
    ['rows', 'its name', ALICE, 'alice.eth'],
    ['rows', 'another name', 'alice.eth', 'ally.eth'],
    ['a list', 'its address', 'alice.eth', ALICE],
    ['a list', 'its name', ALICE, 'alice.eth'],
  ])('is refused in %s of another run if it was replaced by %s', async (kind, _, was, now) => {
    const isList = kind === 'a list'
    const write = (receiver: string) => (isList ? list('receiver', receiver) : rows(`A,x,${receiver}`))
    const { second, isNew } = await edited(
      () => write(was),
      () => write(now),
      isList ? LIST() : DROP(),
      ['--run', 'other'],
    )
    expect(errorOf(second)).toMatchObject({ code: 'already_accepted' })
    expect(isNew).toBe(false)
  })

  test('is compared with the run, and shown in its results, without an Ethereum node', async () => {
    const { mint, url } = await minter()
    await withIds('a,A,x,alice.eth', `b,B,x,${BOB}`)
    expect((await mint(DROP())).code).toBe(0)
    await withIds('a,A,x,alice.eth', `b,B,x,${BOB}`, 'c,C,x,unresolved.eth')
    node.asked.length = 0
    const { stdout, stderr } = await gdn(
      ['batch', 'results', 'drop.csv', '-o', 'csv', '--base-url', url],
      withoutNode(),
    )
    expect(stderr).toContain('differs from the rows of the run: 1 row added')
    expect(stdout).toMatch(/^a,A,x,alice\.eth,a,/m)
    expect(node.asked).toEqual([])
  })

  test('is refused in a copy of the manifest under another file name', async () => {
    const { mint, sent } = await minter()
    await rows('A,x,alice.eth')
    expect((await mint(DROP())).code).toBe(0)
    await writeFile(path('copy.csv'), `title,description,receiver\nA,x,${ALICE}\n`)
    expect(errorOf(await mint([path('copy.csv'), '-o', 'ndjson']))).toMatchObject({ code: 'already_accepted' })
    expect(sent()).toHaveLength(1)
  })
})
