/** @module-tag slow */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { folder } from '../cli/batch/drop.ts'
import { cli, errorOf, tempHome } from '../cli/harness.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  type TestBackend,
  type TestCollection,
  until,
  WALLETS,
} from '../helpers/backend.ts'
import { holdSettling } from '../helpers/hold.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { forward } from '../helpers/killing-relay.ts'

const [ALICE, BOB] = WALLETS

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const csv = (...titles: string[]) =>
  [
    'id,title,description,image,receiver',
    ...titles.map((title, row) => `r${row + 1},${title},x,art/${row + 1}.txt,${row % 2 === 0 ? ALICE : BOB}`),
  ].join('\n')
const ROWS = csv('Dawn', 'Noon', 'Dusk')

/** Holds transactions of a kind until the returned function is called, or until the test ends. */
async function held(kind: 'provenance' | 'mint' | 'update') {
  let letGo: (() => Promise<void>) | null = await holdSettling(backend.dataDir, kind)
  const release = async () => {
    await letGo?.()
    letGo = null
  }
  onTestFinished(release)
  return release
}

/** A machine with the images of the rows, a placeholder, and its own state. */
async function machine(collection: TestCollection) {
  const { path, options } = await folder({
    'hidden.json': JSON.stringify({ title: 'Hidden', description: 'Wait', image: 'art/hidden.txt' }),
  })
  await mkdir(path('art'))
  for (const name of ['1', '2', '3', 'hidden']) await writeFile(path(`art/${name}.txt`), `picture ${name}`)
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
  const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url]
  let stop = new AbortController()
  const run = async (command: string[], manifest: string, ...more: string[]) => {
    await writeFile(path('drop.csv'), manifest)
    const argv = [...command, path('drop.csv'), ...(more.includes('-c') ? target.slice(2) : target), ...more, '--json']
    const result = await cli(argv, { ...options, env, signal: stop.signal })
    return { ...result, error: result.code === 0 ? null : errorOf(result) }
  }
  return {
    path,
    target,
    options: { ...options, env },
    cli: (...argv: string[]) => cli([...argv, '--base-url', backend.url], { ...options, env }),
    atTerminal: (...argv: string[]) => cli([...argv, path('drop.csv'), ...target], { ...options, env, tty: true }),
    cliAt: (url: string, ...argv: string[]) => cli([...argv, '--base-url', url], { ...options, env }),
    mint: (manifest: string, ...more: string[]) =>
      run(['batch', 'mint'], manifest, '--unrevealed', path('hidden.json'), ...more),
    /** Starts a mint, and interrupts it when the server has accepted the commitment, which a test holds. */
    async commit(manifest: string, ...more: string[]) {
      const minting = run(['batch', 'mint'], manifest, '--unrevealed', path('hidden.json'), ...more)
      await until(
        () => call(backend, 'getprovenances', { contract_address: collection.address }),
        ({ provenances }) => provenances.length > 0,
      )
      stop.abort(new GdnError('interrupted', 'interrupted by this test'))
      stop = new AbortController()
      expect((await minting).error).toMatchObject({ code: 'interrupted' })
      expect(await nftsOf(collection)).toEqual([])
    },
    ask: (manifest: string) => run(['reveal'], manifest),
    reveal: (manifest: string, ...more: string[]) => run(['reveal', '--yes'], manifest, ...more),
    run,
  }
}

const collectionOf = () => createTestCollection(backend)

async function nftsOf({ address, blockchain }: TestCollection) {
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', { contract_addresses: address, blockchain })
  const nfts = nft_gdn_ids.length === 0 ? [] : (await call(backend, 'getnfts', { nft_gdn_ids })).nfts
  return nfts as {
    nft_gdn_id: string
    revision: number
    revision_reference_id: string
    request_metadata: { title: string; file_fields: { key: string; url: string }[]; provenance_salt?: string }
  }[]
}

async function nftOf(id: string) {
  const { nfts } = await call(backend, 'getnfts', { nft_gdn_ids: [id] })
  return nfts[0] as Awaited<ReturnType<typeof nftsOf>>[number]
}

const titlesOf = async (collection: TestCollection) =>
  (await nftsOf(collection)).map(({ request_metadata: { title } }) => title).sort()

async function minted(collection: TestCollection) {
  const one = await machine(collection)
  const { code, stderr } = await one.mint(ROWS)
  expect(code, stderr).toBe(0)
  return one
}

test('mints the placeholder after the commitment, and reveals on a machine without state', {
  tags: ['promise'],
}, async () => {
  const collection = await collectionOf()
  await minted(collection)
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
  const { provenances } = await call(backend, 'getprovenances', { contract_address: collection.address })
  expect(provenances).toMatchObject([{ first_token_id: '1', status: 'deployed' }])
  const other = await machine(collection)
  expect(JSON.parse((await other.reveal(ROWS, '--dry-run')).stdout)).toMatchObject({ to_reveal: 3, revealed: 0 })
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
  const asked = await other.ask(ROWS)
  expect([asked.code, asked.stderr]).toEqual([3, expect.stringContaining('Add --yes to confirm.')])
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
  const { code, stderr, stdout } = await other.reveal(ROWS)
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ rows: 3, revealed: 3, to_reveal: 0, not_minted: 0, left: 0 })
  expect(await titlesOf(collection)).toEqual(['Dawn', 'Dusk', 'Noon'])
  expect(await other.reveal(ROWS)).toMatchObject({ code: 0, error: null })
  expect(Math.max(...(await nftsOf(collection)).map(({ revision }) => revision))).toBeLessThanOrEqual(3)
})

