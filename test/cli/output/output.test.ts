/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { CONTRACT, fakeApi, knows, nft, OWNER } from '../fake-api.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

const env = { GDN_API_KEY: 'key' }
const A = nft('a')
const B = nft('b', { token_id: null, status: 'initiated', metadata_url: null })

async function show(argv: readonly string[], options: { tty?: boolean; columns?: number } = {}) {
  const api = await fakeApi({ getnfts: knows(A, B) })
  return await cli(['nft', 'show', ...argv, '--base-url', api.url], { env, ...options })
}

test('prints JSON as an object for one thing and as an array for a list, with API field names', async () => {
  expect(JSON.parse((await show(['a', '--json'])).stdout)).toEqual(A)
  expect(JSON.parse((await show(['a', 'b', '--json'])).stdout)).toEqual([A, B])
})

test('opens stdin only in commands that read it', async () => {
  const api = await fakeApi({ getnfts: knows(A) })
  const opened: string[] = []
  const onStdin = () => opened.push('stdin')
  await cli(['nft', 'show', 'a', '--base-url', api.url], { env, onStdin })
  expect(opened).toEqual([])
  await cli(['api', 'getnfts', '-f', '-', '--base-url', api.url], { env, onStdin, stdin: '{"nft_gdn_ids":["a"]}' })
  expect(opened).not.toEqual([])
})

test('prints JSON on one line to a pipe, and indented on a terminal', async () => {
  expect((await show(['a', '--json'])).stdout.trimEnd()).not.toContain('\n')
  const { stdout } = await show(['a', 'b', '-o', 'json'], { tty: true })
  expect(stdout).toBe(`${JSON.stringify([A, B], null, 2)}\n`)
})

test('prints NDJSON with one object per line', async () => {
  const { stdout } = await show(['a', 'b', '-o', 'ndjson'])
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([A, B])
})

test('prints CSV with a header, CRLF and quoted cells', async () => {
  const { stdout } = await show(['a', 'b', '-o', 'csv', '--fields', 'nft_gdn_id,request_metadata'])
  expect(stdout).toBe(
    'nft_gdn_id,request_metadata\r\n' +
      'a,"{""title"":""Dawn"",""description"":"""",""file_fields"":[]}"\r\n' +
      'b,"{""title"":""Dawn"",""description"":"""",""file_fields"":[]}"\r\n',
  )
})

test('--for-spreadsheet marks CSV as UTF-8, disarms formulas, and is for CSV only', async () => {
  const api = await fakeApi({ getnfts: knows(nft('a', { status: '+1' })) })
  const flags = ['--for-spreadsheet', '--fields', 'nft_gdn_id,status', '--base-url', api.url]
  const csv = async (...argv: string[]) => await cli(['nft', 'show', 'a', ...flags, ...argv], { env })
  expect((await csv('-o', 'csv')).stdout).toBe("\ufeffnft_gdn_id,status\r\na,'+1\r\n")
  const problem = 'error: --for-spreadsheet: applies only to CSV output\n  Add -o csv.\n'
  expect(await csv()).toMatchObject({ code: 2, stdout: '', stderr: problem })
})

test('--for-spreadsheet prints no byte order mark in a terminal', async () => {
  const argv = ['a', '-o', 'csv', '--for-spreadsheet', '--fields', 'nft_gdn_id,status']
  expect((await show(argv, { tty: true })).stdout).toBe('nft_gdn_id,status\r\na,deployed\r\n')
})

test('prints one ID per line', async () => {
  expect((await show(['a', 'b', '-o', 'ids'])).stdout).toBe('a\nb\n')
})

test('--fields knows the columns of the table by name and heading, in every mode', async () => {
  const titled = ['a', 'b', '--fields', 'title,token']
  expect(JSON.parse((await show([...titled, '--json'])).stdout)).toEqual([
    { title: 'Dawn', token_id: '1' },
    { title: 'Dawn', token_id: null },
  ])
  expect((await show([...titled, '-o', 'csv'])).stdout).toBe('title,token_id\r\nDawn,1\r\nDawn,\r\n')
  expect((await show(titled)).stdout).toBe('Dawn\t1\nDawn\t\n')
  expect((await show(['a', '--fields', 'TITLE'], { tty: true })).stdout).toBe('TITLE  Dawn\n')
})

test('--fields takes paths into objects and lists', async () => {
  const paths = ['--fields', 'metadata.title,request_metadata.file_fields.0.url,status.length']
  const found = { 'metadata.title': 'Dawn', 'request_metadata.file_fields.0.url': null, 'status.length': null }
  expect(JSON.parse((await show(['a', '--json', ...paths])).stdout)).toEqual(found)
  expect((await show(['a', 'b', '--fields', 'metadata.title'])).stdout).toBe('Dawn\nDawn\n')
  expect((await show(['a', '--fields', 'metadata.title'])).stdout).toBe('metadata.title\tDawn\n')
})

