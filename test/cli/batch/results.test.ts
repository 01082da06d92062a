/** @module-tag slow */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { COMMANDS, makeCommand } from '../../../src/cli/catalogue.ts'
import type { Deps } from '../../../src/cli/deps.ts'
import { pngNamed } from '../../helpers/images.ts'
import { rpcRoute } from '../contract/scenarios.ts'
import { CONTRACT, fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf, timeUpWhileWaiting } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const OTHER_CONTRACT = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

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
  return { results, path, options, mint, url: api.url }
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
  expect(header?.join(',')).toBe(`extra:series,title,attr:mood,description,receiver,image,id,${OUTCOME}`)
  expect(first?.slice(0, 10)).toEqual([
    nasty,
    '=HYPERLINK("x")',
    'calm',
    'spaced',
    OWNER,
    'https://example.com/a.png',
    'one',
    'one',
    '2',
    'deployed',
  ])
  expect([...(second?.slice(0, 3) ?? []), ...(second?.slice(6, 10) ?? [])]).toEqual([
    ...['', 'Dusk', '', 'two'],
    ...['two', '3', 'deployed'],
  ])
})

test('shows the title of each row, and no line for one that was removed from the manifest', async () => {
  const dawn = `Dawn,d,${OWNER}`
  const { results, path, mint } = await minted('drop.csv', `title,description,receiver\n${dawn}\nDusk,d,${OWNER}\n`)
  expect(JSON.parse(await results('--json')).map(({ title }: { title: string }) => title)).toEqual(['Dawn', 'Dusk'])
  expect(await results()).toMatch(/^2\tDawn\tdeployed\t1\t0x\w+\tid-0\n3\tDusk\t/)
  await writeFile(path('drop.csv'), `title,description,receiver\n${dawn}\n`)
  await mint()
  const shownRecords = JSON.parse(await results('--json')) as { line: number | null; title: string }[]
  expect(shownRecords.map(({ line, title }) => [line, title])).toEqual([
    [2, 'Dawn'],
    [null, 'Dusk'],
  ])
  expect(await results('-o', 'csv', '--fields', 'line')).toBe('line\r\n2\r\n\r\n')
})

test.each(['batch mint', 'apply'])('shows a finished run as its manifest was sorted before gdn %s', async (command) => {
  const lines = ['a,Noon,n', 'b,Dusk,k', 'c,Dawn,d', 'd,Eve,e'].map((line) => `${line},${OWNER}`)
  const write = (order: readonly number[], end: string) =>
    ['id,title,description,receiver', ...order.map((at) => lines[at])].map((line) => line + end).join('')
  const { results, path, options, url } = await minted('drop.csv', write([0, 1, 2, 3], '\n'))
  const argv = [...command.split(' '), path('drop.csv'), ...TARGET, '--base-url', url, '--yes']
  const after = async (order: readonly number[], end: string) => {
    await writeFile(path('drop.csv'), write(order, end))
    expect((await cli(argv, options)).code).toBe(0)
    const shownRecords = JSON.parse(await results('--json')) as { line: number; title: string; nft_gdn_id: string }[]
    return shownRecords.map(({ line, title, nft_gdn_id }) => `${line} ${title} ${nft_gdn_id}`)
  }
  expect(await after([2, 0, 3, 1], '\n')).toEqual(['2 Dawn id-2', '3 Noon id-0', '4 Eve id-3', '5 Dusk id-1'])
  expect(await after([2, 0, 3, 1], '\n\n')).toEqual(['3 Dawn id-2', '5 Noon id-0', '7 Eve id-3', '9 Dusk id-1'])
  expect(await after([0, 1, 2, 3], '\n')).toEqual(['2 Noon id-0', '3 Dusk id-1', '4 Dawn id-2', '5 Eve id-3'])
})