test('names only the edited rows of an unrevealed run, also after insertions', async () => {
  const one = await machine(await collectionOf())
  expect(await one.mint(ROWS)).toMatchObject({ code: 0, error: null })
  const results = async (manifest: string) => {
    await writeFile(one.path('drop.csv'), manifest)
    const { stderr } = await one.cli('batch', 'results', one.path('drop.csv'), '-o', 'csv')
    return stderr.replaceAll(one.path('drop.csv'), 'drop.csv').split('\n').slice(0, 3)
  }
  expect(await results(ROWS)).toEqual([''])
  expect(await results(csv('Dawn', 'Midday', 'Dusk'))).toEqual([
    'drop.csv differs from the rows of the run: 0 rows added, 1 edited, 0 removed.',
    '  edited: r2 (line 3)',
    expect.stringContaining('The run still has the earlier values of 1 edited row'),
  ])
  const [head, ...rows] = ROWS.split('\n')
  expect(await results([head, `r4,New,x,art/1.txt,${ALICE}`, ...rows].join('\n'))).toEqual([
    'drop.csv differs from the rows of the run: 1 row added, 0 edited, 0 removed.',
    '  added: r4 (line 2)',
    expect.anything(),
  ])
  await writeFile(one.path('art/1.txt'), 'another picture')
  expect(await results(`${ROWS}\n`)).toContain('  edited: r1 (line 2)')
})

test('shows revealed rows in results as in the manifest', { tags: ['promise'] }, async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  const HEADER = 'title,description,image,receiver,id,attr:hour'
  const rows = [HEADER, `Dawn,x,art/1.txt,${ALICE},a,6`, `Noon,x,,${BOB},b,12`].join('\n')
  expect(await one.mint(rows)).toMatchObject({ code: 0, error: null })
  const results = async (...more: string[]) => (await one.cli('batch', 'results', one.path('drop.csv'), ...more)).stdout
  const csvOf = async () => (await results('-o', 'csv')).split('\r\n').map((line) => line.split(',').slice(0, 6).join())
  const [hidden = ''] = await csvOf()
  expect(hidden).toBe('title,description,image,receiver,id,key')
  const [{ metadata_url: before } = { metadata_url: '' }] = JSON.parse(await results('--json'))
  for (let times = 0; times < 2; times++) {
    expect(await one.reveal(rows)).toMatchObject({ code: 0, error: null })
    expect((await csvOf()).slice(0, 3)).toEqual(rows.split('\n'))
    const shownRecords = JSON.parse(await results('--json'))
    expect(shownRecords).toMatchObject([{ title: 'Dawn' }, { title: 'Noon' }])
    expect(shownRecords[0].metadata_url).not.toBe(before)
  }
  expect(JSON.parse(await results('--verify', '--json', '--fields', 'line,verified,verify_error'))).toEqual([
    { line: 2, verified: true, verify_error: null },
    { line: 3, verified: true, verify_error: null },
  ])
  // The run still knows its rows as they were sent.
  const { code, stdout } = await one.mint(rows)
  expect([code, JSON.parse(stdout)]).toMatchObject([0, { deployed: 2, requests: 0, kept_accepted: 0 }])
})

test('uploads no file of a row before the reveal', async () => {
  const collection = await collectionOf()
  await minted(collection)
  const urls = new Set(
    (await nftsOf(collection)).flatMap(({ request_metadata }) => request_metadata.file_fields.map(({ url }) => url)),
  )
  // The leaves file and the placeholder's image.
  expect(urls.size).toBe(2)
})

test('commits to a manifest once, on every machine', { tags: ['promise'] }, async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  expect(await one.mint(ROWS)).toMatchObject({ code: 0, error: null })
  const other = await machine(collection)
  expect(await other.mint(ROWS)).toMatchObject({ code: 0, error: null })
  expect(await nftsOf(collection)).toHaveLength(3)
  const { provenances } = await call(backend, 'getprovenances', { contract_address: collection.address })
  expect(provenances).toHaveLength(1)
})

test('rejects a plain mint of a manifest that was minted unrevealed', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  expect((await one.run(['batch', 'mint'], ROWS)).error).toMatchObject({ code: 'refused' })
  const other = await machine(collection)
  for (const more of [[], ['--adopt'], ['--dry-run'], ['--adopt', '--dry-run'], ['--run', 'b']]) {
    const { error } = await other.run(['batch', 'mint'], ROWS, ...more)
    expect(error, more.join()).toMatchObject({ code: 'refused', message: expect.stringContaining('committed') })
  }
  for (const more of [[], ['--adopt']]) {
    const { stdout } = await other.run(['plan'], ROWS, ...more)
    expect(new Set(JSON.parse(stdout).map(({ reason }: { reason: string }) => reason)), more.join()).toEqual(
      new Set(['the NFT is not revealed: use gdn reveal']),
    )
    expect((await other.run(['apply', '--yes'], ROWS, ...more)).code).toBe(5)
  }
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
  await one.reveal(ROWS)
  expect((await other.run(['batch', 'mint'], ROWS)).error).toMatchObject({ code: 'refused' })
})

test('mints nothing as it is on another machine once the collection is committed, unless --again says so', async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  const letGo = await held('provenance')
  await one.commit(ROWS)
  const other = await machine(collection)
  const open = (...more: string[]) => other.run(['batch', 'mint'], ROWS, ...more)
  for (const { error } of [
    await open(),
    await open(),
    await other.run(['apply', '--yes'], ROWS, '--only', 'mint', '--yes'),
  ]) {
    if (error !== null) expect(error).toMatchObject({ code: 'refused', message: expect.stringContaining('committed') })
    expect(await nftsOf(collection)).toEqual([])
  }
  const { stdout } = await other.run(['plan'], ROWS)
  expect(JSON.parse(stdout)[0]).toMatchObject({ action: 'impossible', reason: expect.stringContaining('unrevealed') })
  await letGo()
  expect((await open()).error).toMatchObject({ code: 'refused', hint: expect.stringContaining('--again') })
  expect(await other.run(['batch', 'mint'], csv('Dawn', 'Noon'), '--run', 'b')).toMatchObject({ code: 0, error: null })
  expect((await open('--again')).code).toBe(0)
  expect(await titlesOf(collection)).toEqual(['Dawn', 'Dawn', 'Dusk', 'Noon', 'Noon'])
  // No other machine can know that --again was used.
  expect((await one.mint(ROWS)).error).toMatchObject({
    code: 'seems_minted',
    hint: expect.stringContaining('--no-lookup'),
  })
  expect(await one.mint(ROWS, '--no-lookup')).toMatchObject({ code: 0, error: null })
  expect(await titlesOf(collection)).toContain('Hidden')
})

