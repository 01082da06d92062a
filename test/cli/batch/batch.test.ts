import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { shellWord } from '../../../src/core/shell-word.ts'
import { CONTRACT, fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { CSV, folder, service, TARGET } from './drop.ts'

describe('batch validate', () => {
  test('counts the rows and receivers of a valid manifest', async () => {
    const { path, options } = await folder()
    const { code, stdout } = await cli(['batch', 'validate', path('drop.csv'), ...TARGET, '--json'], options)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      valid: true,
      rows: 2,
      receivers: 1,
      issue_count: 0,
      blockchain: 'polygon',
    })
  })

  test('reports every error at once with line and column, and exits with 2', async () => {
    const { path, options } = await folder({ 'bad.csv': `title,description,receiver\n,d,${OWNER}\nx,d,0x12\n` })
    const result = await cli(['batch', 'validate', path('bad.csv'), ...TARGET, '--json'], options)
    expect(result).toMatchObject({ code: 2, stdout: '' })
    const { code, details } = errorOf(result)
    expect(code).toBe('invalid_manifest')
    expect(details).toMatchObject({
      issue_count: 2,
      issues: [{ place: { line: 2, column: 1 } }, { place: { line: 3, column: 3 } }],
    })
  })

  test('names the flag of an invalid contract address', async () => {
    const { path, options } = await folder()
    const argv = ['batch', 'validate', path('drop.csv'), '-b', 'polygon', '-c', '0x12', '--json']
    const result = await cli(argv, options)
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(result)).toMatchObject({ code: 'usage', message: expect.stringContaining('--contract') })
  })

  test('prints the dry run with the given flags, because the supply may not suffice, and names what is still missing', async () => {
    const { path, options } = await folder()
    const hint = async (...argv: string[]) =>
      (await cli(['batch', 'validate', path('drop.csv'), ...argv], options)).stderr
    const mint = `To preview the mint: gdn batch mint ${shellWord(path('drop.csv'))}`
    const bare = await hint('-b', 'polygon')
    expect(bare).toContain(`${mint} --blockchain polygon --dry-run\n`)
    expect(bare).toMatch(/select a server with --local, .*\n.*select a collection with -c/)
    const whole = await hint(...TARGET, '--local')
    expect(whole).toContain(`${mint} --contract ${CONTRACT} --blockchain polygon --local --dry-run\n`)
    expect(whole).not.toContain('also select')
  })

  test('reads standard input', async () => {
    const { options } = await folder()
    const { stdout } = await cli(['batch', 'validate', '-', ...TARGET, '--json'], { ...options, stdin: CSV })
    expect(JSON.parse(stdout)).toMatchObject({ rows: 2 })
  })
})