test.each([[['-o', 'csv', '--fields', 'key,line']], [[]]])(
  'warns where the rows are on other lines now (%s)',
  async (flags) => {
    const lines = [`a,Noon,n,${OWNER}`, `b,Dusk,k,${OWNER}`]
    const write = (...rows: string[]) => ['id,title,description,receiver', ...rows, ''].join('\n')
    const { path, options } = await minted('drop.csv', write(...lines))
    const warning = async (text: string) => {
      await writeFile(path('drop.csv'), text)
      return (await cli(['batch', 'results', path('drop.csv'), ...flags], options)).stderr
    }
    expect(await warning(write(...lines))).not.toContain('on other lines')
    expect(await warning(write(...lines, `c,Eve,e,${OWNER}`))).not.toContain('on other lines')
    expect(await warning(write(...lines.toReversed()))).toContain('drop.csv are on different lines now.')
  },
)

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
  expect(stdout.split('\r\n')[1]).toMatch(new RegExp(`^Dawn,d,${OWNER},media/dawn.png,`))
})

test('shows a row that was removed after it was sent as it was sent', async () => {
  const { path, options } = await folder()
  const api = await fakeApi(service((title) => title === 'Dusk'))
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--chunk-size', '1', '--base-url', api.url, '--json']
  const mint = (...more: string[]) => cli([...argv, ...more], options)
  const { run } = JSON.parse((await mint()).stdout)
  await writeFile(path('drop.csv'), `title,description,receiver\nNoon,third,${OWNER}\n`)
  expect((await mint('--new-rows')).code).toBe(0)
  const lines = (await cli(['batch', 'results', run, '-o', 'csv'], options)).stdout.split('\r\n')
  expect(lines[1]).toMatch(/^Noon,third,.*,deployed,/)
  expect(lines[2]).toMatch(/^Dawn,.*,deployed,id-0,/)
})

test('prints only the result fields of --fields, also as CSV, and only the rows of --status', async () => {
  const csv = `title,description,receiver\nDawn,d,${OWNER}\nDusk,d,${OWNER}\n`
  const { results } = await minted('drop.csv', csv, (title) => title === 'Dusk')
  expect(await results('-o', 'csv', '--fields', 'line,status')).toBe('line,status\r\n2,deployed\r\n3,failed\r\n')
  expect(await results('--status', 'failed,unknown', '--json', '--fields', 'line')).toBe('[{"line":3}]\n')
  expect(await results('-o', 'ids', '--status', 'deployed')).toBe('id-0\n')
})

test('--fields selects the columns of the manifest in CSV, by their names in the file and in the documentation', async () => {
  const csv = `id,Titel,description,receiver,Preis\nrow-1,Dawn,d,${OWNER},10\n`
  const flags = ['--map', 'Titel=title', '--map', 'Preis=attr:Preis']
  const { results, path } = await minted('drop.csv', csv, undefined, ...flags)
  const project = JSON.stringify({ map: { Titel: 'title', Preis: 'attr:Preis' } })
  const some = async (fields: string, ...more: string[]) => await results('-o', 'csv', '--fields', fields, ...more)
  expect(await some('id,title,attr:Preis,status,nft_gdn_id')).toBe(
    'id,title,attr:Preis,status,nft_gdn_id\r\nrow-1,Dawn,10,deployed,id-0\r\n',
  )
  await writeFile(path('gdn.config.json'), project)
  expect(await some('Preis,Titel,description')).toBe('Preis,Titel,description\r\n10,Dawn,d\r\n')
  expect(await some('Preis,attr:Preis', '--for-spreadsheet')).toBe('\ufeffPreis,attr:Preis\r\n10,10\r\n')
})