test('mints nothing unrevealed where the manifest is minted as it is', async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  expect(await one.run(['batch', 'mint'], ROWS)).toMatchObject({ code: 0, error: null })
  expect((await one.mint(ROWS)).error).toMatchObject({ code: 'refused' })
  expect((await (await machine(collection)).mint(ROWS)).error).toMatchObject({ code: 'seems_minted' })
  expect(await nftsOf(collection)).toHaveLength(3)
})

const EDITS: [[string, string, RegExp], ...[string, string, RegExp][]] = [
  ['an edited row', csv('Dawn', 'Midnight', 'Dusk'), /line 3$/],
  ['swapped rows', csv('Dawn', 'Dusk', 'Noon'), /lines 3, 4$/],
  ['a new row', csv('Dawn', 'Noon', 'Dusk', 'Midnight').replace('art/4', 'art/3'), /line 5$/],
  ['a row that is missing', csv('Dawn', 'Noon'), /removed row 3/],
]

async function expectRefusal(manifest: string, named: RegExp) {
  const collection = await collectionOf()
  const one = await minted(collection)
  for (const { error } of [await one.mint(manifest), await one.reveal(manifest)]) {
    expect(error).toMatchObject({ code: 'edited_rows', message: expect.stringMatching(named) })
  }
  const other = await machine(collection)
  for (const { error } of [await other.mint(manifest), await other.reveal(manifest)]) {
    expect(error).toMatchObject({ message: expect.stringContaining('no commitment of the collection') })
  }
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
}

const [[, edited, names], ...others] = EDITS
test('refuses an edited row after the commitment, and names it', { tags: ['promise'] }, () =>
  expectRefusal(edited, names),
)
test.each(others)('refuses %s after the commitment, and names it', (_, manifest, named) =>
  expectRefusal(manifest, named),
)

test('names the former folder of a regenerated manifest, on every machine', async () => {
  const collection = await collectionOf()
  const [one, other] = [await minted(collection), await machine(collection)]
  for (const { path, ...gdn } of [one, other]) {
    const folder = path('.').replace(/\/$/, '')
    const former = `${folder}.before-1`
    onTestFinished(() => rm(former, { recursive: true }))
    await mkdir(former)
    await writeFile(join(former, 'drop.csv'), '')
    const [name, formerName] = [basename(folder), basename(former)]
    const text = `A former edition is in ${formerName}, next to ${name}. If you minted the former edition, move ${name} away, and rename ${formerName} to ${name}.`
    const errors = [(await gdn.mint(edited)).error, (await gdn.reveal(edited)).error]
    if (path === other.path) errors.push((await gdn.run(['batch', 'mint'], edited)).error)
    for (const error of errors) expect(error).toMatchObject({ hint: expect.stringContaining(text) })
  }
})

const ADDED = csv('Dawn', 'Noon', 'Dusk', 'Midnight').replace('art/4', 'art/3')

const reasonsOf = ({ stdout }: { stdout: string }) =>
  (JSON.parse(stdout) as { action: string; reason: string }[]).map(({ action, reason }) => `${action}: ${reason}`)

test('mints no row of an edited manifest as it is after rows were minted unrevealed, on every machine', {
  tags: ['promise'],
}, async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  const other = await machine(collection)
  const expectRefused = async (count: number) => {
    for (const more of [[], ['--adopt'], ['--dry-run'], ['--adopt', '--dry-run'], ['--adopt', '--allow-exchanged']]) {
      const { error } = await other.run(['batch', 'mint'], ADDED, ...more)
      expect(error, more.join()).toMatchObject({
        code: 'refused',
        message: expect.stringContaining(`${count} rows were minted unrevealed from a committed manifest`),
        hint: expect.stringMatching(/Restore the committed manifest, and add --unrevealed <file>\..* another manifest/),
      })
    }
    for (const { run } of [one, other]) {
      for (const more of [[], ['--adopt'], ['--take-over']]) {
        const reasons = reasonsOf(await run(['plan'], ADDED, ...more))
        expect(reasons.at(-1)).toMatch(
          /^impossible: the manifest was edited after the commitment to its rows.* another manifest$/,
        )
        expect((await run(['apply', '--yes'], ADDED, '--only', 'mint', ...more)).stderr).not.toContain('--only mint`')
      }
    }
    expect(await nftsOf(collection)).toHaveLength(3)
  }
  await expectRefused(3)
  const named = (...more: string[]) => other.run(['batch', 'mint'], ADDED, '--run', 'b', ...more)
  for (const more of [[], ['--adopt'], ['--dry-run']]) {
    expect((await named(...more)).error, more.join()).toMatchObject({ hint: expect.stringContaining('--again') })
  }
  const inRunB = reasonsOf(await other.run(['plan'], ADDED, '--run', 'b'))
  expect(inRunB.filter((reason) => reason.startsWith('impossible'))).toHaveLength(4)
  expect(await other.run(['apply', '--yes'], ADDED, '--run', 'b', '--only', 'mint')).toMatchObject({
    code: 0,
    error: null,
  })
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
  expect(await one.reveal(ROWS)).toMatchObject({ code: 0, error: null })
  await expectRefused(3)
  expect((await named()).error).toMatchObject({ code: 'seems_minted', hint: expect.stringContaining('--again') })
  expect((await named('--again')).code).toBe(0)
  expect(await nftsOf(collection)).toHaveLength(7)
})

test('mints no row without an ID as it is after rows of its manifest were minted unrevealed', async () => {
  const collection = await collectionOf()
  const unnamed = (manifest: string) => manifest.replaceAll(/^\w+,/gm, '')
  expect((await (await machine(collection)).mint(unnamed(ROWS))).code).toBe(0)
  const other = await machine(collection)
  for (const more of [[], ['--adopt']]) {
    expect((await other.run(['batch', 'mint'], unnamed(ADDED), ...more)).error).toMatchObject({ code: 'refused' })
  }
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
})