test('a list that is watched has its titles, and the selected paths', async () => {
  const all = await show(['a', 'a', '--watch'], { tty: true })
  expect(all.stdout + all.stderr).toContain('Dawn')
  const paths = await show(['a', '--watch', '--json', '--fields', 'title,metadata.title'])
  expect(JSON.parse(paths.stdout)).toEqual({ title: 'Dawn', 'metadata.title': 'Dawn' })
})

test.each([
  ['titel', 'Did you mean title?\nThe fields are nft_gdn_id, token_id, '],
  ['metdata.title', 'Did you mean metadata.title?\nThe fields are nft_gdn_id, '],
  ['.title', 'Did you mean title?\nThe fields are nft_gdn_id, '],
  ['zzzzzz', 'The fields are nft_gdn_id, '],
])('the error of --fields %s names the nearest field and those that exist', async (field, hint) => {
  const result = await cli(['nft', 'list', '--json', '--fields', field], { env })
  expect(result).toMatchObject({ code: 2, stdout: '' })
  const { message, hint: full } = errorOf(result)
  expect(message).toContain(`unknown field "${field}"`)
  expect(full).toMatch(/, title, metadata, token, owner, id\.$/)
  expect(full?.startsWith(hint)).toBe(true)
})

test('--fields selects and orders the fields of every mode', async () => {
  const fields = ['--fields', 'status,nft_gdn_id']
  expect((await show(['a', '--json', ...fields])).stdout).toBe('{"status":"deployed","nft_gdn_id":"a"}\n')
  expect((await show(['a', 'b', ...fields])).stdout).toBe('deployed\ta\ninitiated\tb\n')
})

test('prints a piped table with tabs, without heading or truncation', async () => {
  const { stdout } = await show(['a', 'b'], { columns: 20 })
  expect(stdout).toBe(`1\tDawn\tdeployed\t${OWNER}\ta\n\tDawn\tinitiated\t${OWNER}\tb\n`)
})

test('prints a table on a terminal with a heading, aligned columns and no borders', async () => {
  const { stdout } = await show(['a', 'b'], { tty: true, columns: 120 })
  expect(stdout.split('\n').map((line) => line.trimEnd())).toEqual([
    'TOKEN  TITLE  STATUS     OWNER                                       ID',
    `1      Dawn   deployed   ${OWNER}  a`,
    `       Dawn   initiated  ${OWNER}  b`,
    '',
  ])
})

test('appends an error to the row that failed, and nothing to other rows', async () => {
  const failed = nft('b', { status: 'failed', error: 'no funds' })
  const api = await fakeApi({ getnfts: knows(A, failed) })
  const { stdout } = await cli(['nft', 'show', 'a', 'b', '--base-url', api.url], { env })
  expect(stdout).toBe(`1\tDawn\tdeployed\t${OWNER}\ta\n1\tDawn\tfailed\t${OWNER}\tb\tno funds\n`)
})

describe('a terminal too narrow for a table', () => {
  test("prints each record as a card if columns can't be shortened further", async () => {
    const id = '01a1f841-623a-703e-8d00-8b987e42ae66'
    const api = await fakeApi({ getnfts: knows(nft(id, { title: 'Low Moon' }), nft('b', { status: 'failed' })) })
    const argv = ['nft', 'show', id, 'b', '--base-url', api.url]
    const { stdout } = await cli(argv, { env, tty: true, columns: 52 })
    expect(stdout.split('\n').filter((line) => line.length > 52)).toEqual([])
    expect(stdout).toMatch(new RegExp(`^ID +${id}$`, 'm'))
    expect(stdout.match(/^TITLE /gm)).toHaveLength(2)
  })

  const id = '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'
  const shown = async (columns: number, more: Parameters<typeof nft>[1] = {}) => {
    const api = await fakeApi({ getnfts: knows(nft(id), nft('b', more)) })
    return await cli(['nft', 'show', id, 'b', '--base-url', api.url], { env, tty: true, columns })
  }

  test('shortens addresses, but never an ID', async () => {
    const { stdout } = await shown(76, { status: 'initiated' })
    expect(stdout).toContain(id)
    expect(stdout).toContain('0xfB69…d359')
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(76)
  })

  test('keeps both ends of an address at any width', async () => {
    const { stdout } = await shown(72, { status: 'initiated' })
    expect(stdout).toMatch(/ 0xfB\w*…359 /)
    for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(72)
  })

  test('prints a status shared by all rows once, below the table', async () => {
    const { stdout, stderr } = await shown(80)
    expect(stdout).not.toContain('STATUS')
    expect(stderr).toBe('All 2 NFTs have the status deployed.\n')
    expect((await shown(80, { status: 'initiated' })).stdout).toContain('STATUS')
    expect((await shown(120)).stdout).toContain('STATUS')
  })
})