test('an unknown field of the CSV is rejected with the columns of the manifest', async () => {
  const { path, options } = await minted('drop.csv', `title,description,receiver\nDawn,d,${OWNER}\n`)
  const { code, stderr } = await cli(['batch', 'results', path('drop.csv'), '-o', 'csv', '--fields', 'x'], options)
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('unknown field "x"') })
  expect(stderr).toMatch(/The fields are .*\bdescription\b/)
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
  expect(head).toBe(`\ufeff'=Bild;Beschreibung;Titel;attr:mood;receiver;${OUTCOME.replaceAll(',', ';')}`)
  expect(row).toMatch(new RegExp(`^https://example.com/a.png;"a, b";"x;y";calm;${OWNER};`))
  const some = await results('--for-spreadsheet', '--fields', 'line,status')
  expect(some).toBe('\ufeffline;status\r\n2;deployed\r\n')
  const shown = ['batch', 'results', path('drop.csv'), '-o', 'csv', '--for-spreadsheet', '--fields', 'line,status']
  expect((await cli(shown, { ...options, tty: true })).stdout).toBe('line;status\r\n2;deployed\r\n')
  // Programs get the names of the documentation.
  expect(await results('--fields', 'line,status')).toBe('line,status\r\n2,deployed\r\n')
  expect(await results()).toMatch(/^image,description,title,attr:mood,receiver,key,/)
  // Without the file, the columns have the names of the documentation.
  await rm(path('drop.csv'))
  const run = JSON.parse(mint.stdout).run
  const { stdout } = await cli(['batch', 'results', run, '-o', 'csv', '--for-spreadsheet'], options)
  expect(stdout).toMatch(/^\ufefftitle,description,image,receiver,attr:mood,key,/)
})

test('CSV has the ignored columns of the manifest at their places, with the cells of the current file', async () => {
  const csv = (...rows: string[]) => `sep=;\nPreis;Titel;description;Notiz;receiver;status\n${rows.join('\n')}\n`
  const dawn = `"1,50";Dawn;d;=geheim;${OWNER};x`
  const dusk = `2;Dusk;d;;${OWNER};x`
  const maps = ['Titel=title', 'Preis=ignore', 'Notiz=ignore', 'status=ignore'].flatMap((map) => ['--map', map])
  const { results, path, options } = await minted('drop.csv', csv(dawn, dusk), undefined, ...maps)
  const cells = async (...more: string[]) => parseCsv(await results('-o', 'csv', ...more)).map((row) => row.slice(0, 5))
  const [head, ...rows] = await cells()
  expect(head).toEqual(['Preis', 'title', 'description', 'Notiz', 'receiver'])
  expect(rows.slice(0, 2)).toEqual([
    ['1,50', 'Dawn', 'd', '=geheim', OWNER],
    ['2', 'Dusk', 'd', '', OWNER],
  ])
  // A field of the results has the name of the last column.
  expect((await results('-o', 'csv')).split('\r\n')[0]?.match(/\bstatus\b/g)).toHaveLength(1)
  expect(await results('-o', 'csv', '--fields', 'Preis,Titel,status')).toContain('"1,50",Dawn,deployed\r\n')
  expect(await results('-o', 'csv', '--for-spreadsheet')).toContain(`\r\n"1,50";Dawn;d;'=geheim;${OWNER};`)
  await writeFile(path('drop.csv'), csv(dusk.replace('2;', '3;'), dawn))
  expect((await cells()).slice(1, 3).map(([price, title]) => [price, title])).toEqual([
    ['1,50', 'Dawn'],
    ['3', 'Dusk'],
  ])
  // An edited row without an ID is another one, but most of its values are equal.
  await writeFile(path('drop.csv'), csv(dawn.replace('Dawn', 'Morning')))
  expect((await cells())[1]?.slice(0, 4)).toEqual(['1,50', 'Dawn', 'd', '=geheim'])
  const all = ['batch', 'results', path('drop.csv'), '-o', 'csv']
  const missing = (what: string) =>
    `The file no longer contains ${what} of the run. The columns that gdn ignores are empty in`
  expect((await cli(all, options)).stderr).toContain(missing('1 row'))
  await writeFile(path('drop.csv'), csv(`9;Night;n;secret;0x${'7'.repeat(40)};x`))
  expect((await cells())[1]?.slice(0, 4)).toEqual(['', 'Dawn', 'd', ''])
  expect((await cli(all, options)).stderr).toContain(missing('2 rows'))
})