test('mints rows that got another name and another manifest as they are next to an unrevealed drop', async () => {
  const collection = await collectionOf()
  await minted(collection)
  const other = await machine(collection)
  await writeFile(other.path('more.csv'), csv('Eve', 'Morn'))
  expect(await other.cli('batch', 'mint', other.path('more.csv'), ...other.target.slice(0, 4))).toMatchObject({
    code: 0,
  })
  expect(await titlesOf(collection)).toEqual(['Eve', 'Hidden', 'Hidden', 'Hidden', 'Morn'])
})

test('plan says to use --unrevealed only for rows of the committed manifest', async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  const letGo = await held('provenance')
  await one.commit(ROWS)
  for (const { run } of [one, await machine(collection)]) {
    expect(new Set(reasonsOf(await run(['plan'], ROWS)))).toEqual(
      new Set(['impossible: the collection is committed to this manifest: run gdn batch mint --unrevealed']),
    )
  }
  await letGo()
  const relay = await startHttpServer(async (request) => {
    if (!/\/creat\w*nft$/.test(request.path)) return await forward(backend.url, request)
    return { status: 403, json: { error: { title: 'Forbidden', message: 'not yet' } } }
  })
  try {
    const argv = ['batch', 'mint', one.path('drop.csv'), ...one.target.slice(0, 4), '--unrevealed']
    expect(await one.cliAt(relay.url, ...argv, one.path('hidden.json'))).toMatchObject({ code: 4 })
    expect(reasonsOf(await one.run(['plan'], ROWS))[0]).toContain('run gdn batch mint --unrevealed')
    expect(new Set(reasonsOf(await one.run(['plan'], ADDED)))).toEqual(
      new Set([expect.stringContaining('another manifest')]),
    )
  } finally {
    await relay.close()
  }
})

