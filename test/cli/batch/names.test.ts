import { writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { saveAddresses } from '../../helpers/saved-addresses.ts'
import { fakeApi } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const wallet = (n: number) => `0x${String(n).padStart(40, '5')}`
const [A, B, C] = [wallet(1), wallet(2), wallet(3)]

let path: (name: string) => string
let options: CliOptions

beforeEach(async () => {
  const workFolder = await folder({ 'row.json': JSON.stringify({ title: 'Ticket', description: 'for the team' }) })
  path = workFolder.path
  options = workFolder.options
  await saveAddresses(path('.local/state/gdn'), { alice: A, bob: B })
})

const OFFLINE = ['--dry-run', '--no-lookup', '--base-url', 'http://127.0.0.1:9']
const gdn = (...argv: string[]) => cli(argv, options)

/** A server, and the command that mints the row to a list or a group. */
async function mints(isRefused = false) {
  const api = await fakeApi(isRefused ? {} : service())
  const mintTo = (to: string, ...flags: string[]) =>
    gdn('batch', 'mint', path('row.json'), '--to', to, ...flags, ...TARGET, '--base-url', api.url, '--json')
  const mint = () => gdn('batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json')
  const received = () =>
    (api.bodies('createnft') as { receiver_wallet_address: string; metadata: unknown[] }[])
      .flatMap(({ receiver_wallet_address, metadata }) => metadata.map(() => receiver_wallet_address.toLowerCase()))
      .sort()
  return { mint, mintTo, received }
}

const results = async () => JSON.parse((await gdn('batch', 'results', path('row.json'), '--json')).stdout)

describe('batch mint --to with a list', () => {
  test.each([
    ['with a header', 'receiver,count\n@alice,2\n@bob,1\n', [A, A, B]],
    ['without a header', `@alice\n${C}\n@bob\n`, [A, B, C]],
    ['with a byte order mark and CRLF', '\uFEFFreceiver\r\n@alice\r\n@bob\r\n', [A, B]],
  ])('mints to the addresses of its names %s', async (_how, text, expected) => {
    const { mintTo, received } = await mints()
    await writeFile(path('list.csv'), text)
    const { code, stderr } = await mintTo(path('list.csv'))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(received()).toEqual(expected)
    expect(await results()).toContainEqual(expect.objectContaining({ key: `${A}#1`, status: 'deployed' }))
  })

  test('mints to the new address of a name in an unchanged list', async () => {
    const { mintTo, received } = await mints()
    await writeFile(path('list.csv'), '@alice\n@bob\n')
    await mintTo(path('list.csv'))
    await gdn('wallet', 'rm', 'bob')
    await gdn('wallet', 'add', 'bob', C)
    expect(await mintTo(path('list.csv'))).toMatchObject({ code: 0 })
    expect(received()).toEqual([A, B, C])
  })

  test('reads an unchanged manifest again after a name got another address', async () => {
    const { received, mint } = await mints()
    await writeFile(path('drop.csv'), 'title,description,receiver\nA,x,@alice\nB,x,@bob\n')
    expect(await mint()).toMatchObject({ code: 0 })
    await gdn('wallet', 'rm', 'bob')
    await gdn('wallet', 'add', 'bob', C)
    // As after an edit of the receiver: the row without an ID is not the one that was minted.
    expect(errorOf(await mint()).code).toBe('edited_rows')
    expect(received()).toEqual([A, B])
  })

  test('reports each name without an address with its line and column, and sends nothing', async () => {
    const { mintTo, received } = await mints(true)
    await gdn('wallet', 'group', '@team', '@bob')
    await writeFile(path('list.csv'), `count,receiver\n1,@alice\n1,@bbo\n1,@Bob\n1,${A}\n1,@team\n1,@b\u001b[31m\n`)
    const refused = await mintTo(path('list.csv'))
    expect(refused).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(refused).details).toMatchObject({
      issues: [
        {
          place: { line: 3, column: 2, field: 'receiver' },
          message: 'receiver @bbo is not the name of a wallet or address on this machine',
          hint: 'Did you mean @bob?',
        },
        { place: { line: 4, column: 2 }, hint: 'Use @bob.' },
        { place: { line: 5, column: 2 }, message: 'receiver is already on line 2' },
        { place: { line: 6, column: 2 }, message: 'receiver @team is a group, not an address' },
        { place: { line: 7, column: 2 }, message: expect.not.stringContaining('\u001b') },
      ],
    })
    expect(received()).toEqual([])
  })

  test('asks for a header if the first line has a name and a count', async () => {
    const { mintTo } = await mints(true)
    await writeFile(path('list.csv'), '@alice,2\n')
    expect(errorOf(await mintTo(path('list.csv')))).toMatchObject({
      message: expect.stringMatching(/list\.csv:1:1: has an address instead of a column name$/),
    })
  })
})

