/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { displayWidth } from '../../../src/cli/text/display-width.ts'
import { folder, TARGET } from '../batch/drop.ts'
import { CONTRACT, fakeApi, OWNER, type Reply } from '../fake-api.ts'
import { type CliOptions, cli } from '../harness.ts'

// OSC 52 (the clipboard), CSI in 7 and 8 bits, DEL, bidi, zero-width, BOM, and a forged error line.
const EVIL =
  '\u001b]52;c;aGk=\u0007\u001b[2J\u009b31m\u009d0;x\u009c\u007f\b\u202eevil\u2066\u200b\ufeff\r\nerror: forged'
const RAW = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/

const accepted = (requests: object): Reply => ({
  body: { requests, request: requests, response: { transaction_gdn_id: EVIL, accepted_date: EVIL } },
})

const record = (id: string, more: object = {}) => ({
  nft_gdn_id: id,
  token_id: EVIL,
  contract_address: EVIL,
  receiver_wallet_address: EVIL,
  status: EVIL,
  request_metadata: {
    title: EVIL,
    description: EVIL,
    file_fields: [{ key: EVIL, url: EVIL }],
    attribute: [{ tag: EVIL, value: EVIL }],
    [EVIL]: EVIL,
  },
  metadata_url: EVIL,
  error: EVIL,
  ...more,
})

const collections = (): Reply => ({
  body: {
    requests: { transaction_gdn_ids: [EVIL] },
    collections: [EVIL, 'tx'].map((transaction_gdn_ids) => ({
      transaction_gdn_ids,
      contract_address: EVIL,
      name: EVIL,
      blockchain: EVIL,
      wallet_address: EVIL,
      status: 'deployed',
      description: EVIL,
      error: EVIL,
    })),
  },
})

const told =
  (more: object = {}) =>
  ({ nft_gdn_ids }: { nft_gdn_ids: string[] }): Reply => ({
    body: { requests: { nft_gdn_ids }, nfts: nft_gdn_ids.map((id) => record(id, more)) },
  })

const refuses = (status: number) => (): Reply => ({ status, body: { error: { title: EVIL, message: EVIL } } })

const minted = ({ metadata, ...requests }: { metadata: object[] }): Reply => ({
  body: {
    message: EVIL,
    requests: { ...requests, metadata },
    nfts: metadata.map((_, i) => ({ nft_gdn_ids: `${EVIL}${i}`, accepted_date: EVIL })),
  },
})

const MINT = ['nft', 'mint', '--title', 'Dawn', ...TARGET, '--receiver', OWNER]
const BATCH = ['batch', 'mint', 'drop.csv', ...TARGET, '--rate', '1000']
const COLLECTION = ['collection', 'create', '--name', 'x', '-b', 'polygon', '--wallet', OWNER]

type Handlers = Record<string, (body: never) => Reply>

/** Every command that prints text of a server. */
const CASES: [what: string, argv: string[], handlers: Handlers, before?: string[]][] = [
  ['an NFT', ['nft', 'show', 'a'], { getnfts: told() }],
  ['NFTs', ['nft', 'show', 'a', 'b'], { getnfts: told() }],
  ['an unknown ID', ['nft', 'show', EVIL], { getnfts: () => ({ body: { requests: { nft_gdn_ids: [] }, nfts: [] } }) }],
  [
    'a list of IDs',
    ['nft', 'list', '--fields', 'nft_gdn_id', ...TARGET],
    {
      getnftgdnids: () => ({ body: { requests: { contract_address: '', blockchain: '' }, nft_gdn_ids: [EVIL, 'b'] } }),
    },
  ],
  [
    'a list of NFTs',
    ['nft', 'list', ...TARGET],
    {
      getnftgdnids: () => ({ body: { requests: { contract_address: '', blockchain: '' }, nft_gdn_ids: [EVIL, 'b'] } }),
      getnfts: told(),
    },
  ],
  ['an NFT that failed', ['nft', 'wait', 'a'], { getnfts: told({ status: 'failed' }) }],
  ['a pending NFT', ['nft', 'wait', 'a', '--timeout', '1s'], { getnfts: told() }],
  [
    'an NFT of another service',
    ['nft', 'verify', 'a', '-b', 'polygon', '--owner', OWNER],
    {
      getisgdnnft: () => ({
        body: {
          requests: { receiver_wallet_address: '', blockchain: '', nft_gdn_id: '' },
          response: { isgdnnft: false, nft: record(EVIL) },
        },
      }),
    },
  ],
  ['a mint', MINT, { createnft: minted as never, getnfts: told({ status: 'deployed' }) }],
  ['a mint with --no-wait', [...MINT, '--no-wait'], { createnft: minted as never }],
  ['a rejected mint', MINT, { createnft: refuses(400) }],
  ['a collection', COLLECTION, { createcollection: accepted, getcollections: collections }],
  ['collection show', ['collection', 'show', 'tx'], { getcollections: collections }],
  ['collections', ['collection', 'list'], { createcollection: accepted, getcollections: collections }, COLLECTION],
  [
    'a transfer',
    ['nft', 'transfer', 'a', '-b', 'polygon', '--receiver', OWNER, '--no-wait'],
    {
      getnfts: told({
        status: 'deployed',
        token_id: '1',
        contract_address: CONTRACT,
        receiver_wallet_address: CONTRACT,
      }),
      transfernft: accepted,
    },
  ],
  ['a batch', BATCH, { createnft: minted as never, getnfts: told({ status: 'deployed' }) }],
  [
    'rows of a batch',
    ['batch', 'results', 'drop'],
    { createnft: minted as never, getnfts: told({ status: 'deployed' }) },
    BATCH,
  ],
  ['a rejected batch', BATCH, { createnft: refuses(400) }],
  ['rejected rows', ['batch', 'results', 'drop'], { createnft: refuses(400) }, BATCH],
  ['a batch whose NFTs failed', BATCH, { createnft: minted as never, getnfts: told({ status: 'failed' }) }],
  ['runs', ['batch', 'list'], { createnft: refuses(400) }, BATCH],
  ['a wrong key', ['nft', 'show', 'a'], { getnfts: refuses(401) }],
  ['a key without the permission', ['nft', 'show', 'a'], { getnfts: refuses(403) }],
  [
    'another form of error',
    ['nft', 'show', 'a'],
    {
      getnfts: () => ({
        status: 400,
        body: { errorCode: EVIL, message: EVIL, detail: [{ loc: ['body', EVIL], msg: EVIL, type: EVIL }] },
      }),
    },
  ],
  ['an invalid API response', ['nft', 'show', 'a'], { getnfts: () => ({ body: { [EVIL]: EVIL } }) }],
  ['a raw response', ['api', 'getnfts', '--field', 'nft_gdn_ids[]=a'], { getnfts: told() }],
]