test('says on another machine that the rows are revealed already', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  expect(await one.reveal(ROWS)).toMatchObject({ code: 0, error: null })
  const other = await machine(collection)
  for (const refused of [
    await other.mint(ROWS),
    await other.mint(ROWS, '--dry-run'),
    await other.run(['batch', 'mint'], ROWS),
    await other.run(['batch', 'mint'], ROWS, '--adopt'),
  ]) {
    expect(refused.error).toMatchObject({
      code: 'refused',
      message: expect.stringContaining('all rows of this manifest are already minted and revealed'),
      hint: expect.stringMatching(/There is nothing left to mint\. To edit NFTs, .*`gdn apply .*drop\.csv/),
    })
  }
  expect(await other.mint(ROWS, '--adopt')).toMatchObject({ code: 0, error: null })
  expect(await titlesOf(collection)).toEqual(['Dawn', 'Dusk', 'Noon'])
  expect(await other.run(['apply', '--yes'], csv('Dawn', 'Midday', 'Dusk'))).toMatchObject({ code: 0, error: null })
  expect(await titlesOf(collection)).toEqual(['Dawn', 'Dusk', 'Midday'])
})

test('resumes a mint whose other rows another machine minted and revealed', async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  let mints = 0
  const relay = await startHttpServer(async (request) => {
    if (!/\/creat\w*nft$/.test(request.path) || mints++ === 0) return await forward(backend.url, request)
    return { status: 403, json: { error: { title: 'Forbidden', message: 'not yet' } } }
  })
  onTestFinished(relay.close)
  await writeFile(one.path('drop.csv'), ROWS)
  const mint = ['batch', 'mint', one.path('drop.csv'), ...one.target.slice(0, 4)]
  const flags = ['--unrevealed', one.path('hidden.json'), '--chunk-size', '1', '--in-order']
  expect(await one.cliAt(relay.url, ...mint, ...flags)).toMatchObject({ code: 4 })
  const other = await machine(collection)
  expect(await other.mint(ROWS)).toMatchObject({ code: 0, error: null })
  expect(await other.reveal(ROWS)).toMatchObject({ code: 0, error: null })
  const resumed = await one.cli('batch', 'resume', one.path('drop.csv'), '--json')
  expect(resumed.stderr).not.toContain('seems_minted')
  expect(JSON.parse(resumed.stdout)).toMatchObject({ total: 3, deployed: 3, attempts: 0 })
  expect(await titlesOf(collection)).toEqual(['Dawn', 'Dusk', 'Noon'])
})

test('names --again if a run that was started with it has committed to the rows', async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  const letGo = await held('provenance')
  await one.commit(ROWS, '--again')
  await letGo()
  expect((await one.mint(ROWS)).error).toMatchObject({
    code: 'seems_minted',
    message: expect.stringContaining('a run with --again'),
    hint: expect.stringContaining('add --again to resume it'),
  })
  expect(await nftsOf(collection)).toEqual([])
  expect(await one.mint(ROWS, '--again')).toMatchObject({ code: 0, error: null })
  expect(await nftsOf(collection)).toHaveLength(3)
})

test.each(['all rows', 'some rows'])(
  'mints no row of a renamed manifest again on another machine after %s were revealed',
  {
    tags: ['promise'],
  },
  async (which) => {
    const collection = await collectionOf()
    const one = await minted(collection)
    // A reveal skips frozen NFTs.
    const [first] = await nftsOf(collection)
    const freeze = ['nft', 'freeze', first?.nft_gdn_id ?? '', '-b', collection.blockchain, '--yes']
    if (which === 'some rows') expect((await one.cli(...freeze)).code).toBe(0)
    const { stdout, stderr } = await one.reveal(ROWS)
    expect(JSON.parse(stdout), stderr).toMatchObject({ revealed: which === 'all rows' ? 3 : 2 })
    const other = await machine(collection)
    const unrevealed = ['--unrevealed', other.path('hidden.json')]
    for (const [name, manifest] of [
      ['renamed', ROWS],
      ['edited', csv('Morning', 'Noon', 'Dusk')],
    ]) {
      const path = other.path(`${name}.csv`)
      await writeFile(path, manifest ?? '')
      for (const more of [unrevealed, [...unrevealed, '--adopt'], [...unrevealed, '--dry-run'], []]) {
        const refused = await other.cli('batch', 'mint', path, ...other.target.slice(0, 4), ...more, '--json')
        expect(refused.code, refused.stdout).not.toBe(0)
        expect(await nftsOf(collection)).toHaveLength(3)
        if (more.length === 0) continue
        expect(errorOf(refused)).toMatchObject({
          code: 'seems_minted',
          message: expect.stringMatching(
            /^[23] rows of the manifest seem to be in the collection already, with their own metadata$/,
          ),
          hint: expect.stringContaining('add --run <former file name>'),
        })
      }
    }
    const former = ['--unrevealed', other.path('hidden.json'), '--run', 'drop.csv']
    const refused = await other.cli('batch', 'mint', other.path('renamed.csv'), ...other.target.slice(0, 4), ...former)
    expect(refused.stderr).toMatch(/already (?:minted and )?revealed/)
    expect(await nftsOf(collection)).toHaveLength(3)
  },
)

test('a dry run refuses what a run with --unrevealed refuses', async () => {
  const collection = await collectionOf()
  await minted(collection)
  const first = ADDED.split('\n')
  const inserted = [first[0], first[4], ...first.slice(1, 4)].join('\n')
  for (const manifest of [ADDED, inserted, csv('Dawn', 'Midday', 'Dusk'), csv('Dawn', 'Noon')]) {
    for (const more of [[], ['--adopt']]) {
      const other = await machine(collection)
      const [dry, real] = [await other.mint(manifest, ...more, '--dry-run'), await other.mint(manifest, ...more)]
      expect(dry.error).toMatchObject({ message: expect.stringContaining('no commitment of the collection') })
      expect(real.error).toEqual(dry.error)
    }
  }
  expect(await nftsOf(collection)).toHaveLength(3)
})

test('refuses a file that changed after the commitment', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  await writeFile(one.path('art/2.txt'), 'another picture')
  expect((await one.reveal(ROWS)).error).toMatchObject({
    code: 'edited_rows',
    message: expect.stringMatching(/line 3$/),
  })
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
})

test('names the command that updates a revealed NFT whose row was edited, on every machine', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  expect(await one.reveal(ROWS)).toMatchObject({ code: 0, error: null })
  const other = await machine(collection)
  const hintOf = ({ error }: { error: { hint: string | null } | null }) => error?.hint ?? ''
  expect(hintOf(await other.reveal(edited))).toContain(' To edit NFTs, first reveal all of them, then run `gdn apply ')
  const isKnown = /^Nothing was sent\. All NFTs of the run are revealed\. To edit them, run `gdn (apply [^`]+)`\./
  const hint = hintOf(await one.reveal(edited))
  expect([hint, hintOf(await one.mint(edited))]).toEqual([expect.stringMatching(isKnown), hint])
  const [, command = ''] = isKnown.exec(hint) ?? []
  expect(
    await one.cli(...command.split(' ').filter((word) => word !== '--base-url' && word !== backend.url), '--yes'),
  ).toMatchObject({ code: 0 })
  expect(await titlesOf(collection)).toEqual(['Dawn', 'Dusk', 'Midnight'])
  expect(hintOf(await one.reveal(edited))).toBe(hint)
})

test('names the complete reveal as a condition while an NFT is not revealed', async () => {
  const one = await minted(await collectionOf())
  const hint = expect.stringContaining(' To edit NFTs, first reveal all of them, then run `gdn apply ')
  expect([(await one.reveal(edited)).error, (await one.mint(edited)).error]).toMatchObject([{ hint }, { hint }])
})

test('names the complete reveal as a condition while a row is not minted, even if all NFTs are revealed', async () => {
  const one = await machine(await collectionOf())
  let requests = 0
  const relay = await startHttpServer(async (request) => {
    if (!request.path.endsWith('/creatednft') || ++requests === 1) return await forward(backend.url, request)
    return { status: 403, json: { error: { title: 'Forbidden', message: 'not yet' } } }
  })
  try {
    const gdn = async (manifest: string, ...command: string[]) => {
      await writeFile(one.path('drop.csv'), manifest)
      const target = one.target.filter((word) => word !== '--base-url' && word !== backend.url)
      return await one.cliAt(relay.url, ...command, one.path('drop.csv'), ...target, '--json')
    }
    const mint = ['batch', 'mint', '--chunk-size', '1', '--unrevealed', one.path('hidden.json')]
    expect((await gdn(ROWS, ...mint)).code).toBe(4)
    const { stdout, stderr } = await gdn(ROWS, 'reveal', '--yes', '--rpc-url', `${backend.url}/rpc/polygon`)
    expect(JSON.parse(stdout), stderr).toMatchObject({ revealed: 1, not_minted: 2 })
    expect(errorOf(await gdn(edited, ...mint)).hint).toContain(
      ' To edit NFTs, first reveal all of them, then run `gdn apply ',
    )
  } finally {
    await relay.close()
  }
})

test('refuses rows that changed places where only their IDs show it', async () => {
  const collection = await collectionOf()
  await minted(collection)
  const other = await machine(collection)
  const swapped = ROWS.replace('r1,', 'rX,').replace('r2,', 'r1,').replace('rX,', 'r2,')
  const { error } = await other.reveal(swapped)
  expect(error).toMatchObject({ code: 'refused', message: expect.stringContaining('line 2 was minted as row 2') })
})

test('refuses a collection that is not committed to the manifest', async () => {
  const one = await minted(await collectionOf())
  const { address } = await collectionOf()
  expect((await one.reveal(ROWS, '-c', address)).error).toMatchObject({
    message: expect.stringContaining('no commitment of the collection'),
  })
})

test('leaves rows that are not minted, and NFTs that were changed outside the manifest, and names them', {
  tags: ['promise'],
}, async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  const [first, second] = await nftsOf(collection)
  await one.cli('nft', 'update', first?.nft_gdn_id ?? '', '--title', 'Changed', '-b', 'polygon')
  await one.cli('nft', 'freeze', second?.nft_gdn_id ?? '', '-b', 'polygon', '--yes')
  const { code, stdout, stderr } = await one.reveal(ROWS)
  expect(code, stderr).toBe(0)
  const found = JSON.parse(stdout)
  expect(found).toMatchObject({ revealed: 1, to_reveal: 0, left: 2 })
  const reasons = found.unrevealed_rows.map(({ reason }: { reason: string }) => reason)
  expect(reasons.sort()).toEqual(['the NFT is frozen', 'the metadata of the NFT was changed outside the manifest'])
})

