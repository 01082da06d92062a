/** @module-tag slow */
import { appendFile, mkdir, writeFile } from 'node:fs/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { confirmDuplicates } from '../../../src/cli/batch/report/row-warnings.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { pngNamed } from '../../helpers/images.ts'
import { openMcpSession } from '../../helpers/mcp-session.ts'
import { CONTRACT, fakeApi, nft, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const NO_ID = "no row has an ID: rows without one can't be edited after they are minted"
const NO_IMAGE = 'no row has an image: marketplaces show no image'
const COLUMNS = 'id,title,description,receiver,image'
const row = (id: string, title = 'Dawn', image = 'a.png') => `${id},${title},x,${OWNER},${image}\n`

async function drop(text: string, files: Record<string, string | Uint8Array> = { 'a.png': pngNamed('a') }) {
  const { path, options } = await folder({ 'drop.csv': text, ...files })
  const gdn = (argv: readonly string[], more: object = {}) => cli([...argv], { ...options, ...more })
  return { path, gdn, manifest: path('drop.csv') }
}

const validated = async (text: string) => {
  const { gdn, manifest } = await drop(text)
  const argv = ['batch', 'validate', manifest, ...TARGET]
  const { code, stdout } = await gdn([...argv, '--json'])
  expect(code).toBe(0)
  const { warnings } = JSON.parse(stdout) as { warnings: { place: { line?: number }; message: string }[] }
  const { stderr } = await gdn(argv)
  for (const { message } of warnings) expect(stderr).toContain(message)
  return warnings.map(({ place, message }) => (place.line === undefined ? message : `${place.line}: ${message}`))
}

const STORED = 'ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
const uploads = () => ({ ...service(), files: () => ({ body: { url: STORED } }) })

test('names the column that seems to contain the images if no row has an image', async () => {
  const { gdn, manifest } = await drop(`id,title,description,receiver,Bild,Mood\na,Dawn,x,${OWNER},img/a.png,calm\n`)
  const argv = ['batch', 'validate', manifest, ...TARGET, '--unknown-columns', 'attr', '--json']
  const { warnings } = JSON.parse((await gdn(argv)).stdout)
  expect(warnings).toMatchObject([
    { message: NO_IMAGE, hint: 'The column "Bild" seems to contain images: add --map Bild=image.' },
  ])
  const empty = await drop(`id,title,description,receiver,image\na,Dawn,x,${OWNER},\n`)
  const { stdout } = await empty.gdn(['batch', 'validate', empty.manifest, ...TARGET, '--json'])
  expect(JSON.parse(stdout).warnings[0].hint).toBe('Enter a URL or path in the column "image" of each row.')
})

describe('rows without an ID', () => {
  test('are warned about by validate, once', async () => {
    expect(await validated(`title,description,receiver,image\n${row('').slice(1)}Dusk,x,${OWNER},a.png\n`)).toEqual([
      NO_ID,
    ])
    expect(await validated(`${COLUMNS}\n${row('a')}${row('')}`)).toEqual([
      "3: 1 of 2 rows has no ID: rows without one can't be edited after they are minted",
    ])
    expect(await validated(`${COLUMNS}\n${row('a')}${row('b')}`)).toEqual([])
  })

  test('are warned about before a mint and by a dry run, but not when the run is resumed', {
    tags: ['promise'],
  }, async () => {
    const { gdn, manifest } = await drop(`title,description,receiver\nDawn,x,${OWNER}\n`)
    const api = await fakeApi(service())
    const mint = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url]
    const dry = await gdn([...mint, '--dry-run', '--json'])
    expect(JSON.parse(dry.stdout).warnings).toMatchObject([{ message: NO_ID }, { message: NO_IMAGE }])
    const { code, stderr } = await gdn(mint)
    expect(code).toBe(0)
    expect(stderr.split(NO_ID)).toHaveLength(2)
    expect(stderr).toContain('Add a column "id"')
    const secondSummary = JSON.parse((await gdn([...mint, '--again', '--json'])).stdout)
    expect(secondSummary.warnings).toMatchObject([{ message: NO_ID }, { message: NO_IMAGE }])
    expect((await gdn(mint)).stderr).not.toContain(NO_ID)
  })

  test('are not warned about in metadata objects, which have no place for one', async () => {
    const nft = { title: 'Dawn', description: 'x', file_fields: [{ key: 'image', url: 'https://example.com/a.png' }] }
    const { path, gdn } = await drop('', { 'drop.json': JSON.stringify([nft]) })
    const { stdout } = await gdn(['batch', 'validate', path('drop.json'), ...TARGET, '--receiver', OWNER, '--json'])
    expect(JSON.parse(stdout).warnings).toEqual([])
  })
})

