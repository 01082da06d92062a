/** @module-tag slow */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { pngNamed } from '../helpers/pictures.ts'
import { folder, service, TARGET } from './drop.ts'
import { CONTRACT, fakeApi, OWNER } from './fake-api.ts'
import { cli, errorOf, timeUpWhileWaiting } from './harness.ts'

const OUTCOME = 'key,line,status,nft_gdn_id,token_id,contract_address,receiver_wallet_address,metadata_url,error,burned'

/** Mints a manifest, and returns a function that reads its results. */
async function minted(name: string, text: string, refuse?: (title: string) => boolean, ...flags: string[]) {
  const { path, options } = await folder({ [name]: text })
  const api = await fakeApi(service(refuse))
  const argv = ['batch', 'mint', path(name), ...TARGET, '--chunk-size', '1', '--base-url', api.url, '--json', ...flags]
  const mint = () => cli(argv, options)
  const { stdout, stderr } = await mint()
  if (stdout === '') throw new Error(stderr)
  const { run } = JSON.parse(stdout)
  const results = async (...more: string[]) => (await cli(['batch', 'results', run, ...more], options)).stdout
  return { results, path, options, mint }
}

/** Parses CSV by RFC 4180 without code of gdn. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain ?? '')
    if (end === '\r\n') rows.push([])
    if (end === '') break
  }
  return rows.slice(0, -1)
}

test('prints the manifest as minted with outcome columns appended, as CSV', { tags: ['promise'] }, async () => {
  const nasty = 'a "b", c\nd;e =1'
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`
  const { results } = await minted(
    'drop.csv',
    [
      'extra:series,title,attr:mood,description,receiver,image,id',
      [cell(nasty), '=HYPERLINK("x")', 'calm', '  spaced ', OWNER, 'https://example.com/a.png', 'one']
        .map((text, i) => (i === 0 ? text : cell(text)))
        .join(','),
      `,Dusk,,second,${OWNER},ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy,two`,
    ].join('\n'),
  )
  const [header, first, second, ...rest] = parseCsv(await results('-o', 'csv'))
  expect(rest).toEqual([])
  expect(header?.join(',')).toBe(`title,description,image,receiver,id,attr:mood,extra:series,${OUTCOME}`)
  expect(first?.slice(0, 10)).toEqual([
    '=HYPERLINK("x")',
    'spaced',
    'https://example.com/a.png',
    OWNER,
    'one',
    'calm',
    nasty,
    'one',
    '2',
    'deployed',
  ])
  expect(second?.slice(5, 10)).toEqual(['', '', 'two', '3', 'deployed'])
})

test('shows the title of each row, even of one that was removed from the manifest', async () => {
  const dawn = `Dawn,d,${OWNER}`
  const { results, path, mint } = await minted('drop.csv', `title,description,receiver\n${dawn}\nDusk,d,${OWNER}\n`)
  expect(JSON.parse(await results('--json')).map(({ title }: { title: string }) => title)).toEqual(['Dawn', 'Dusk'])
  expect(await results()).toMatch(/^2\tDawn\tdeployed\t1\t0x\w+\tid-0\n3\tDusk\t/)
  await writeFile(path('drop.csv'), `title,description,receiver\n${dawn}\n`)
  await mint()
  expect(JSON.parse(await results('--json')).map(({ title }: { title: string }) => title)).toEqual(['Dawn', 'Dusk'])
})

test('omits columns that no row uses, and keeps columns of one kind in the order of first use', async () => {
  const rows = [
    { title: 'a', description: 'd', receiver: OWNER, 'attr:z': '1' },
    { title: 'b', description: 'd', receiver: OWNER, 'attr:a': '2', 'file:b': 'https://example.com/b' },
    { title: 'c', description: 'd', receiver: OWNER, 'extra:x': '3', image: 'https://example.com/c' },
  ]
  const { results } = await minted('drop.json', JSON.stringify(rows))
  const [header] = (await results('-o', 'csv')).split('\r\n')
  expect(header).toBe(`title,description,image,file:b,receiver,attr:z,attr:a,extra:x,${OUTCOME}`)
})

test('adds a second column of the same name for an attribute that an NFT has twice', async () => {
  const attribute = [
    { tag: 'mood', value: 'calm' },
    { tag: 'mood', value: 'wild' },
  ]
  const metadata = { title: 'a', description: 'd', file_fields: [], attribute }
  const { path, options } = await folder({ 'drop.json': JSON.stringify([metadata]) })
  const api = await fakeApi(service())
  const argv = ['batch', 'mint', path('drop.json'), ...TARGET, '--receiver', OWNER, '--base-url', api.url, '--json']
  const { run } = JSON.parse((await cli(argv, options)).stdout)
  const { stdout } = await cli(['batch', 'results', run, '-o', 'csv'], options)
  expect(stdout).toMatch(/^title,description,receiver,attr:mood,attr:mood,key/)
  expect(stdout).toContain(`${OWNER},calm,wild,`)
})

test('shows a local file by its path in the manifest', async () => {
  const { path, options } = await folder({
    'drop.csv': `title,description,receiver,image\nDawn,d,${OWNER},media/dawn.png\n`,
  })
  await mkdir(dirname(path('media/dawn.png')))
  await writeFile(path('media/dawn.png'), pngNamed('dawn'))
  const url = `ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy`
  const api = await fakeApi({ ...service(), files: () => ({ body: { url } }) })
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json']
  const { run } = JSON.parse((await cli(argv, options)).stdout)
  const { stdout } = await cli(['batch', 'results', run, '-o', 'csv'], options)
  expect(stdout.split('\r\n')[1]).toMatch(new RegExp(`^Dawn,d,media/dawn.png,${OWNER},`))
})

test('shows empty manifest cells for a row that was removed after it was sent', async () => {
  const { path, options } = await folder()
  const api = await fakeApi(service((title) => title === 'Dusk'))
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--chunk-size', '1', '--base-url', api.url, '--json']
  const mint = (...more: string[]) => cli([...argv, ...more], options)
  const { run } = JSON.parse((await mint()).stdout)
  await writeFile(path('drop.csv'), `title,description,receiver\nNoon,third,${OWNER}\n`)
  expect((await mint('--new-rows')).code).toBe(0)
  const lines = (await cli(['batch', 'results', run, '-o', 'csv'], options)).stdout.split('\r\n')
  expect(lines[1]).toMatch(/^Noon,third,.*,deployed,/)
  expect(lines[2]).toMatch(/^,,,.*,deployed,id-0,/)
})

test('prints only the result fields of --fields, also as CSV, and only the rows of --status', async () => {
  const csv = `title,description,receiver\nDawn,d,${OWNER}\nDusk,d,${OWNER}\n`
  const { results } = await minted('drop.csv', csv, (title) => title === 'Dusk')
  expect(await results('-o', 'csv', '--fields', 'line,status')).toBe('line,status\r\n2,deployed\r\n3,failed\r\n')
  expect(await results('--status', 'failed,unknown', '--json', '--fields', 'line')).toBe('[{"line":3}]\n')
  expect(await results('-o', 'ids', '--status', 'deployed')).toBe('id-0\n')
})

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  [' =1', "' =1"],
  ['"=1"', '\'"=1"'],
  ["'=1", "''=1"],
  ['\t=1', "'\t'=1"],
  ['\ttext', "'\ttext"],
  ['\rtext', "'\rtext"],
  ['＝1', "'＝1"],
  ['a;=1', "a;'=1"],
  ['a\n=1', "a\n'=1"],
  ['a = 1, b - c', 'a = 1, b - c'],
  ['x@example.com', 'x@example.com'],
])('--for-spreadsheet: converts %j to %j', async (cell, harmless) => {
  // A metadata object keeps the white space around its texts.
  const metadata = [{ title: cell, description: 'd', file_fields: [] }]
  const { results } = await minted('drop.json', JSON.stringify(metadata), undefined, '--receiver', OWNER)
  expect(parseCsv(await results('-o', 'csv'))[1]?.[0]).toBe(cell)
  const sheet = await results('-o', 'csv', '--for-spreadsheet')
  expect(sheet).toMatch(/^\ufeff/)
  expect(parseCsv(sheet.slice(1))[1]?.[0]).toBe(harmless)
})

test('--for-spreadsheet uses separator, headers and order of the manifest, with a byte order mark', async () => {
  const { path, options } = await folder({
    'drop.csv': `=Bild;Beschreibung;Titel;attr:mood;receiver\nhttps://example.com/a.png;a, b;"x;y";calm;${OWNER}\n`,
    'gdn.config.json': '{"map":{"=Bild":"image","Beschreibung":"description"}}',
  })
  const api = await fakeApi(service())
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--map', 'Titel=title', '--base-url', api.url, '--json']
  const mint = await cli(argv, options)
  expect(mint.code, mint.stderr).toBe(0)
  const results = async (...more: string[]) =>
    (await cli(['batch', 'results', path('drop.csv'), '-o', 'csv', ...more], options)).stdout
  const [head, row] = (await results('--for-spreadsheet')).split('\r\n')
  // Only --map gave the other column its meaning, and nothing remembers that.
  expect(head).toBe(`\ufeff'=Bild;Beschreibung;attr:mood;receiver;title;${OUTCOME.replaceAll(',', ';')}`)
  expect(row).toMatch(new RegExp(`^https://example.com/a.png;"a, b";calm;${OWNER};"x;y";`))
  const some = await results('--for-spreadsheet', '--fields', 'line,status')
  expect(some).toBe('\ufeffline;status\r\n2;deployed\r\n')
  // Programs get the same in any case.
  expect(await results('--fields', 'line,status')).toBe('line,status\r\n2,deployed\r\n')
  expect(await results()).toMatch(/^title,description,image,receiver,attr:mood,key,/)
  // Without the file, the columns have the names of the documentation.
  await rm(path('drop.csv'))
  const run = JSON.parse(mint.stdout).run
  const { stdout } = await cli(['batch', 'results', run, '-o', 'csv', '--for-spreadsheet'], options)
  expect(stdout).toMatch(/^\ufefftitle,description,image,receiver,attr:mood,key,/)
})

test('says why an accepted row is not minted yet, until it is', async () => {
  const { path, options } = await folder()
  const { createnft, getnfts } = service()
  let reason: string | null = 'the signer lacks 0.2 POL'
  const api = await fakeApi({
    createnft,
    getnfts(body: { nft_gdn_ids: string[] }) {
      const { requests, nfts } = getnfts(body).body as { requests: object; nfts: object[] }
      const pending = { status: 'initiated', token_id: null, ...(reason !== null && { pending_reason: reason }) }
      return { body: { requests, nfts: nfts.map((nft) => ({ ...nft, ...pending })) } }
    },
  })
  const mint = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json']
  const errors = async () => {
    const { code, message } = errorOf(await cli(mint, { ...options, ...timeUpWhileWaiting() }))
    expect(code).toBe('pending')
    expect(message).toMatch(new RegExp(`2 rows accepted but not deployed yet${reason === null ? '' : `: ${reason}`}$`))
    const { stdout } = await cli(['batch', 'results', path('drop.csv'), '--json'], options)
    return JSON.parse(stdout).map(({ status, error }: { status: string; error: string | null }) => [status, error])
  }
  const accepted = (error: string | null) => Array(2).fill(['accepted', error])
  expect(await errors()).toEqual(accepted('waiting: the signer lacks 0.2 POL'))
  reason = 'possibly minted twice: no'
  expect(await errors()).toEqual(accepted('waiting: possibly minted twice: no'))
  reason = null
  expect(await errors()).toEqual(accepted(null))
})

test('--for-spreadsheet uses the separator of the manifest that a command names', async () => {
  const { path, options } = await folder({ 'drop.tsv': `title\tdescription\treceiver\nDawn\td\t${OWNER}\n` })
  const argv = ['batch', 'validate', path('drop.tsv'), ...TARGET, '-o', 'csv', '--fields', 'rows,valid']
  expect((await cli(argv, options)).stdout).toBe('rows,valid\r\n1,true\r\n')
  expect((await cli([...argv, '--for-spreadsheet'], options)).stdout).toBe('\ufeffrows\tvalid\r\n1\ttrue\r\n')
})

test('--for-spreadsheet uses the separator of the manifest in every command that answers to one', async () => {
  const text = `title;description;receiver\nDawn;d;${OWNER}\nDusk;d;${OWNER}\n`
  const { path, options } = await minted('drop.csv', text, (title) => title === 'Dusk')
  const manifest = path('drop.csv')
  const sheets = ['--to', path('sheet.html'), '--force']
  const resume = ['batch', 'resume', manifest]
  for (const argv of [
    ['batch', 'status', manifest],
    ['batch', 'report', manifest, ...sheets],
    ['batch', 'preview', manifest, ...sheets, '-b', 'polygon'],
    ['batch', 'mint', manifest, ...TARGET, '--dry-run', '--no-lookup', '--base-url', 'http://127.0.0.1:9'],
    [...resume, '--dry-run'],
    resume,
  ]) {
    const { stdout, stderr } = await cli([...argv, '-o', 'csv', '--for-spreadsheet'], options)
    expect(stdout, `${argv.join(' ')}: ${stderr}`).toMatch(/^\ufeff\w+;/)
  }
})

test('--for-spreadsheet lists the NFTs of a collection as the manifest has them', async () => {
  const text = `Name;Note;description;Wallet;Photo\n=Dawn;calm;"a;b";${OWNER};https://example.com/a.png\n`
  const { path, options } = await folder({ 'drop.csv': text })
  const api = await fakeApi({
    ...service(),
    getnftgdnids: () => ({
      body: {
        requests: { contract_address: CONTRACT, blockchain: 'polygon' },
        nft_gdn_ids: api.bodies('createnft').map(() => 'id-0'),
      },
    }),
  })
  const mint = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--map', 'Note=attr:mood']
  expect((await cli(mint, options)).code).toBe(0)
  const list = ['nft', 'list', ...TARGET, '--base-url', api.url, '-o', 'csv']
  const [head = '', row = ''] = (await cli([...list, '--for-spreadsheet'], options)).stdout.split('\r\n')
  expect(head).toMatch(/^\ufeffName;description;Wallet;Photo;attr:mood;token_id;status;nft_gdn_id;/)
  expect(row).toMatch(new RegExp(`^'=Dawn;"a;b";${OWNER};https://example.com/a.png;calm;1;deployed;id-0;`))
  const fields = [...list, '--for-spreadsheet', '--fields', 'token_id,status']
  expect((await cli(fields, options)).stdout).toBe('\ufefftoken_id;status\r\n1;deployed\r\n')
  await rm(path('drop.csv'))
  expect((await cli([...list, '--for-spreadsheet'], options)).stdout).toMatch(
    /^\ufefftitle,description,image,receiver,/,
  )
  expect((await cli(list, options)).stdout).toMatch(/^nft_gdn_id,token_id,/)
})

test('says how a machine that did not mint the drop gets its run', async () => {
  const { path, options } = await folder({ 'drop.csv': `title,description,receiver\nDawn,first,${OWNER}\n` })
  const { stderr } = await cli(['batch', 'results', path('drop.csv')], options)
  expect(stderr).toContain('It finds the NFTs that another machine has minted')
})

test('says on a terminal what the rows are shown as', async () => {
  const { path, options } = await minted('drop.csv', `title,description,receiver\nDawn,first,${OWNER}`)
  const argv = ['batch', 'results', path('drop.csv')]
  const shown = async (...more: string[]) => (await cli([...argv, ...more], { ...options, tty: true })).stderr
  expect(await shown()).toBe(
    'Rows have the values that gdn last minted or applied. `gdn plan` compares the manifest with the current NFTs.\n',
  )
  expect(await shown('--json')).toBe('')
})