test('nft verify proves a reveal, and notices what was changed after it', { tags: ['promise'] }, async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  const [first] = await nftsOf(collection)
  const id = first?.nft_gdn_id ?? ''
  const verify = () => one.cli('nft', 'verify', id, '--on-chain', '-b', 'polygon', '--json')
  expect(JSON.parse((await verify()).stdout)).toMatchObject({ provenance: { rows: 3, is_revealed: false } })
  await one.reveal(ROWS)
  expect(JSON.parse((await verify()).stdout)).toMatchObject({
    verified: true,
    provenance: { rows: 3, first_token_id: '1', is_revealed: true },
  })
  await one.cli('nft', 'update', id, '--title', 'Better', '-b', 'polygon')
  const changed = await verify()
  expect(changed.code).toBe(5)
  expect(JSON.parse(changed.stdout)).toMatchObject({ verified: false, provenance: null })
  expect(changed.stderr).toContain(`${id} differs from the commitment of the collection: the leaf of row`)
  expect(changed.stderr).toContain('gdn nft history')
})

test('anybody proves a reveal from node and gateway, of flags or of a named server, without a key', {
  tags: ['promise'],
}, async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  const { env } = await tempHome()
  const sources = ['--rpc-url', `${backend.url}/rpc/polygon`, '--gateway', backend.url]
  const prove = (...argv: string[]) =>
    cli(['nft', 'verify', `${collection.address}/1`, '-b', 'polygon', '--json', ...argv], { env })
  expect((await prove(...sources)).stdout).toBe((await prove('--on-chain', ...sources)).stdout)
  const [rpc = '', node = ''] = sources
  for (const [argv, lacks] of [
    [[], 'no node is specified: set --rpc-url or GDN_RPC_URL, and --gateway for the files'],
    [['--gateway', backend.url], 'no node is specified: set --rpc-url or GDN_RPC_URL'],
    [[rpc, node], 'no gateway is specified: set --gateway for the files'],
  ] as const) {
    expect(errorOf(await prove('--on-chain', ...argv))).toMatchObject({ code: 'usage', message: lacks })
  }
  const missing = ['nft', 'verify', `${collection.address}/99`, '--on-chain', '-b', 'polygon', ...sources]
  expect(await cli(missing, { env })).toMatchObject({ code: 5, stderr: expect.stringContaining('has no token 99') })
  const hidden = await prove('--on-chain', ...sources)
  expect(JSON.parse(hidden.stdout), hidden.stderr).toMatchObject({ verified: true, provenance: { is_revealed: false } })
  expect((await prove('--on-chain', '--base-url', backend.url)).stdout).toBe(hidden.stdout)
  await one.reveal(ROWS)
  const revealed = await prove('--on-chain', ...sources)
  expect(JSON.parse(revealed.stdout)).toMatchObject({
    ...{ nft_gdn_id: null, token_id: '1', contract_address: collection.address, verified: true },
    provenance: { rows: 3, is_revealed: true },
  })
  const [first] = await nftsOf(collection)
  await one.cli('nft', 'update', first?.nft_gdn_id ?? '', '--title', 'Better', '-b', 'polygon')
  const changed = await prove('--on-chain', ...sources)
  expect(changed).toMatchObject({ code: 5, stderr: expect.stringContaining('the commitment of the collection') })
  expect(errorOf(changed).hint).not.toContain('gdn nft history')
  expect(errorOf(await prove('--on-chain', '--base-url', backend.url)).hint).toContain(
    `\`gdn nft history <nft_gdn_id> --base-url ${backend.url}\``,
  )
})

test('shows the hash of the commitment on one line of a terminal with 80 columns', async () => {
  const one = await minted(await collectionOf())
  const argv = ['reveal', one.path('drop.csv'), ...one.target, '--dry-run']
  const { stdout } = await cli(argv, { ...one.options, tty: true, columns: 80 })
  const lines = stdout.split('\n')
  expect(lines).toContainEqual(expect.stringMatching(/^PROVENANCE +0x[0-9a-f]{64}$/))
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
})

test('nft verify rejects an update that is not the reveal', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  const [first] = await nftsOf(collection)
  const id = first?.nft_gdn_id ?? ''
  await one.cli('nft', 'update', id, '--title', 'Better', '-b', 'polygon')
  const { code, stdout } = await one.cli('nft', 'verify', id, '--on-chain', '-b', 'polygon', '--json')
  expect(code, stdout).toBe(5)
})

test('nft verify does not take the word of the server for what was minted', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  const [first] = await nftsOf(collection)
  const id = first?.nft_gdn_id ?? ''
  await one.reveal(ROWS)
  await one.cli('nft', 'update', id, '--title', 'Better', '-b', 'polygon')
  const liar = await startHttpServer(async ({ method, path, headers, body }) => {
    const init = { method, headers: { 'x-api-key': String(headers['x-api-key']), 'content-type': 'application/json' } }
    const answer = await fetch(`${backend.url}${path}`, method === 'GET' ? init : { ...init, body: String(body) })
    return { status: answer.status, text: (await answer.text()).replaceAll(/"revision":\d+/g, '"revision":0') }
  })
  try {
    const argv = ['nft', 'verify', id, '--on-chain', '-b', 'polygon', '--rpc-url', `${backend.url}/rpc/polygon`]
    const { code, stdout } = await one.cliAt(liar.url, ...argv, '--gateway', backend.url, '--json')
    expect(code, stdout).toBe(5)
  } finally {
    await liar.close()
  }
})

test.each<[string, string, string]>([
  ['a URL', 'https://example.org/1.png', 'content can change'],
  ['an ipfs URL', 'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4', 'content can change'],
])('refuses %s as a file of a row', async (_, url, why) => {
  const one = await machine(await collectionOf())
  const { error } = await one.mint(ROWS.replace('art/2.txt', url))
  expect(error).toMatchObject({ code: 'invalid_manifest', message: expect.stringContaining(why) })
})