describe('batch mint --to with a group', () => {
  test('mints to each member, in the order of the group, as one run that can be repeated', async () => {
    const { mintTo, received } = await mints()
    await gdn('wallet', 'group', '@team', '@bob', C, '@alice')
    const { code, stdout, stderr } = await mintTo('@team')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(received()).toEqual([A, B, C])
    expect(await results()).toMatchObject([
      { key: `${B}#1`, line: 1 },
      { key: `${C}#1`, line: 2 },
      { key: `${A}#1`, line: 3 },
    ])
    const { run } = JSON.parse(stdout)
    for (const name of [run, 'row.json+@team', path('row.json')])
      expect(JSON.parse((await gdn('batch', 'status', name, '--json')).stdout)).toMatchObject({ deployed: 3 })
    expect((await mintTo('@team')).code).toBe(0)
    expect(received()).toEqual([A, B, C])
  })

  test('mints only to the members that are new, and warns of the change before', async () => {
    const { mintTo, received } = await mints()
    await gdn('wallet', 'group', '@team', '@bob')
    await mintTo('@team')
    await gdn('wallet', 'group', '@team', '@bob', '@alice')
    const status = await gdn('batch', 'results', path('row.json'))
    expect(status.stderr).toContain('@team differs from the rows of the run')
    expect(status.stderr).toMatch(/gdn batch mint \S*row\.json --to @team/)
    expect((await mintTo('@team')).code).toBe(0)
    expect(received()).toEqual([A, B])
    await gdn('wallet', 'rm', 'team')
    expect((await gdn('batch', 'results', path('row.json'))).stderr).toContain('@team is not the name of a group')
  })

  test.each([[[]], [['--merge']]])(
    'mints one NFT to two members with the same address, and names them, with %j',
    async (flags) => {
      const { mintTo, received } = await mints()
      await gdn('wallet', 'group', '@team', '@alice', '@bob', C)
      await gdn('wallet', 'rm', 'bob')
      await gdn('wallet', 'add', 'bob', A)
      const mintResult = await gdn('batch', 'mint', path('row.json'), '--to', '@team', ...TARGET, ...OFFLINE)
      expect(mintResult.stderr).toContain(
        '@team has several members with the same address, which count as one: @bob (same as @alice)',
      )
      expect((await mintTo('@team', ...flags)).code).toBe(0)
      expect(received()).toEqual([A, C])
      expect(await results()).toMatchObject([
        { key: `${A}#1`, line: 1 },
        { key: `${C}#1`, line: 3 },
      ])
    },
  )

  test('mints to a second group with shared members in the run of the first one, as the hint says', async () => {
    const { mintTo, received } = await mints()
    await gdn('wallet', 'group', '@crew', '@alice', '@bob')
    await gdn('wallet', 'group', '@friends', '@bob', C)
    await mintTo('@crew')
    const refused = errorOf(await mintTo('@friends', '--no-lookup'))
    expect(refused).toMatchObject({
      code: 'already_accepted',
      message: expect.stringContaining('1 row of @friends belongs to another run of this collection: row.json-crew-'),
      hint: expect.stringContaining(
        "To mint only to receivers who don't have this NFT yet, add --run row.json+@crew.\nTo mint to all receivers, including these a second time, run `gdn batch mint` with --again.",
      ),
    })
    expect((await mintTo('@friends', '--run', 'row.json+@crew')).code).toBe(0)
    expect(received()).toEqual([A, B, C])
  })

  test('rejects a member without an address with its number, and sends nothing', async () => {
    const { mintTo, received } = await mints(true)
    await gdn('wallet', 'group', '@team', '@alice', '@bob')
    await gdn('wallet', 'rm', 'bob')
    const refused = await mintTo('@team')
    expect(refused.code).toBe(2)
    expect(errorOf(refused).message).toMatch(/^@team:2:1: receiver @bob is not the name of a wallet/)
    expect(received()).toEqual([])
  })

  test.each([
    ['@taem', '--to: @taem is not the name of a group on this machine', 'Did you mean @team?'],
    ['@alice', '--to: @alice is an address, not a group', expect.stringContaining('`gdn wallet group <group> @alice`')],
    ['@Team', expect.stringMatching(/^--to: the name of a group must /), 'Use @team.'],
    ['team', "team: doesn't exist", 'Did you mean @team?'],
    ['none.csv', "none.csv: doesn't exist", expect.stringMatching(/^Check the path\. A list is/)],
  ])('rejects %s, which is no group', async (to, message, hint) => {
    const { mintTo, received } = await mints(true)
    await gdn('wallet', 'group', '@team', '@bob')
    const refused = await mintTo(to)
    expect([refused.code, errorOf(refused)]).toMatchObject([2, { message, hint }])
    expect(received()).toEqual([])
  })
})