test('a JSON drop without any image is warned about in terms of fields', async () => {
  const { path, gdn } = await drop('', { 'drop.json': JSON.stringify([{ title: 'Dawn', description: 'x' }]) })
  const { stderr } = await gdn(['batch', 'validate', path('drop.json'), ...TARGET, '--receiver', OWNER])
  expect(stderr).toContain('Add a field "image", or use --map <field>=image')
  expect(stderr).not.toContain('column')
})

test('a drop without any image is warned about, and rows without one are counted', async () => {
  expect(await validated(`id,title,description,receiver\na,Dawn,x,${OWNER}\n`)).toEqual([NO_IMAGE])
  expect(await validated(`${COLUMNS}\n${row('a')}${row('b', 'Dusk', '')}${row('c', 'Noon', '')}`)).toEqual([
    '3: 2 of 3 rows have no image: marketplaces show no image',
  ])
  const { gdn, manifest } = await drop(`${COLUMNS}\n${row('a')}${row('', 'Dusk', '')}`)
  const { stderr } = await gdn(['batch', 'validate', manifest, ...TARGET])
  expect(stderr).toContain('Enter a URL or path in the column "image" of each row.')
  expect(stderr).not.toContain('Add a column')
})

const listing =
  (...nft_gdn_ids: string[]) =>
  () => ({ body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids } })

describe('identical rows', () => {
  const TWO = `title,description,receiver,image\n${row('').slice(1)}${row('', 'Dusk').slice(1)}${row('').slice(1)}${row('').slice(1)}`
  const EQUAL = ['4: is identical to line 2', '5: is identical to line 2']
  const EQUALS_TWO = expect.objectContaining({ message: 'is identical to line 2' })

  test('are named by validate, unless they have IDs', async () => {
    expect(await validated(TWO)).toEqual([NO_ID, ...EQUAL])
    expect(await validated(`${COLUMNS}\n${row('a')}${row('b')}`)).toEqual([])
  })

  test.each([
    ['batch mint', (manifest: string) => ['batch', 'mint', manifest]],
    ['nft mint -f', (manifest: string) => ['nft', 'mint', '-f', manifest]],
  ])('need --allow-duplicates without a terminal: %s', async (_name, command) => {
    const { gdn, manifest } = await drop(TWO)
    const api = await fakeApi(uploads())
    const mint = [...command(manifest), ...TARGET, '--base-url', api.url, '--json']
    for (const more of [[], ['--yes']].slice(0, command(manifest)[0] === 'batch' ? 2 : 1)) {
      const refused = await gdn([...mint, ...more])
      expect(refused).toMatchObject({ code: 3, stdout: '' })
      expect(errorOf(refused)).toMatchObject({
        code: 'not_confirmed',
        message: expect.stringMatching(/^(?:.*drop\.\w+:4: )?is identical to line 2 \(and 1 more\)$/),
        hint: expect.stringContaining('add --allow-duplicates'),
        details: {
          count: 2,
          duplicates: [
            { line: 4, equals: 2 },
            { line: 5, equals: 2 },
          ],
        },
      })
    }
    expect(api.bodies('createnft')).toEqual([])
    expect(api.bodies('files')).toEqual([])
    expect(JSON.parse((await gdn([...mint, '--allow-duplicates'])).stdout)).toMatchObject({ total: 4, deployed: 4 })
  })

  test.each([
    ['a new row without an ID equals a minted row with an ID', row('a'), row('')],
    ['a new row with an ID equals a minted row without an ID', row(''), row('a')],
  ])('need --allow-duplicates if %s', { tags: ['promise'] }, async (_name, first, second) => {
    const { gdn, manifest } = await drop(`${COLUMNS}\n${first}`)
    const api = await fakeApi(uploads())
    const target = [manifest, ...TARGET, '--base-url', api.url, '--json']
    expect((await gdn(['batch', 'mint', ...target])).code).toBe(0)
    await appendFile(manifest, `${row('c', 'Dusk')}${second}`)
    for (const command of [['batch', 'mint'], ['apply']]) {
      const refused = await gdn([...command, ...target, '--yes'])
      expect(refused.code).toBe(3)
      expect(errorOf(refused).message).toMatch(/:4: is identical to line 2$/)
    }
    expect(api.bodies('createnft')).toHaveLength(1)
    const allowed = await gdn(['batch', 'mint', ...target, '--allow-duplicates'])
    expect(JSON.parse(allowed.stdout)).toMatchObject({ total: 3, deployed: 3 })
  })

  test('are counted once each if a row with an ID precedes equal rows without IDs', async () => {
    const { gdn, manifest } = await drop(`${COLUMNS}\n${row('a')}${row('')}${row('')}`)
    const { url } = await fakeApi({})
    const refused = await gdn(['batch', 'mint', manifest, ...TARGET, '--base-url', url, '--json'])
    expect(errorOf(refused).details).toMatchObject({ count: 2 })
  })

  test('say in the prompt what no does, and what to do after it', async () => {
    let shown = ''
    const confirm = async (question: string, _flag: string, no: object) => {
      shown = question
      throw new GdnError('not_confirmed', 'nothing was sent', no)
    }
    const answered = async (count: number, machine = false) => {
      const settings = { machine, quiet: false }
      const io = { isInteractive: true, warn: () => {}, errPaint: { busy: String }, confirm, settings }
      await confirmDuplicates({ io: io as never }, false, { count, rows: [{ line: 4, equals: 2 }] })
    }
    await expect(answered(1)).rejects.toMatchObject({
      message: 'nothing was sent',
      hint: 'Remove line 4, or give each row a unique ID. Then run the same command again.',
    })
    expect(shown).toBe('If you answer no, nothing is sent. Mint a second NFT for this row?')
    await expect(answered(2)).rejects.toMatchObject({ hint: expect.stringContaining('Remove the identical rows, or') })
    // With --json, the rows are not printed before the prompt.
    await expect(answered(1, true)).rejects.toThrow()
    expect(shown).toMatch(/^Line 4 is identical to line 2\. If you answer no/)
  })

  test('are not asked about again when the run is resumed, but new ones are', async () => {
    const { gdn, manifest } = await drop(TWO)
    const { createnft, files } = uploads()
    const api = await fakeApi({ createnft, files })
    const mint = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--no-wait', '--json']
    expect((await gdn([...mint, '--allow-duplicates'])).code).toBe(0)
    expect((await gdn(mint)).code).toBe(0)
    // The manifest is read again.
    await appendFile(manifest, row('', 'Noon').slice(1))
    expect((await gdn(mint)).code).toBe(0)
    await appendFile(manifest, row('', 'Noon').slice(1) + row('').slice(1))
    const refused = await gdn(mint)
    expect(refused.code).toBe(3)
    expect(errorOf(refused)).toMatchObject({
      details: {
        count: 2,
        duplicates: [
          { line: 7, equals: 6 },
          { line: 8, equals: 2 },
        ],
      },
    })
    expect(JSON.parse((await gdn([...mint, '--allow-duplicates'])).stdout)).toMatchObject({ total: 7 })
    expect((api.bodies('createnft') as { metadata: object[] }[]).flatMap(({ metadata }) => metadata)).toHaveLength(7)
  })

  test('fail a dry run as they fail the mint, unless they are allowed', async () => {
    const { gdn, manifest } = await drop(TWO.replaceAll('a.png', 'https://example.com/a.png'))
    const api = await fakeApi({})
    const argv = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--dry-run', '--json']
    const refused = await gdn(argv)
    expect(refused).toMatchObject({ code: 3, stdout: '' })
    expect(errorOf(refused)).toMatchObject({
      message: expect.stringMatching(/^(?:.*drop\.\w+:4: )?is identical to line 2 \(and 1 more\)$/),
      details: { count: 2 },
    })
    const { code, stdout } = await gdn([...argv, '--allow-duplicates'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout).warnings).toMatchObject([
      { message: NO_ID },
      { place: { line: 4 }, message: 'is identical to line 2' },
      { place: { line: 5 }, message: 'is identical to line 2' },
    ])
  })

  test('are named once by a dry run that fails because of them', async () => {
    const { gdn, manifest } = await drop(TWO.replaceAll('a.png', 'https://example.com/a.png'))
    const { url } = await fakeApi({})
    const { code, stderr } = await gdn(['batch', 'mint', manifest, ...TARGET, '--base-url', url, '--dry-run'])
    expect(code).toBe(3)
    expect(stderr.split('is identical to line 2')).toHaveLength(2)
    expect(stderr).toContain(NO_ID)
  })

  test('are counted in the table of validate, which has no JSON', async () => {
    const { gdn, manifest } = await drop(TWO)
    const { stdout } = await gdn(['batch', 'validate', manifest, ...TARGET], { tty: true })
    expect(stdout).toMatch(/^WARNINGS +3$/m)
    expect(stdout).not.toContain('{')
  })

  test('need --allow-duplicates in gdn apply', { tags: ['promise'] }, async () => {
    const { gdn, manifest } = await drop(TWO)
    const api = await fakeApi({})
    const apply = ['apply', manifest, ...TARGET, '--base-url', api.url, '--yes', '--json']
    const refused = await gdn(apply)
    expect(refused.code).toBe(3)
    expect(errorOf(refused).message).toMatch(/^(?:.*drop\.\w+:4: )?is identical to line 2 \(and 1 more\)$/)
    expect(api.bodies('createnft')).toEqual([])
  })

  test('prompt with --adopt only if the collection does not have them yet', async () => {
    const { gdn, manifest } = await drop(TWO)
    // Another machine has minted the row and its first copy.
    const minted = ['first', 'second'].map((id) =>
      nft(id, { request_metadata: { title: 'Dawn', description: 'x', file_fields: [{ key: 'image', url: STORED }] } }),
    )
    const { createnft, files, getnfts } = uploads()
    const api = await fakeApi({
      createnft,
      files,
      getnftgdnids: listing('first', 'second'),
      getnfts: (body: { nft_gdn_ids: string[] }) => {
        const found = minted.filter(({ nft_gdn_id: id }) => body.nft_gdn_ids.includes(id))
        const { requests, nfts } = getnfts(body).body as { requests: object; nfts: object[] }
        return { body: { requests, nfts: [...found, ...nfts] } }
      },
    })
    const mint = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--adopt', '--json']
    const refused = await gdn(mint)
    expect(refused.code, refused.stderr).toBe(3)
    expect(errorOf(refused)).toMatchObject({ details: { count: 1, duplicates: [{ line: 5, equals: 2 }] } })
    expect(api.bodies('createnft')).toEqual([])
    const done = await gdn([...mint, '--allow-duplicates'])
    expect(JSON.parse(done.stdout), done.stderr).toMatchObject({ total: 4, deployed: 4 })
    const sentTitles = (api.bodies('createnft') as { metadata: { title: string }[] }[]).flatMap(
      ({ metadata }) => metadata,
    )
    expect(sentTitles.map(({ title }) => title).sort()).toEqual(['Dawn', 'Dusk'])
  })

  test('need allow_duplicates in gdn mcp, which has nobody to prompt', async () => {
    const { path } = await folder({})
    await mkdir(path('project'))
    await writeFile(path('project/drop.csv'), TWO.replaceAll('a.png', 'https://example.com/a.png'))
    const api = await fakeApi({ ...service(), getnftgdnids: listing() })
    const session = await openMcpSession({ home: path(''), url: api.url, env: { GDN_API_KEY: 'key' }, maxCost: 1n })
    onTestFinished(() => session.close())
    const mint = async (more: object) => {
      const values = { manifest: path('project/drop.csv'), contract: CONTRACT, blockchain: 'polygon', ...more }
      const plan = await session.call('batch_mint', { ...values, dry_run: true })
      if (plan.status === 'error') return plan
      expect(plan).toMatchObject({ status: 'planned', data: { warnings: expect.arrayContaining([EQUALS_TWO]) } })
      return await session.call('batch_mint', { dry_run: false, plan_id: plan.plan_id })
    }
    expect(await mint({})).toMatchObject({
      ...{ status: 'error', exit_code: 3 },
      error: {
        code: 'not_confirmed',
        message: expect.stringMatching(/^(?:.*drop\.\w+:4: )?is identical to line 2 \(and 1 more\)$/),
        details: { count: 2 },
      },
    })
    expect(api.bodies('createnft')).toEqual([])
    expect(await mint({ allow_duplicates: true })).toMatchObject({ status: 'ok', data: { total: 4, deployed: 4 } })
  })

  test('identical rows among 100,000 are found with little memory', async () => {
    const { path, gdn } = await drop('')
    const rows = Array.from({ length: 100_000 }, (_, n) => `T${n % 99_998},x,${OWNER},https://example.com/a.png\n`)
    await writeFile(path('many.csv'), `title,description,receiver,image\n${rows.join('')}`)
    const { stdout } = await gdn(['batch', 'validate', path('many.csv'), ...TARGET, '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      rows: 100_000,
      warnings: [
        { message: NO_ID },
        { place: { line: 100_000 }, message: 'is identical to line 2' },
        { message: 'is identical to line 3' },
      ],
    })
  })
})