test('the state has no values of unrevealed rows', async () => {
  const one = await minted(await collectionOf())
  const files = await readdir(one.path(''), { recursive: true })
  const leaves = files.filter((name) => /provenance\/0x[0-9a-f]{64}\.txt$/.test(name))
  expect(leaves).toHaveLength(1)
  await rm(join(one.path(''), leaves[0] ?? ''))
  // Without them, the rows that differ can't be named.
  expect((await one.reveal(csv('Dawn', 'Midnight', 'Dusk'))).error).toMatchObject({
    message: expect.stringMatching(/^\S+drop\.csv: .* committed to the rows$/),
  })
})

test('gdn plan leaves unrevealed NFTs to gdn reveal, and sees no difference after it', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  const reasons = async () => {
    const { stdout } = await one.run(['plan'], ROWS)
    return (JSON.parse(stdout) as { action: string; reason: string }[]).map(
      ({ action, reason }) => `${action}: ${reason}`,
    )
  }
  expect(new Set(await reasons())).toEqual(new Set(['impossible: the NFT is not revealed: use gdn reveal']))
  await one.run(['apply', '--yes'], ROWS, '--take-over')
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
  await one.reveal(ROWS)
  expect(await reasons()).toEqual([])
  expect(await one.run(['apply', '--yes'], csv('Dawn', 'Midday', 'Dusk'))).toMatchObject({ code: 0, error: null })
  expect(await titlesOf(collection)).toEqual(['Dawn', 'Dusk', 'Midday'])
})

test('gdn apply keeps the salt of a revealed NFT, so that undoing an edit restores the proof', {
  tags: ['promise'],
}, async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  await one.reveal(ROWS)
  const second = (await nftsOf(collection)).find(({ request_metadata: { title } }) => title === 'Noon')
  const verify = () => one.cli('nft', 'verify', second?.nft_gdn_id ?? '', '--on-chain', '-b', 'polygon', '--json')
  const edited = csv('Dawn', 'Midday', 'Dusk')
  expect((await one.run(['plan'], edited)).stdout).toContain(
    '1 NFT to update is already revealed. gdn nft verify --on-chain can verify an NFT only while its metadata and files match',
  )
  expect(await one.run(['apply', '--yes'], edited)).toMatchObject({ code: 0, error: null })
  expect(await verify()).toMatchObject({ code: 5, stderr: expect.stringContaining('the leaf of row 2') })
  expect(await one.run(['apply', '--yes'], ROWS)).toMatchObject({ code: 0, error: null })
  expect(await verify()).toMatchObject({ code: 0 })
})

test('gdn reveal restores a salt that an update of its row removed', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  await one.reveal(ROWS)
  const [first] = await nftsOf(collection)
  if (first === undefined) throw new Error('no NFT')
  const verify = () => one.cli('nft', 'verify', first.nft_gdn_id, '--on-chain', '-b', 'polygon', '--json')
  const { provenance_salt: _, ...metadata } = first.request_metadata
  const { revision_reference_id: reference } = await nftOf(first.nft_gdn_id)
  await call(backend, 'updatednft', {
    nft_gdn_id: first.nft_gdn_id,
    contract_address: collection.address,
    metadata: [metadata],
    reference_id: reference.replace(/[0-9]+$/, '1'),
  })
  await until(
    () => nftOf(first.nft_gdn_id),
    ({ request_metadata }) => request_metadata.provenance_salt === undefined,
  )
  expect(await verify()).toMatchObject({ code: 5, stderr: expect.stringContaining('provenance_salt') })
  expect(JSON.parse((await one.reveal(ROWS)).stdout)).toMatchObject({ revealed: 3, left: 0 })
  expect(await verify()).toMatchObject({ code: 0 })
})

test('gdn nft update -f keeps the salt of a revealed NFT', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  await one.reveal(ROWS)
  const [first] = await nftsOf(collection)
  const { provenance_salt: salt, ...metadata } = first?.request_metadata ?? {}
  await writeFile(one.path('new.json'), JSON.stringify({ ...metadata, title: 'Better' }))
  const argv = ['nft', 'update', first?.nft_gdn_id ?? '', '-f', one.path('new.json'), '-b', 'polygon']
  expect((await one.cli(...argv)).stderr).toContain('is already revealed')
  expect((await nftOf(first?.nft_gdn_id ?? '')).request_metadata).toEqual({
    ...metadata,
    title: 'Better',
    provenance_salt: salt,
  })
})

test('mints nothing before the commitment is final', async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  const letGo = await held('provenance')
  await one.commit(ROWS)
  await letGo()
  expect(await one.mint(ROWS)).toMatchObject({ code: 0, error: null })
  expect(await titlesOf(collection)).toEqual(['Hidden', 'Hidden', 'Hidden'])
  const { provenances } = await call(backend, 'getprovenances', { contract_address: collection.address })
  expect(provenances).toHaveLength(1)
})

test.each([
  ['', []],
  [' with --adopt', ['--adopt']],
])(
  'mints a manifest once if two machines start under different names at the same time%s',
  {
    tags: ['promise'],
  },
  async (_how, more) => {
    const collection = await collectionOf()
    let waiting: (() => void)[] = []
    const relay = await startHttpServer(async (request) => {
      if (request.path.endsWith('/commitprovenance')) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve)
          if (waiting.length < 2) return
          for (const go of waiting) go()
          waiting = []
        })
      }
      return await forward(backend.url, request)
    })
    onTestFinished(relay.close)
    const mint = async (name: string) => {
      const one = await machine(collection)
      await writeFile(one.path(name), ROWS)
      const argv = ['batch', 'mint', one.path(name), ...one.target.slice(0, 4), '--unrevealed', one.path('hidden.json')]
      const result = await one.cliAt(relay.url, ...argv, ...more, '--json')
      return result.code === 0 ? null : errorOf(result)
    }
    const errors = await Promise.all([mint('drop.csv'), mint('renamed.csv')])
    expect(errors).toContain(null)
    expect(errors.find((error) => error !== null)).toMatchObject({
      code: 'seems_minted',
      message: expect.stringContaining('another name'),
    })
    expect(await nftsOf(collection)).toHaveLength(3)
  },
)