test('follows the --map of the last command that read the manifest', async () => {
  const csv = (title: string) => `id,${title},description,receiver\na,Dawn,d,${OWNER}\n`
  const { results, path, options, url } = await minted('drop.csv', csv('Titel'), undefined, '--map', 'Titel=title')
  await writeFile(path('drop.csv'), csv('Werk'))
  const renamed = await cli(['batch', 'results', path('drop.csv')], options)
  expect(renamed.stderr).toContain("can't be read with the run's options")
  const mint = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url, '--map', 'Werk=title']
  expect((await cli(mint, options)).stderr).toContain('Nothing is left to do')
  expect((await cli(['batch', 'results', path('drop.csv')], options)).stderr).toBe('')
  expect(await results('-o', 'csv', '--for-spreadsheet')).toMatch(/^\ufeffid,Werk,description,receiver,key,/)
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
    expect(message).toMatch(
      new RegExp(`2 rows are accepted, but not deployed yet${reason === null ? '' : `: ${reason}`}$`),
    )
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
  const { path, options, url } = await minted('drop.csv', text, (title) => title === 'Dusk')
  const manifest = path('drop.csv')
  const sheets = ['--to', path('sheet.html'), '--force']
  const resume = ['batch', 'resume', manifest]
  const tried = new Set<string>()
  for (const argv of [
    ['batch', 'status', manifest],
    ['batch', 'results', manifest],
    ['batch', 'validate', manifest, ...TARGET],
    ['batch', 'rarity', manifest, '-b', 'polygon'],
    ['batch', 'report', manifest, ...sheets],
    ['batch', 'preview', manifest, ...sheets, '-b', 'polygon'],
    ['batch', 'mint', manifest, ...TARGET, '--dry-run', '--no-lookup', '--base-url', 'http://127.0.0.1:9'],
    [...resume, '--dry-run'],
    resume,
    ['batch', 'retry', manifest],
    ['batch', 'reconcile', manifest],
    ['plan', manifest, ...TARGET, '--base-url', url],
    ['apply', manifest, ...TARGET, '--base-url', url, '--yes'],
    ['nft', 'mint', '-f', manifest, ...TARGET, '--base-url', url],
    ['batch', 'rm', manifest, '--yes'],
  ]) {
    const { stdout, stderr } = await cli([...argv, '-o', 'csv', '--for-spreadsheet'], options)
    expect(stdout, `${argv.join(' ')}: ${stderr}`).toMatch(/^\ufeff\w+;/)
    tried.add(
      argv
        .slice(0, argv.indexOf(manifest))
        .filter((word) => word !== '-f')
        .join(' '),
    )
  }
  const answering = ['nft mint']
  for (const verb of COMMANDS) {
    const { registeredArguments } = await makeCommand(verb, {} as Deps)
    if (registeredArguments.some((one) => ['manifest', 'run'].includes(one.name()))) answering.push(verb.command)
  }
  // The next test tries cost and reveal, and e2e/rehearse.test.ts tries batch rehearse.
  expect([...tried, 'cost', 'reveal', 'batch rehearse'].sort()).toEqual(answering.sort())
})