const CSV = `title,description,receiver\nDawn,first,${OWNER}\nDusk,second,${OWNER}\n`

async function prepare(argv: string[], handlers: Handlers, before: string[] | undefined) {
  const { path, options } = await folder({ 'drop.csv': CSV })
  const { url } = await fakeApi({ '*': (body, call) => answer(handlers, call.path, body) })
  const full = (words: string[]) => [
    ...words.map((word) => (word === 'drop.csv' ? path(word) : word)),
    '--base-url',
    url,
  ]
  if (before !== undefined) await cli([...full(before), '-q'], options)
  return { argv: full(argv), options }
}

const answer = (handlers: Handlers, path: string, body: never): Reply =>
  handlers[path.replace('/api/v1/', '')]?.(body) ?? { status: 404, body: {} }

const TERMINAL: CliOptions = { tty: true, stderrTty: true, columns: 100 }

describe.each(CASES)('%s', (_, words, handlers, before) => {
  test.each<[string, string[], CliOptions]>([
    ['a table on a terminal', [], TERMINAL],
    ['a table in a pipe', [], {}],
    ['--debug on a terminal', ['--debug'], TERMINAL],
    ['JSON on a terminal', ['-o', 'json'], TERMINAL],
    ['CSV on a terminal', ['-o', 'csv'], TERMINAL],
    ['ids on a terminal', ['-o', 'ids'], TERMINAL],
  ])('escapes external text in %s', async (_mode, flags, how) => {
    const { argv, options } = await prepare(words, handlers, before)
    // gdn api always prints JSON, unchanged in a pipe.
    const isApi = words[0] === 'api'
    if (isApi && how.tty !== true) return
    const extraFlags = isApi && flags[0] === '-o' ? [] : flags
    // TERM=dumb turns the spinner off, whose own escape sequences would be found here.
    const { stdout, stderr } = await cli([...argv, ...extraFlags], {
      ...options,
      ...how,
      env: { ...options.env, TERM: 'dumb' },
    })
    expect(stdout + stderr).not.toBe('')
    expect(stdout.replaceAll('\r\n', '\n')).not.toMatch(RAW)
    expect(stderr).not.toMatch(RAW)
    expect(stderr).not.toMatch(/^error: forged/m)
  })
})

test('JSON keeps control characters as data, in a pipe and on a terminal', async () => {
  for (const how of [{}, TERMINAL]) {
    const { argv, options } = await prepare(['nft', 'show', 'a', '--json'], { getnfts: told() }, undefined)
    expect(JSON.parse((await cli(argv, { ...options, ...how })).stdout)).toEqual(record('a'))
  }
})

test('CSV keeps control characters in a pipe, where other programs read them', async () => {
  const show = ['nft', 'show', 'a', '-o', 'csv', '--fields', 'status']
  const { argv, options } = await prepare(show, { getnfts: told() }, undefined)
  expect((await cli(argv, options)).stdout).toBe(`status\r\n"${EVIL}"\r\n`)
})

test.each([
  ['abc', 3],
  ['漢字', 4],
  ['ｶﾅ', 2],
  ['ＡＢ', 4],
  ['한국어', 6],
  ['👩‍👩‍👧‍👦', 2],
  ['🇯🇵', 2],
  ['❤️', 2],
  ['⌚⭐', 4],
  ['👍🏽', 2],
  ['1️⃣', 2],
  ['e\u0301', 1],
  ['नि', 1],
])('%s is %i columns wide', (text, columns) => {
  expect(displayWidth(text)).toBe(columns)
})

test('aligns columns regardless of the width of their characters', async () => {
  const titles = [
    '漢字かな',
    'ＦＵＬＬ',
    '👩‍👩‍👧‍👦 family',
    '🇯🇵 flag',
    '❤️ heart',
    'é decomposed',
    '한국어',
    '👍🏽',
    '🫨 of Unicode 15',
    'नमस्ते',
    'plain',
  ]
  const nfts = titles.map((title, i) =>
    record(`id-${i}`, {
      token_id: '1',
      status: 'deployed',
      receiver_wallet_address: OWNER,
      error: null,
      request_metadata: { title },
    }),
  )
  const { argv, options } = await prepare(
    ['nft', 'show', ...titles.map((__, i) => `id-${i}`)],
    { getnfts: () => ({ body: { requests: { nft_gdn_ids: ['x'] }, nfts } }) },
    undefined,
  )
  const { stdout } = await cli(argv, { ...options, ...TERMINAL, columns: 120 })
  const starts = stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => displayWidth(line.slice(0, line.indexOf('deployed'))))
  expect(new Set(starts).size).toBe(1)
  expect(starts).toHaveLength(titles.length)
})