test('reveals rows once they are minted, and names them before', async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  const letGo = await held('mint')
  expect(await one.mint(ROWS, '--no-wait')).toMatchObject({ code: 0, error: null })
  const { code, stdout } = await one.reveal(ROWS)
  expect(code).toBe(0)
  const found = JSON.parse(stdout)
  expect(found).toMatchObject({ revealed: 0, not_minted: 3, left: 0, unrevealed_rows_left_out: 0 })
  expect(found.unrevealed_rows).toContainEqual({ key: 'r2', line: 3, reason: 'the NFT is not deployed yet' })
  const shown = await one.atTerminal('reveal', '--yes')
  expect(shown.stderr).toContain('line 3: the NFT is not deployed yet')
  expect(shown.stdout).toMatch(/^NOT MINTED +3$/m)
  expect(shown.stdout).not.toMatch(/UNREVEALED|"key"/)
  await letGo()
  expect(await one.mint(ROWS)).toMatchObject({ code: 0, error: null })
  expect(JSON.parse((await one.reveal(ROWS)).stdout)).toMatchObject({ revealed: 3, not_minted: 0 })
})

test('reveals rows that got their IDs after the mint, and any machine finds them by their IDs then', async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  expect(await one.mint(ROWS.replaceAll(/^\w+,/gm, ''))).toMatchObject({ code: 0, error: null })
  const { code, stdout, stderr } = await one.reveal(ROWS)
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ revealed: 3, not_minted: 0 })
  const other = await machine(collection)
  expect(await other.run(['apply', '--yes'], csv('Dawn', 'Midday', 'Dusk'))).toMatchObject({ code: 0, error: null })
  expect(await titlesOf(collection)).toEqual(['Dawn', 'Dusk', 'Midday'])
})

test('reveals a renamed manifest under its former name, and says that it needs that', async () => {
  const collection = await collectionOf()
  await minted(collection)
  const other = await machine(collection)
  await writeFile(other.path('renamed.csv'), ROWS)
  const argv = ['reveal', '--yes', other.path('renamed.csv'), '-c', collection.address, '-b', collection.blockchain]
  const refused = await other.cli(...argv)
  expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('renamed since the mint, add --run') })
  const { stdout, stderr } = await other.cli(...argv, '--run', 'drop.csv', '--json')
  expect(JSON.parse(stdout), stderr).toMatchObject({ revealed: 3 })
})

test('counts a row as revealed whose update of another machine ends during the reveal', async () => {
  const collection = await collectionOf()
  const one = await minted(collection)
  const letGo = await held('update')
  expect((await one.reveal(ROWS, '--timeout', '5s')).error).toMatchObject({ code: 'pending' })
  let looks = 0
  const relay = await startHttpServer(async (request) => {
    // The first look is that of the plan.
    if (request.path.endsWith('/getnfts') && ++looks === 2) {
      await letGo()
      await until(
        () => nftsOf(collection),
        (nfts) => nfts.every(({ revision }) => revision > 0),
      )
    }
    return await forward(backend.url, request)
  })
  try {
    const other = await machine(collection)
    await writeFile(other.path('drop.csv'), ROWS)
    const argv = [
      'reveal',
      '--yes',
      other.path('drop.csv'),
      '-c',
      collection.address,
      '-b',
      collection.blockchain,
      '--json',
    ]
    const { stdout, stderr } = await other.cliAt(relay.url, ...argv, '--rpc-url', `${backend.url}/rpc/polygon`)
    expect(JSON.parse(stdout), stderr).toMatchObject({ revealed: 3, to_reveal: 0 })
    expect(looks).toBeGreaterThan(1)
  } finally {
    await relay.close()
  }
})

test('prints what was revealed before an error that ends the reveal', async () => {
  const collection = await collectionOf()
  await minted(collection)
  let updates = 0
  const relay = await startHttpServer(async (request) => {
    if (!request.path.endsWith('/updatednft') || ++updates === 1) return await forward(backend.url, request)
    return { status: 403, json: { error: { title: 'Forbidden', message: 'not yet' } } }
  })
  try {
    const other = await machine(collection)
    await writeFile(other.path('drop.csv'), ROWS)
    const target = ['-c', collection.address, '-b', collection.blockchain, '--rpc-url', `${backend.url}/rpc/polygon`]
    const argv = ['reveal', '--yes', other.path('drop.csv'), ...target, '--json']
    const { code, stdout, stderr } = await other.cliAt(relay.url, ...argv)
    expect([code, JSON.parse(stderr).error.code]).toEqual([4, 'forbidden'])
    const { revealed, pending, ...record } = JSON.parse(stdout)
    expect(record).toMatchObject({ rows: 3, to_reveal: 3 - revealed, failed: 0, unknown: 0 })
    expect(revealed + pending).toBe(1)
  } finally {
    await relay.close()
  }
})

test('a dry run commits to nothing, and shows what would be minted', async () => {
  const collection = await collectionOf()
  const one = await machine(collection)
  const { code, stdout, stderr } = await one.mint(ROWS, '--dry-run')
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    to_send: 3,
    first_request: { body: { metadata: [{ title: 'Hidden', provenance_row: '1' }, {}] } },
  })
  expect((await call(backend, 'getprovenances', { contract_address: collection.address })).provenances).toEqual([])
})

test.each<[string, object, string]>([
  [
    'without room',
    Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((key) => [`extra:${key}`, 'x'])),
    ':1: has no room',
  ],
  ['with a key of the reveal', { 'extra:provenance': 'x' }, ':1: provenance is reserved for the reveal'],
])('refuses a placeholder %s', async (_, more, why) => {
  const one = await machine(await collectionOf())
  const hidden = { title: 'Hidden', description: 'Wait', image: 'art/hidden.txt', ...more }
  await writeFile(one.path('hidden.json'), JSON.stringify(hidden))
  expect((await one.mint(ROWS)).error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining(why) })
})