test('prints one NFT on a terminal as rows of request and state', async () => {
  const ordered = nft('a', {
    request_metadata: {
      title: 'Dawn',
      description: 'The first light of a long day, seen from the top of a hill\nby somebody who was up early.',
      file_fields: [
        { key: 'image', url: 'ipfs://one' },
        { key: 'swatch', url: 'ipfs://two' },
      ],
      attribute: [{ tag: 'Light', value: 'low' }],
      edition: '1',
    },
  })
  const api = await fakeApi({ getnfts: knows(ordered) })
  const { stdout } = await cli(['nft', 'show', 'a', '--base-url', api.url], { env, tty: true, columns: 60 })
  expect(stdout.split('\n')).toEqual([
    'ID           a',
    'TITLE        Dawn',
    'DESCRIPTION  The first light of a long day, seen from the',
    '             top of a hill',
    '             by somebody who was up early.',
    'STATUS       deployed',
    'TOKEN        1',
    `OWNER        ${OWNER}`,
    `CONTRACT     ${CONTRACT}`,
    expect.stringMatching(/^METADATA {5}ipfs:/),
    'FILES        image   ipfs://one',
    '             swatch  ipfs://two',
    'ATTRIBUTES   Light  low',
    'EXTRAS       edition  1',
    '',
  ])
})

test('prints an NFT with metadata of an unknown format', async () => {
  const odd = [{ file_fields: 'x', attribute: [1] }, 'text', null, { title: 'T', file_fields: [{ url: 'u' }] }]
  for (const request_metadata of odd) {
    const api = await fakeApi({ getnfts: knows(nft('a', { request_metadata })) })
    const { code, stdout } = await cli(['nft', 'show', 'a', '--base-url', api.url], { env, tty: true })
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('STATUS') })
  }
})

test('prints the local backend as rows', async () => {
  const statusResult = await cli(['local', 'status'], { tty: true })
  expect(statusResult.stdout).toMatch(/^RUNNING {3}no\nDATA DIR {2}.+\n$/)
  expect((await cli(['local', 'status'])).stdout).toMatch(/^running\tfalse\nurl\t\ndata_dir\t.+\npid\t\n$/)
})

test('prints an empty list and exits with 0', async () => {
  const body = { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: [] }
  const api = await fakeApi({ getnftgdnids: () => ({ body }) })
  const list = (...more: string[]) =>
    cli(['nft', 'list', '-c', CONTRACT, '-b', 'polygon', '--base-url', api.url, ...more], { env })
  expect(await list('--json')).toEqual({ code: 0, stdout: '[]\n', stderr: '' })
  expect(await list('-o', 'ndjson')).toMatchObject({ code: 0, stdout: '' })
  expect(await list()).toMatchObject({ code: 0, stdout: '' })
})

test('escapes server text in tables, and keeps it unchanged in JSON', async () => {
  const evil = '\u001b]52;c;aGk=\u0007\u202e\r\n'
  const api = await fakeApi({ getnfts: knows(nft('a', { status: evil })) })
  const show = (...more: string[]) => cli(['nft', 'show', 'a', '--base-url', api.url, ...more], { env })
  const text = (await show()).stdout
  expect(text).toContain('\\u001b]52;c;aGk=\\u0007\\u202e\\u000d\\u000a')
  expect(text).not.toContain('\u001b')
  expect(JSON.parse((await show('--json')).stdout).status).toBe(evil)
})

test('uses color by stream and environment, and conveys nothing by color alone', async () => {
  const api = await fakeApi({ getnfts: knows(A) })
  const shown = (more: string[], extra: NodeJS.ProcessEnv, tty: boolean) =>
    cli(['nft', 'show', 'a', '--base-url', api.url, ...more], { env: { ...env, ...extra }, tty }).then((r) => r.stdout)
  const colored = '\u001b[32mdeployed\u001b[39m'
  expect(await shown([], { FORCE_COLOR: '1' }, true)).toContain(colored)
  expect(await shown([], { FORCE_COLOR: '1' }, false)).not.toContain('\u001b[32mdeployed\u001b[39m\t')
  for (const [more, extra] of [
    [[], { FORCE_COLOR: '1', NO_COLOR: '1' }],
    [['--no-color'], { FORCE_COLOR: '1' }],
    [[], { TERM: 'dumb' }],
  ] as const) {
    const text = await shown([...more], extra, true)
    expect(text).not.toContain('\u001b')
    expect(text).toContain('deployed')
  }
})

test('prints yes and no on a terminal, and true and false to a pipe', async () => {
  const { env: home } = await tempHome()
  const login = ['auth', 'login', '--base-url', 'https://api.example', '--no-check', '--store', 'file']
  expect((await cli(login, { env: home, stdin: 'secret-key' })).code).toBe(0)
  const status = ['auth', 'status', '--fields', 'server,in_use,profiles']
  expect((await cli(status, { env: home, tty: true })).stdout).toMatch(/api\.example +no/)
  expect((await cli(status, { env: home })).stdout).toContain('api.example\tfalse\t')
})