test('a file that no marketplace may show is a warning with its row', async () => {
  const { gdn, manifest } = await drop(`${COLUMNS}\n${row('a', 'Dawn', 'a.xyz')}`, {
    'a.xyz': new Uint8Array([0, 1, 2]),
  })
  const { code, stdout } = await gdn(['batch', 'validate', manifest, ...TARGET, '--json'])
  expect(code).toBe(0)
  expect(JSON.parse(stdout).warnings).toMatchObject([
    { place: { line: 2, column: 5 }, message: expect.stringContaining('has an unknown type (.xyz)') },
  ])
})

test('a file whose name has another Unicode normalization is uploaded', async () => {
  const [name, cell] = ['NFD', 'NFC'].map((form) => 'Möwe.png'.normalize(form))
  const { gdn, manifest } = await drop(`${COLUMNS}\n${row('a', 'Dawn', cell)}`, { [name ?? '']: pngNamed('gull') })
  const api = await fakeApi(uploads())
  const { code, stderr } = await gdn(['batch', 'mint', manifest, ...TARGET, '--base-url', api.url])
  expect(code, stderr).toBe(0)
  expect(api.bodies('createnft')).toMatchObject([{ metadata: [{ file_fields: [{ key: 'image', url: STORED }] }] }])
})

test('apply has all warnings in its JSON', async () => {
  const { gdn, manifest } = await drop(`title,description,receiver,image\n${row('').slice(1).repeat(2)}`)
  const { url } = await fakeApi(uploads())
  const apply = ['apply', manifest, ...TARGET, '--base-url', url, '--yes', '--allow-duplicates', '--json']
  const warnings = async () => JSON.parse((await gdn(apply)).stdout).warnings
  expect(await warnings()).toMatchObject([{ message: NO_ID }, { message: 'is identical to line 2' }])
  expect(await warnings()).toEqual([])
})

