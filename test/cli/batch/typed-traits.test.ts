/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { CONTRACT, fakeApi, nft, OWNER } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'
import { folder, TARGET } from './drop.ts'

const METADATA = {
  title: 'Ada',
  description: 'x',
  file_fields: [],
  attribute: [{ tag: 'Power', value: '72', display_type: 'number' }],
}
const CSV = `id,title,description,receiver,attr(number):Power\na,Ada,x,${OWNER},72\n`
const REQUEST = {
  contract_address: CONTRACT,
  blockchain: 'polygon',
  receiver_wallet_address: OWNER,
  metadata: [METADATA],
}

const MINT = ['nft', 'mint', '--title', 'Ada', '--receiver', OWNER, ...TARGET]

let path: (name: string) => string
let options: CliOptions

beforeEach(async () => {
  const workFolder = await folder({
    'drop.csv': CSV,
    'request.json': JSON.stringify(REQUEST),
    'metadata.json': JSON.stringify(METADATA),
    'row.json': JSON.stringify({ title: 'Ada', description: 'x', 'attr(number):Power': 72 }),
    'hidden.json': JSON.stringify({ title: 'Hidden', description: 'x' }),
    'list.csv': `${OWNER}\n`,
  })
  path = workFolder.path
  options = workFolder.options
})

describe('a server that does not announce typed traits', () => {
  // The check of receivers reads from the chain.
  const READS = /^\/api\/v1\/get|^\/(?:health|ready|identity|rpc)/

  test.each([
    ['batch mint', () => ['batch', 'mint', path('drop.csv'), ...TARGET]],
    ['batch mint --dry-run', () => ['batch', 'mint', path('drop.csv'), ...TARGET, '--dry-run']],
    ['batch mint --to', () => ['batch', 'mint', path('row.json'), '--to', path('list.csv'), ...TARGET]],
    [
      'batch mint --unrevealed',
      () => ['batch', 'mint', path('drop.csv'), '--unrevealed', path('hidden.json'), ...TARGET],
    ],
    ['nft mint -f', () => ['nft', 'mint', '-f', path('request.json')]],
    ['nft mint -f --dry-run', () => ['nft', 'mint', '-f', path('request.json'), '--dry-run']],
    ['nft mint --attr', () => [...MINT, '--attr', 'Power(number)=72']],
    ['nft mint --attr --dry-run', () => [...MINT, '--attr', 'Power(number)=72', '--dry-run']],
    ['nft mint -f with a manifest', () => ['nft', 'mint', '-f', path('drop.csv'), ...TARGET]],
    ['nft grant -f', () => ['nft', 'grant', '-f', path('request.json'), '--sender', OWNER]],
    ['nft update -f', () => ['nft', 'update', 'id-1', '-f', path('metadata.json'), '-b', 'polygon']],
    ['plan', () => ['plan', path('drop.csv'), ...TARGET]],
    ['apply', () => ['apply', path('drop.csv'), ...TARGET, '--yes']],
  ])('gets nothing from %s', async (_what, argv) => {
    const api = await fakeApi({
      '*': (_body, call) =>
        call.path.endsWith('/getnfts')
          ? {
              body: {
                requests: { nft_gdn_ids: ['id-1'] },
                nfts: [nft('id-1', { is_dynamic: true, is_frozen: false, revision: 0 })],
              },
            }
          : call.path.endsWith('/getnftgdnids')
            ? { body: { requests: {}, nft_gdn_ids: [] } }
            : { status: 404, body: { error: { title: 'Not Found', message: 'nothing is here' } } },
    })
    const result = await cli([...argv(), '--base-url', api.url, '--json'], options)
    expect(errorOf(result)).toMatchObject({
      code: 'refused',
      message: expect.stringContaining('the server doesn\'t support typed traits: "Power" has the type number'),
      hint: expect.stringContaining('Nothing was sent.'),
    })
    expect(result.code).not.toBe(0)
    expect(api.calls.map((call) => call.path).filter((called) => !READS.test(called))).toEqual([])
  })

  test('gets plain attributes as before', async () => {
    await writeFile(path('drop.csv'), CSV.replace('attr(number):', 'attr:'))
    const { code } = await cli(['batch', 'validate', path('drop.csv'), ...TARGET], options)
    expect(code).toBe(0)
  })
})