describe('batch mint', () => {
  test('reports a missing manifest before a missing server, key or collection', async () => {
    const result = await cli(['batch', 'mint', 'nope.csv', '--json'])
    expect(result).toMatchObject({ code: 2, stdout: '' })
    expect(errorOf(result)).toMatchObject({
      code: 'invalid_manifest',
      message: "nope.csv: doesn't exist",
      hint: expect.stringContaining('gdn batch template'),
    })
  })

  test('mints every row, prints one summary, and lists the rows in the results', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service())
    const { code, stdout, stderr } = await cli(
      ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json'],
      options,
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const summary = JSON.parse(stdout)
    expect(summary).toMatchObject({ total: 2, deployed: 2, failed: 0, unknown: 0, contract_address: CONTRACT })
    const results = await cli(['batch', 'results', summary.run, '--json'], options)
    expect(JSON.parse(results.stdout)).toMatchObject([
      { line: 2, status: 'deployed', nft_gdn_id: 'id-0', token_id: '1', receiver_wallet_address: OWNER },
      { line: 3, status: 'deployed', nft_gdn_id: 'id-1', token_id: '2' },
    ])
    expect(JSON.parse((await cli(['batch', 'list', '--json'], options)).stdout)).toMatchObject([
      { run: summary.run, deployed: 2 },
    ])
    expect(JSON.parse((await cli(['batch', 'status', summary.run, '--json'], options)).stdout)).toMatchObject({
      deployed: 2,
    })
  })

  test.each(['failed', 'error'])('exits with 7 if the status of an NFT is %s', async (status) => {
    const { path, options } = await folder()
    const { createnft, getnfts } = service()
    const api = await fakeApi({
      createnft,
      getnfts: (body: { nft_gdn_ids: string[] }) => {
        const { requests, nfts } = getnfts(body).body as { requests: object; nfts: object[] }
        return { body: { requests, nfts: nfts.map((one) => ({ ...one, status, token_id: null, error: 'no gas' })) } }
      },
    })
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json']
    const { code, stdout, stderr } = await cli(argv, options)
    expect(code).toBe(7)
    expect(JSON.parse(stdout)).toMatchObject({ total: 2, failed: 2, deployed: 0 })
    expect(stderr).toContain('no gas')
  })

  test('prints a three-row summary on a terminal; batch status prints every number', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service((title) => title === 'Dusk'))
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--chunk-size', '1', '--base-url', api.url]
    const { code, stdout, stderr } = await cli(argv, { ...options, tty: true })
    expect(code).toBe(7)
    const [run, state, results, end] = stdout.split('\n')
    const name = run?.replace(/^RUN +/, '') ?? ''
    expect([state, results, end]).toEqual([
      'STATE    2 rows: 1 deployed, 1 failed',
      `RESULTS  gdn batch results ${name}`,
      '',
    ])
    expect(stderr).toContain('line 3')
    const listed = await cli(['batch', 'results', name, '-o', 'ids'], options)
    expect(listed).toMatchObject({ code: 0, stdout: 'id-0\n' })
    expect((await cli(['batch', 'status', name], options)).stdout).toContain('failed\t1\nunknown\t0\n')
  })

  test('prints the summary again and sends nothing for a finished run; --again mints a second drop', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service())
    const mint = (...more: string[]) =>
      cli(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json', ...more], options)
    const { run } = JSON.parse((await mint()).stdout)
    const secondResult = await mint()
    expect({ code: secondResult.code, stderr: secondResult.stderr }).toEqual({ code: 0, stderr: '' })
    expect(JSON.parse(secondResult.stdout)).toMatchObject({ run, total: 2, deployed: 2 })
    const forPeople = await cli(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url], options)
    expect(forPeople.stderr).toContain(
      `Nothing is left to do: all 2 rows of the run ${run} are deployed.\nWith --again, gdn mints every row a second time.\n`,
    )
    const at = [run, '--base-url', api.url]
    for (const argv of [['retry'], ['retry', '--dry-run'], ['retry', '--absent'], ['resume']]) {
      const { code, stderr } = await cli(['batch', ...argv, ...at], options)
      const what = { resume: 'Nothing is left to do', retry: 'No row has failed' }[argv[0] ?? '']
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringContaining(
          `${argv[1] === '--absent' ? 'No row is absent' : what}: all 2 rows of the run ${run} are deployed.\n`,
        ),
      })
      expect(stderr).not.toContain('--again')
    }
    for (const flag of ['--max-cost', '--max-fee-gwei']) {
      const limited = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, flag, '1']
      expect((await cli(limited, options)).stderr).toContain(`${flag} is ignored because the run is finished.`)
    }
    const resumed = await cli(['batch', 'resume', run, '--base-url', api.url, '--json'], options)
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining('"deployed":2') })
    expect(api.bodies('createnft')).toHaveLength(1)
    expect((await mint('--again')).code).toBe(0)
    expect(api.bodies('createnft')).toHaveLength(2)
  })

  test('says how many edited rows of a finished run stay as they were sent', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service())
    const rowsOf = (title: string) =>
      `id,title,description,receiver\na,${title},first,${OWNER}\nb,Dusk,second,${OWNER}\n`
    const mint = async (title: string, ...more: string[]) => {
      await writeFile(path('ids.csv'), rowsOf(title))
      return await cli(['batch', 'mint', path('ids.csv'), ...TARGET, '--base-url', api.url, ...more], options)
    }
    expect((await mint('Dawn')).stderr).not.toContain('changed')
    const edited = await mint('Dawn II')
    expect(edited).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        `1 row was already sent with different values and won't be sent again. To compare it with its NFT, run \`gdn plan ids.csv --contract ${CONTRACT} --blockchain polygon --base-url ${api.url}\`.\n`,
      ),
    })
    const lines = ({ stderr }: { stderr: string }) => stderr.trimEnd().split('\n')
    const json = async (title: string, ...more: string[]) => JSON.parse((await mint(title, '--json', ...more)).stdout)
    expect(await json('Dawn II')).toMatchObject({ kept_accepted: 1, warnings: [], notes: lines(edited) })
    expect((await json('Dawn II', '--max-cost', '1')).notes[0]).toMatch(/^--max-cost is ignored/)
    expect(JSON.parse((await mint('Dawn II', '-o', 'ndjson')).stdout)).toMatchObject({ kept_accepted: 1 })
    const resumed = async (title: string, verb: string) => {
      await writeFile(path('ids.csv'), rowsOf(title))
      const { stdout } = await cli(['batch', verb, 'ids', '--base-url', api.url, '--json'], options)
      return JSON.parse(stdout)
    }
    for (const verb of ['retry', 'resume']) {
      expect(await resumed('Dawn II', verb)).toMatchObject({ kept_accepted: 1 })
      expect(await resumed('Dawn', verb)).toMatchObject({ kept_accepted: 0 })
    }
    expect(api.bodies('createnft')).toHaveLength(1)
  })

  test.each([
    ['finished', '', 0],
    ['resumed', `c,Noon,third,${OWNER}\n`, 1],
  ])('notes the rows that were removed from the manifest of a %s run, in each format', async (_, added, sentCount) => {
    const first = `id,title,description,receiver\na,Dawn,first,${OWNER}\n`
    for (const format of [[], ['--json']]) {
      const { path, options } = await folder()
      const api = await fakeApi(service())
      const mint = async (rows: string, ...more: string[]) => {
        await writeFile(path('ids.csv'), rows)
        return await cli(['batch', 'mint', path('ids.csv'), ...TARGET, '--base-url', api.url, ...more], options)
      }
      await mint(`${first}b,Dusk,second,${OWNER}\n`)
      const { code, stdout, stderr } = await mint(first + added, '--new-rows', ...format)
      const notes = format.length === 0 ? stderr : JSON.parse(stdout).notes.join('\n')
      expect(code, stderr).toBe(0)
      expect(notes).toContain('1 row is no longer in the manifest. Its NFT is kept.')
      expect(api.bodies('createnft')).toHaveLength(1 + sentCount)
    }
  })

  test.each([
    ['never sent', 401, "1 row was removed before it was sent and isn't minted."],
    ['failed', 400, '1 row was removed after it failed and has no NFT.'],
  ])('mentions no NFT of a removed row that has none: %s', async (_, status, note) => {
    const { path, options } = await folder()
    const { createnft, getnfts } = service()
    const refuse = { status, body: { error: { title: 'Refused', message: 'not now' } } }
    const refuseDusk: typeof createnft = (body) =>
      body.metadata.some(({ title }) => title === 'Dusk') ? refuse : createnft(body)
    const api = await fakeApi({ createnft: refuseDusk, getnfts })
    const mint = async (titles: string[], ...more: string[]) => {
      const rows = titles.map((title) => `${title.toLowerCase()},${title},first,${OWNER}\n`)
      await writeFile(path('ids.csv'), `id,title,description,receiver\n${rows.join('')}`)
      const argv = ['batch', 'mint', path('ids.csv'), ...TARGET, '--base-url', api.url, '--chunk-size', '1', ...more]
      return await cli(argv, options)
    }
    expect((await mint(['Dawn', 'Dusk'])).code).not.toBe(0)
    const { code, stderr } = await mint(['Dawn'])
    expect(code, stderr).toBe(0)
    expect(stderr).toContain(note)
    expect(stderr).not.toContain('NFT is kept')
  })

  test('exits with 7 and lists by line the rows that the server rejects', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service((title) => title === 'Dusk'))
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--chunk-size', '1', '--base-url', api.url, '--json']
    const result = await cli(argv, options)
    expect(result.code).toBe(7)
    expect(JSON.parse(result.stdout)).toMatchObject({ deployed: 1, failed: 1 })
    expect(errorOf(result)).toMatchObject({
      code: 'batch_failed_rows',
      details: { failed_rows: [{ line: 3, error: expect.stringContaining('not liked') }] },
    })
  })

  test('returns once all rows are accepted with --no-wait', async () => {
    const { path, options } = await folder()
    const { createnft } = service()
    const api = await fakeApi({ createnft })
    const { code, stdout } = await cli(
      ['batch', 'mint', path('drop.csv'), ...TARGET, '--no-wait', '--base-url', api.url, '--json'],
      options,
    )
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ accepted: 2, deployed: 0 })
  })

  test('shows requests and bytes with --dry-run, and sends nothing', async () => {
    const { path, options } = await folder()
    const argv = [
      'batch',
      'mint',
      path('drop.csv'),
      ...TARGET,
      '--chunk-size',
      '1',
      '--dry-run',
      '--no-lookup',
      '--json',
    ]
    const { code, stdout } = await cli([...argv, '--base-url', 'http://127.0.0.1:9'], options)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      rows: 2,
      to_send: 2,
      requests: 2,
      receivers: 1,
      first_request: { endpoint: 'createnft' },
    })
    expect(JSON.parse((await cli(['batch', 'list', '--json'], options)).stdout)).toEqual([])
  })

  test('nft mint -f mints a manifest like batch mint', async () => {
    const { path, options } = await folder({
      'drop.json': JSON.stringify([{ title: 'a', description: 'b', receiver: OWNER }]),
    })
    const api = await fakeApi(service())
    const { code, stdout } = await cli(
      ['nft', 'mint', '-f', path('drop.json'), ...TARGET, '--base-url', api.url, '--json'],
      options,
    )
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ total: 1, deployed: 1 })
  })

  test('reads the collection from the manifest if no flag names it', async () => {
    const csv = `title,description,receiver,contract_address,blockchain\nDawn,d,${OWNER},${CONTRACT},polygon\n`
    const { path, options } = await folder({ 'drop.csv': csv })
    const api = await fakeApi(service())
    expect((await cli(['batch', 'mint', path('drop.csv'), '--base-url', api.url], options)).code).toBe(0)
    expect(api.bodies('createnft')).toMatchObject([{ contract_address: CONTRACT, blockchain: 'polygon' }])
  })

  test('requires --run for standard input', async () => {
    const { options } = await folder()
    const argv = ['batch', 'mint', '-', ...TARGET, '--base-url', 'http://127.0.0.1:9']
    const { code, stderr } = await cli(argv, { ...options, stdin: CSV })
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--run') })
  })

  test('prompts once on a public network, after all rows were checked', async () => {
    const { path, options } = await folder()
    const server = ['--base-url', 'https://api.example.invalid']
    // Without --again it would first ask that server what the collection holds.
    const result = await cli(['batch', 'mint', path('drop.csv'), ...TARGET, ...server, '--again', '--json'], options)
    expect(result.code).toBe(3)
    expect(errorOf(result).message).toContain('Mint 2 NFTs for 1 receiver')
    expect(JSON.parse((await cli(['batch', 'list', '--json'], options)).stdout)).toEqual([])
  })
})

test('--for-spreadsheet escapes cells that a spreadsheet would execute', async () => {
  const { path, options } = await folder({ 'drop.csv': `id,title,description,receiver\n=HYPERLINK(1),x,d,${OWNER}\n` })
  const api = await fakeApi(service())
  const { stdout } = await cli(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json'], options)
  const { run } = JSON.parse(stdout)
  const csv = async (...more: string[]) =>
    (await cli(['batch', 'results', run, '-o', 'csv', '--fields', 'key', ...more], options)).stdout
  expect(await csv()).toBe('key\r\n=HYPERLINK(1)\r\n')
  expect(await csv('--for-spreadsheet')).toBe("\ufeffkey\r\n'=HYPERLINK(1)\r\n")
})

test('reports an unknown run with gdn batch list and the command that resumes without state', async () => {
  const { code, stderr } = await cli(['batch', 'reconcile', 'drop.csv', '--local'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/gdn batch list.*\n.*gdn batch mint.*--adopt/)
  expect((await cli(['batch', 'status', 'drop-1234'])).stderr).not.toContain('--adopt')
})

test('reports an unknown run as a usage error, not as a server error', async () => {
  const { code, stderr } = await cli(['batch', 'status', 'nope'])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('gdn batch list') })
})