test('plan and apply name the first warnings, once and without hints, until nothing is left to do', async () => {
  const equal = row('').slice(1)
  const { gdn, manifest } = await drop(`title,description,receiver,image\n${equal.repeat(3)}`)
  const api = await fakeApi(uploads())
  const more = [manifest, ...TARGET, '--base-url', api.url]
  const { stderr } = await gdn(['plan', ...more])
  const warnings = [NO_ID, '3: is identical to line 2', '4: is identical to line 2']
  for (const warning of warnings) expect(stderr.split(warning), warning).toHaveLength(2)
  expect(stderr).not.toContain('Add a column')
  expect((await gdn(['plan', ...more, '--json'])).stderr).toBe('')
  const applied = await gdn(['apply', ...more, '--yes', '--allow-duplicates'])
  expect(applied.code, applied.stderr).toBe(0)
  for (const warning of [NO_ID, '3: is identical to line 2']) expect(applied.stderr.split(warning)).toHaveLength(2)
  expect((await gdn(['plan', ...more])).stderr).not.toContain('warning')
})

test('plan counts the warnings that it does not show', async () => {
  const { gdn, manifest } = await drop(`title,description,receiver,image\n${row('').slice(1).repeat(9)}`)
  const api = await fakeApi({})
  const { stderr } = await gdn(['plan', manifest, ...TARGET, '--base-url', api.url])
  expect(stderr.match(/^warning:/gm)).toHaveLength(3)
  expect(stderr).toContain('… and 6 more warnings; `gdn batch validate` lists them')
})