test('an error in a manifest has file, line and column, and nothing is sent', async () => {
  await writeFile(path('drop.csv'), CSV.replace(',72', ',strong'))
  const api = await fakeApi({})
  const { code, stderr } = await cli(['batch', 'validate', path('drop.csv'), ...TARGET, '--base-url', api.url], options)
  expect(code).toBe(2)
  expect(stderr).toContain('drop.csv:2:5')
  expect(stderr).toContain('attr(number):Power must be a number such as 5 or 2.5, not "strong"')
  expect(api.calls).toEqual([])
})

describe('nft mint --attr', () => {
  test('ignores spaces around the tag, as a manifest does', async () => {
    expect(await metadataOf(' Power (number)=72', ' Class =Mage')).toEqual([
      { tag: 'Power', value: '72', display_type: 'number' },
      { tag: 'Class', value: 'Mage' },
    ])
    expect((await metadataOf(' =5')).message).toContain('--attr: must be tag=value, not " =5"')
  })

  const metadataOf = async (...attr: string[]) => {
    const argv = [...MINT, ...attr.flatMap((one) => ['--attr', one]), '--dry-run', '--json']
    // A dry run needs no server.
    const result = await cli([...argv, '--base-url', 'http://127.0.0.1:9'], options)
    return result.code === 0 ? JSON.parse(result.stdout).body.metadata[0].attribute : errorOf(result)
  }

  test('takes typed traits with a maximum, and other tags with parentheses', async () => {
    expect(
      await metadataOf(
        'Power(number, max=100)=72.50',
        'Luck(Boost_Percentage)=5',
        'Born(date)=2026-11-01',
        'Size (cm)=5',
        'a=b(number)=1',
      ),
    ).toEqual([
      { tag: 'Power', value: '72.5', display_type: 'number', max_value: '100' },
      { tag: 'Luck', value: '5', display_type: 'boost_percentage' },
      { tag: 'Born', value: '1793491200', display_type: 'date' },
      { tag: 'Size (cm)', value: '5' },
      { tag: 'a', value: 'b(number)=1' },
    ])
  })

  test.each([
    ['Power(number)=strong', 'the value of "Power" must be a number such as 5 or 2.5, not "strong"'],
    ['Power(number)=', 'the value of "Power" must be a number such as 5 or 2.5, not ""'],
    ['Power(number,max=10)=11', 'the value of "Power" must be at most 10, its maximum, not "11"'],
    ['Power(number,max=-1)=1', 'max of "Power" must be greater than 0, not "-1"'],
    ['Power(number,least=1)=1', 'must have the form Power(number,max=100)=5, not "Power(number,least=1)=1"'],
    ['Power(number,max=1,max=2)=1', 'must have the form Power(number,max=100)=5'],
    ['attr(number,max=5):Gen=3', 'the tag "attr(number,max" begins like a column name'],
    ['attr:Gen=3', 'the tag "attr:Gen" begins like a column name'],
    ['attr:Gen(number)=3', 'the tag "attr:Gen" begins like a column name'],
    ['Born(date,max=5)=1', 'max of "Born" can\'t be used with a date'],
  ])('rejects %j', async (attr, message) => {
    expect((await metadataOf(attr)).message).toContain(`--attr: ${message}`)
  })

  test('is sent to a server that announces typed traits', async () => {
    const api = await fakeApi({
      '*': () => ({ headers: { 'typed-traits-supported': 'yes' }, body: { requests: {}, is_gdn_nft: false } }),
    })
    const argv = [...MINT, '--attr', 'Power(number)=72', '--dry-run', '--base-url', api.url]
    expect((await cli(argv, options)).code).toBe(0)
    await cli([...MINT, '--attr', 'Power(number)=72', '--no-wait', '--base-url', api.url], options)
    const mintCall = api.calls.find((call) => call.path.endsWith('/createnft'))
    expect(mintCall?.body).toMatchObject({
      metadata: [{ attribute: [{ tag: 'Power', value: '72', display_type: 'number' }] }],
    })
  })
})