test('--for-spreadsheet uses the separator of the manifest in the cost and the reveal of one', async () => {
  const { path, options } = await folder({ 'drop.csv': `title;description;receiver\nDawn;d;${OWNER}\n` })
  const requests = { blockchain: 'polygon' }
  const gas_price = { low: '1', typical: '1', high: '1', offered: '1' }
  const fees = { is_simulated: false, currency: 'POL', gas_price, data: { bytes: 1000, fee: '0', gas: '0' } }
  const node = rpcRoute({ eth_chainId: '0x89', eth_call: `0x${'1'.padStart(64, '0')}` })
  const { url } = await fakeApi({
    ...service(),
    getfees: () => ({ body: { requests, fees } }),
    '/rpc/polygon': node,
  })
  const target = [path('drop.csv'), ...TARGET, '--base-url', url]
  expect((await cli(['batch', 'mint', ...target], options)).code).toBe(0)
  for (const name of ['cost', 'reveal']) {
    const { stdout, stderr } = await cli([name, ...target, '-o', 'csv', '--for-spreadsheet'], options)
    expect(stdout, `${name}: ${stderr}`).toMatch(/^\ufeff\w+;/)
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
  // Servers return no dates of NFTs.
  expect(head).not.toContain('accepted_date')
  expect(row).toMatch(new RegExp(`^'=Dawn;"a;b";${OWNER};https://example.com/a.png;calm;1;deployed;id-0;`))
  const fields = [...list, '--for-spreadsheet', '--fields', 'token_id,status']
  expect((await cli(fields, options)).stdout).toBe('\ufefftoken_id;status\r\n1;deployed\r\n')
  const sheet = { ...options, tty: true }
  expect((await cli([...list, '--for-spreadsheet'], sheet)).stdout).toMatch(/^Name;description;Wallet;/)
  await rm(path('drop.csv'))
  expect((await cli([...list, '--for-spreadsheet'], options)).stdout).toMatch(
    /^\ufefftitle,description,image,receiver,/,
  )
  expect((await cli(list, options)).stdout).toMatch(/^nft_gdn_id,token_id,/)
})

test('says how a machine that did not mint the drop gets its run', async () => {
  const { path, options } = await folder({ 'drop.csv': `title,description,receiver\nDawn,first,${OWNER}\n` })
  const { stderr } = await cli(['batch', 'results', path('drop.csv')], options)
  expect(stderr).toContain('gdn also finds the NFTs that another machine minted')
})

test('says on a terminal what the rows are shown as', async () => {
  const { path, options } = await minted('drop.csv', `title,description,receiver\nDawn,first,${OWNER}`)
  const argv = ['batch', 'results', path('drop.csv')]
  const shown = async (...more: string[]) => (await cli([...argv, ...more], { ...options, tty: true })).stderr
  expect(await shown()).toBe(
    'The results show the values that gdn last minted or applied. `gdn plan` compares the manifest with the current NFTs.\n',
  )
  expect(await shown('--json')).toBe('')
})

test('names the receiver of --receiver in the commands for an edited manifest', async () => {
  const text = (title: string) => `id,title,description\na,${title},x\n`
  const { path, options } = await minted('drop.csv', text('Dawn'), undefined, '--receiver', OWNER)
  await writeFile(path('drop.csv'), text('Dusk'))
  for (const command of ['results', 'status']) {
    const { stderr } = await cli(['batch', command, path('drop.csv')], options)
    for (const verb of ['plan', 'apply']) {
      expect(stderr).toMatch(new RegExp(`Run \`gdn ${verb} \\S+drop.csv [^\`]*--receiver ${OWNER}[ \`]`))
    }
  }
})

test('names the earlier --receiver if only the receiver of rows without an ID differs', async () => {
  const text = 'title,description\nDawn,x\nDusk,x\n'
  const { path, options, url } = await minted('drop.csv', text, undefined, '--receiver', OWNER)
  const other = '0x00000000000000000000000000000000000000b2'
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--receiver', other, '--base-url', url, '--json']
  const { code, hint } = errorOf(await cli(argv, options))
  expect(code).toBe('edited_rows')
  expect(hint?.split('\n').slice(0, 2)).toEqual([
    'Nothing was sent. With a different receiver, a row without an ID would be minted a second time.',
    `The run minted these rows to ${OWNER}. To resume it, use --receiver ${OWNER}.`,
  ])
  expect(hint).not.toContain('revert the edits')
})

test('counts the rows of the manifest that are not part of the run, also in its status, and lists them for programs', async () => {
  const rows = (title: string, more = '') =>
    `id,title,description,receiver\na,${title},x,${OWNER}\nb,Dusk,x,${OWNER}\n${more}`
  const { path, options, url } = await minted('drop.csv', rows('Dawn'))
  const file = path('drop.csv')
  const run = async (...argv: string[]) => await cli(['batch', ...argv], options)
  expect((await run('results', file)).stderr).toBe('')
  const again = `${file} --base-url ${url}`
  const newRow = `c,Noon,x,${OWNER}\n`
  await writeFile(file, rows('Morning', newRow))
  const counted = [
    `${file} differs from the rows of the run: 1 row added, 1 edited, 0 removed.`,
    '  edited: a (line 2)',
    '  added: c (line 4)',
    `1 row of the file isn't part of the run. The run still has the earlier values of 1 edited row. Run \`gdn plan ${again}\` to compare the file with the NFTs. Run \`gdn apply ${again}\` to make the remaining changes, except burns, and record the new values. If a saved plan was interrupted, apply its file again instead.`,
  ]
  for (const argv of [
    ['results', file],
    ['results', file, '-q', '-o', 'csv'],
    ['report', file, '-q'],
    ['status', file],
  ]) {
    expect((await run(...argv)).stderr.trimEnd().split('\n')).toEqual(counted)
  }
  const { stdout, stderr } = await run('results', file, '--json')
  const listed = JSON.parse(stdout) as Record<string, unknown>[]
  expect([stderr, listed.map(({ status }) => status)]).toEqual(['', ['deployed', 'deployed', 'edited', 'new']])
  expect(listed.slice(2)).toMatchObject([
    { key: 'a', line: 2, title: 'Morning', nft_gdn_id: null, burned: null },
    { key: 'c', line: 4, title: 'Noon' },
  ])
  expect(Object.keys(listed[3] ?? {}).sort()).toEqual(Object.keys(listed[0] ?? {}).sort())
  expect(JSON.parse((await run('results', file, '--json', '--status', 'deployed')).stdout)).toHaveLength(2)
  await writeFile(file, 'id,title\n')
  const broken = await run('results', file)
  expect([broken.code, broken.stdout.split('\n')]).toMatchObject([0, { length: 3 }])
  expect(broken.stderr).toContain(
    `Run \`gdn batch validate ${file} --contract ${CONTRACT} --blockchain polygon --base-url ${url}\` to list the errors. If the columns of the file need --map, add --map to the command.`,
  )
})

test('names the collection and the run in hints if the manifest has runs in several collections', async () => {
  const rows = (title: string) => `id,title,description,receiver\na,${title},x,${OWNER}\n`
  const { path, options, url } = await minted('drop.csv', rows('Dawn'), undefined, '--run', 'jan')
  const file = path('drop.csv')
  const results = async (more: Record<string, string> = {}) => {
    const env = { ...options.env, GDN_BASE_URL: url, ...more }
    return (await cli(['batch', 'results', 'jan', '-c', CONTRACT], { ...options, env })).stderr
  }
  await writeFile(file, rows('Morning'))
  expect(await results()).toContain(`\`gdn apply ${file} --run jan\``)
  await writeFile(file, rows('Dawn'))
  const other = ['batch', 'mint', file, '-c', OTHER_CONTRACT, '-b', 'polygon', '--run', 'jan', '--base-url', url]
  expect((await cli(other, options)).code).toBe(0)
  await writeFile(file, rows('Morning'))
  const again = `${file} --contract ${CONTRACT} --blockchain polygon --run jan`
  const shown = await results()
  for (const command of ['plan', 'apply']) expect(shown).toContain(`\`gdn ${command} ${again}\``)
  expect(await results({ GDN_CONTRACT: CONTRACT })).toContain(`\`gdn apply ${file} --run jan\``)
})