test('a wrong --receiver or --sender is an error of the flag, even if no row uses it', async () => {
  const { manifest, gdn } = await drop(`id,title,description,receiver\na,Dawn,x,${OWNER}\n`)
  for (const flag of ['--receiver', '--sender']) {
    for (const [value, problem] of [
      ['0x1234', 'must have 40 hex digits after 0x'],
      ['vitalik.eth', 'vitalik.eth is an ENS name, and no Ethereum node is configured to resolve it'],
    ]) {
      const { code, stderr } = await gdn(['batch', 'validate', manifest, ...TARGET, flag, value ?? ''])
      expect(code).toBe(2)
      expect(stderr).toContain(`error: ${flag}: ${problem}`)
    }
  }
})

describe('new rows in a manifest that mostly differs from the sent rows', () => {
  const edition = (title: string, numbers: readonly number[]) =>
    `${COLUMNS}\n${numbers.map((number) => row(String(number), `${title} ${number}`)).join('')}`

  test('need --yes without a terminal, each time', async () => {
    const { gdn, manifest } = await drop(edition('Dawn', [1, 2, 3, 4]))
    const api = await fakeApi(uploads())
    const mint = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url]
    expect((await gdn(mint)).code).toBe(0)
    await writeFile(manifest, `${edition('Dusk', [1, 2, 3])}${row('4', 'Dawn 4')}${row('5', 'Dusk 5')}`)
    const text = '3 of the 4 rows that were sent have different content in this manifest'
    for (let time = 0; time < 2; time++) {
      const { code, stderr } = await gdn(mint)
      expect(code).toBe(3)
      expect(stderr).toContain(`confirmation required: ${text}`)
      expect(stderr).toContain('Add --yes to confirm.')
    }
    expect(await gdn([...mint, '--dry-run'])).toMatchObject({ code: 0, stderr: expect.stringContaining(text) })
    expect(api.bodies('createnft')).toHaveLength(1)
    expect(await gdn([...mint, '--yes'])).toMatchObject({ code: 0, stderr: expect.stringContaining(text) })
    expect(api.bodies('createnft')).toHaveLength(2)
  })

  test('are minted without a prompt if few rows were edited', async () => {
    const { gdn, manifest } = await drop(edition('Dawn', [1, 2]))
    const api = await fakeApi(uploads())
    const mint = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url]
    expect((await gdn(mint)).code).toBe(0)
    await writeFile(manifest, edition('Dusk', [1, 2, 3]))
    const { code, stderr } = await gdn(mint)
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.not.stringContaining('other content') })
  })
})