test('a tag that contains a type is rejected in request files, and by nft update, before anything is sent', async () => {
  const api = await fakeApi({})
  const attribute = [{ tag: 'Power(number)', value: '5' }]
  const metadata = { ...METADATA, attribute }
  await writeFile(path('metadata.json'), JSON.stringify(metadata))
  await writeFile(path('request.json'), JSON.stringify({ ...REQUEST, metadata: [metadata] }))
  for (const argv of [
    ['nft', 'mint', '-f', path('request.json')],
    ['nft', 'update', 'id-1', '--attr', 'attr(number,max=5):Gen=3'],
    ['nft', 'update', 'id-1', '--attr', '(number)Power=3'],
  ]) {
    const { code, stderr } = await cli([...argv, '--base-url', api.url], options)
    expect(code, stderr).toBe(2)
    expect(stderr).toMatch(/(ends|begins) with "\(number\)", but has no type|begins like a column name/)
  }
  expect(api.calls.filter(({ path: called }) => called.endsWith('nft'))).toEqual([])
})

test('nft update names the trait whose new value does not fit its type', async () => {
  const api = await fakeApi({
    '*': () => ({
      body: {
        requests: { nft_gdn_ids: ['id-1'] },
        nfts: [nft('id-1', { is_dynamic: true, is_frozen: false, revision: 0, request_metadata: METADATA })],
      },
    }),
  })
  const argv = ['nft', 'update', 'id-1', '--attr', 'Power=high', '-b', 'polygon', '--base-url', api.url]
  const { code, stderr } = await cli(argv, options)
  expect(code).toBe(2)
  expect(stderr).toContain('--attr Power: must be a number such as 5 or 2.5, not "high"')
})

test('nft update refuses a new trait whose name differs only in case or spaces', async () => {
  const api = await fakeApi({
    '*': () => ({
      body: {
        requests: { nft_gdn_ids: ['id-1'] },
        nfts: [nft('id-1', { is_dynamic: true, is_frozen: false, revision: 0, request_metadata: METADATA })],
      },
    }),
  })
  for (const tag of ['power', ' POWER', 'Po wer']) {
    const argv = ['nft', 'update', 'id-1', '--attr', `${tag}=8`, '--dry-run', '-b', 'polygon', '--base-url', api.url]
    const { code, stderr } = await cli(argv, options)
    expect([code, stderr]).toEqual([2, expect.stringContaining('did you mean "Power"?')])
  }
})

test('nft update warns of a new trait whose name may be a misspelling', async () => {
  const api = await fakeApi({
    '*': () => ({
      body: {
        requests: { nft_gdn_ids: ['id-1'] },
        nfts: [nft('id-1', { is_dynamic: true, is_frozen: false, revision: 0, request_metadata: METADATA })],
      },
    }),
  })
  const update = async (attr: string) =>
    await cli(['nft', 'update', 'id-1', '--attr', attr, '--dry-run', '-b', 'polygon', '--base-url', api.url], options)
  const { code, stderr } = await update('Pwoer=8')
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining('warning: --attr adds the new attribute "Pwoer". Did you mean "Power"?'),
  ])
  expect((await update('Speed=8')).stderr).not.toContain('Did you mean')
})

test('nft update -f warns of a typed trait that becomes text, and shows dates as people write them', async () => {
  const born = (value: string) => ({ tag: 'Born', value, display_type: 'date' })
  const before = { ...METADATA, attribute: [...METADATA.attribute, born('1793491200')] }
  const api = await fakeApi({
    '*': () => ({
      headers: { 'typed-traits-supported': 'true' },
      body: {
        requests: { nft_gdn_ids: ['id-1'] },
        nfts: [nft('id-1', { is_dynamic: true, is_frozen: false, revision: 0, request_metadata: before })],
      },
    }),
  })
  const after = { ...METADATA, attribute: [{ tag: 'Power', value: '80' }, born('1793557800')] }
  await writeFile(path('metadata.json'), JSON.stringify(after))
  const update = ['nft', 'update', 'id-1', '--dry-run', '-b', 'polygon', '--base-url', api.url]
  const { code, stdout, stderr } = await cli([...update, '-f', path('metadata.json')], options)
  expect(code, stderr).toBe(0)
  expect(stderr).toContain('The update changes the trait "Power" from the type number to text.')
  expect(stderr).toContain('To keep the type, add "display_type": "number" to the attribute.')
  expect(stdout).toContain('attribute Born\t2026-11-01\t2026-11-01T18:30:00Z')
  const kept = await cli([...update, '--attr', 'Power=80'], options)
  expect([kept.code, kept.stderr]).toEqual([0, expect.not.stringContaining('becomes text')])
})
