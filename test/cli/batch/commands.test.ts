/** @module-tag slow */
import { mkdir, realpath, symlink, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { command as reconcile } from '../../../src/cli/commands/batch/reconcile.ts'
import type { Deps } from '../../../src/cli/deps.ts'
import { shellWord } from '../../../src/core/shell-word.ts'
import { CONTRACT, fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf, tempHome } from '../harness.ts'
import { CSV, folder, service, TARGET } from './drop.ts'

/** A run with one rejected row; `relent` makes the server accept all later requests. */
async function withRefused(csv = CSV) {
  const { path, options } = await folder({ 'drop.csv': csv })
  let refuses = true
  const api = await fakeApi(service((title) => refuses && title === 'Dusk'))
  const mint = (...more: string[]) =>
    cli(
      ['batch', 'mint', path('drop.csv'), ...TARGET, '--chunk-size', '1', '--base-url', api.url, '--json', ...more],
      options,
    )
  await mint()
  const gdn = (verb: string, ...more: string[]) =>
    cli(['batch', verb, 'drop', '--base-url', api.url, '--json', ...more], options)
  const relent = () => {
    refuses = false
  }
  return { api, path, options, mint, gdn, relent }
}

test('batch results says if no row has the status', async () => {
  const { gdn, relent, options } = await withRefused()
  relent()
  await gdn('retry')
  const results = async (status: string) =>
    await cli(['batch', 'results', 'drop', '--status', status], { ...options, tty: true })
  expect(await results('failed')).toMatchObject({ code: 0, stdout: '', stderr: 'No row has failed.\n' })
  expect((await results('pending,unknown')).stderr).toBe('No row has the status pending or unknown.\n')
})

describe('batch retry', () => {
  test('retries only the rows that the server rejected', { tags: ['promise'] }, async () => {
    const { api, gdn, relent } = await withRefused()
    relent()
    const { code, stdout } = await gdn('retry')
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ deployed: 2, failed: 0, requests: 1 })
    expect(api.bodies('createnft')).toHaveLength(3)
    expect((await gdn('retry')).code).toBe(0)
    expect(api.bodies('createnft')).toHaveLength(3)
  })

  test('exits with 7 if the server rejects the rows again', async () => {
    const { gdn } = await withRefused()
    expect((await gdn('retry')).code).toBe(7)
  })

  test.each(['retry', 'resume'])('batch %s --dry-run shows what it would send, and sends nothing', async (verb) => {
    const { api, gdn } = await withRefused()
    const more = verb === 'resume' ? ['--retry-failed'] : []
    const { code, stdout } = await gdn(verb, '--dry-run', ...more)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ to_send: 1, requests: 1 })
    expect(api.bodies('createnft')).toHaveLength(2)
  })

  describe.each([
    ['without an ID', 'title,description,receiver', ['', '']],
    ['with an ID', 'id,title,description,receiver', ['a,', 'b,']],
  ])('of a failed row %s', (_, header, [first, second]) => {
    const csv = (title: string | null) =>
      [
        header,
        `${first}Dawn,first,${OWNER}`,
        ...(title === null ? [] : [`${second}${title},second,${OWNER}`]),
        '',
      ].join('\n')

    test.each([
      ['edited', 'Dusk II', [['retry'], ['retry', '--dry-run'], ['resume', '--retry-failed']]],
      ['removed', null, [['retry']]],
    ])('sends nothing if the row was %s, and names the command that sends the manifest', async (_how, title, verbs) => {
      const { api, path, options, gdn, mint, relent } = await withRefused(csv('Dusk'))
      relent()
      await writeFile(path('drop.csv'), csv(title))
      for (const [verb = '', ...more] of verbs) {
        const result = await gdn(verb, ...more)
        expect(result.code).toBe(2)
        expect(errorOf(result)).toMatchObject({
          code: 'edited_rows',
          message: expect.stringMatching(/^1 failed row of the run was edited or removed in .*drop\.csv$/),
          hint: expect.stringMatching(/run `gdn batch mint \S*drop\.csv --base-url \S+`/),
        })
      }
      expect(api.bodies('createnft')).toHaveLength(2)
      const minted = await mint()
      const total = title === null ? 1 : 2
      expect(minted.code).toBe(0)
      expect(JSON.parse(minted.stdout)).toMatchObject({ total, deployed: total, failed: 0, kept_accepted: 0 })
      expect(await cli(['batch', 'retry', 'drop', '--base-url', api.url], options)).toMatchObject({
        code: 0,
        stderr: expect.not.stringContaining('has changed'),
      })
    })

    test('sends the row as it was planned once the edit was reverted', async () => {
      const { api, path, gdn, relent } = await withRefused(csv('Dusk'))
      relent()
      await writeFile(path('drop.csv'), csv('Dusk II'))
      expect((await gdn('retry')).code).toBe(2)
      await writeFile(path('drop.csv'), csv('Dusk'))
      expect((await gdn('retry')).code).toBe(0)
      expect(api.bodies('createnft').at(-1)).toMatchObject({ metadata: [{ title: 'Dusk' }] })
    })
  })

  test('--absent sends no failed rows', async () => {
    const { api, gdn } = await withRefused()
    expect((await gdn('retry', '--absent')).code).toBe(7)
    expect(api.bodies('createnft')).toHaveLength(2)
  })
})

describe('a finished run', () => {
  test('exits with 7 on a second mint if rows failed, and prints the retry command', async () => {
    const { mint } = await withRefused()
    const result = await mint()
    expect(result.code).toBe(7)
    expect(JSON.parse(result.stdout)).toMatchObject({ failed: 1 })
    expect(errorOf(result).hint).toMatch(
      /gdn batch results drop-.* --status failed` to list them\.\n.*gdn batch retry drop-.*edit the manifest, run `gdn batch mint`/,
    )
  })

  test('exits with 7 on resume if rows failed, and prints the retry command', async () => {
    const { gdn } = await withRefused()
    const result = await gdn('resume')
    expect(result.code).toBe(7)
    expect(errorOf(result).hint).toMatch(
      /gdn batch results drop-.* --status failed` to list them\.\n.*gdn batch retry drop-.*edit the manifest, run `gdn batch mint`/,
    )
  })
})

test('resume warns if the manifest differs from the planned one, and continues with the planned rows', async () => {
  const { path, options } = await folder({ 'my drop.csv': CSV })
  const manifest = path('my drop.csv')
  const word = shellWord(await realpath(manifest))
  const api = await fakeApi(service())
  const server = ['--base-url', api.url]
  await cli(['batch', 'mint', manifest, ...TARGET, ...server, '--no-wait'], options)
  const unchanged = await cli(['batch', 'resume', 'my drop', ...server, '--no-wait'], options)
  expect(unchanged.stderr).not.toContain('has changed')
  await writeFile(manifest, `${CSV.replace('Dusk', 'Dusk!')}Noon,third,${OWNER}\n`)
  const { code, stderr } = await cli(['batch', 'resume', 'my drop', ...server], { ...options, columns: 200 })
  expect(code).toBe(0)
  expect(stderr).toContain('drop.csv differs from the rows of the run: 2 rows added, 0 edited, 1 removed.')
  expect(stderr).toMatch(/added: Dusk! \(line 3\)\n.*added: Noon \(line 4\)\n.*removed: Dusk \(line 3\)/)
  expect(stderr).toContain(`run \`gdn apply ${word} --base-url ${api.url}\``)
  expect(api.bodies('createnft')).toHaveLength(1)
  await writeFile(manifest, 'title\n')
  const broken = await cli(['batch', 'resume', 'my drop', ...server], options)
  expect(broken.stderr).toContain("can't be read with the run's options")
  expect(broken.stderr).toContain(`Run \`gdn batch validate ${word} --contract ${CONTRACT} --blockchain polygon`)
})

describe('a stopped run whose unsent rows were edited or removed', () => {
  const csv = (...rows: string[]) => ['id,name,description,receiver', ...rows, ''].join('\n')
  const row = (id: string, name = id) => `${id},${name},first,${OWNER}`

  /** A run that has sent the row `a`, but not the rows `b` and `c`. Then `b` is removed, and `c` is edited. */
  async function withStopped() {
    const { path, options } = await folder({ 'drop.csv': csv(row('a'), row('b'), row('c')) })
    const { createnft, getnfts } = service()
    let refuses = true
    const unauthorized = { status: 401, body: { error: { title: 'Unauthorized', message: 'not now' } } }
    const refuse: typeof createnft = (body) =>
      refuses && body.metadata.some(({ title }) => title !== 'a') ? unauthorized : createnft(body)
    const api = await fakeApi({ createnft: refuse, getnfts })
    const shaped = ['--map', 'name=title', '--chunk-size', '1', '--in-order']
    await cli(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, ...shaped], options)
    const relent = () => {
      refuses = false
    }
    await writeFile(path('drop.csv'), csv(row('a'), row('c', 'c2')))
    const gdn = async (...argv: string[]) => await cli(argv, options)
    const titles = () =>
      api.bodies('createnft').map((body) => (body as { metadata: { title: string }[] }).metadata[0]?.title)
    return { gdn, relent, titles, sent: api.bodies('createnft').length }
  }

  const MINT = /gdn (batch mint \S*drop\.csv --map name=title --base-url \S+ --in-order)/

  test.each(['', '-o csv'])(
    'status %s names the command that mints the manifest as it is now, which works',
    async (format) => {
      const { gdn, relent, titles, sent } = await withStopped()
      relent()
      const { stderr } = await gdn('batch', 'status', 'drop.csv', ...format.split(' ').filter(Boolean))
      expect(stderr).toMatch(new RegExp(`To mint the manifest as it is now: ${MINT.source}\n`))
      expect(stderr).toMatch(/To mint the rows as the run stored them: gdn batch resume drop-\w+\n/)
      expect(stderr).not.toContain('To resume the run')
      expect(stderr).not.toContain('gdn apply')
      const [, mint = ''] = MINT.exec(stderr) ?? []
      expect((await gdn(...mint.split(' '))).code).toBe(0)
      expect(titles().slice(sent)).toEqual(['c2'])
    },
  )

  test.each(['resume', 'retry'])('is not sent by batch %s without a terminal, unless --yes is added', async (verb) => {
    const { gdn, relent, titles, sent } = await withStopped()
    relent()
    const refused = await gdn('batch', verb, 'drop.csv', '--json')
    expect(refused.code).toBe(3)
    expect(errorOf(refused)).toMatchObject({
      code: 'not_confirmed',
      message: expect.stringMatching(/^2 unsent rows of the run drop-\w+ were edited or removed in \S+drop\.csv$/),
      hint: expect.stringMatching(new RegExp(`Nothing was sent\\..*\`${MINT.source}\`.*add --yes\\.$`)),
    })
    expect((await gdn('batch', verb, 'drop.csv', '--dry-run')).code).toBe(0)
    expect(titles()).toHaveLength(sent)
    expect((await gdn('batch', verb, 'drop.csv', '--yes')).code).toBe(0)
    expect(titles().slice(sent)).toEqual(['b', 'c'])
  })

  test('is named with the command that mints the manifest if batch resume stops again', async () => {
    const { gdn, relent } = await withStopped()
    const { hint } = errorOf(await gdn('batch', 'resume', 'drop.csv', '--yes', '--json'))
    expect(hint).toMatch(new RegExp(`To mint the manifest as it is now, run \`${MINT.source}\``))
    expect(hint).toContain('gdn batch resume drop-')
    relent()
    expect((await gdn('batch', 'resume', 'drop.csv', '--yes')).code).toBe(0)
  })
})

test('the rows of a manifest in a linked folder are the same at its real path, with the files that they name', async () => {
  const { path, options } = await folder()
  await mkdir(path('real'))
  await symlink(path('real'), path('link'))
  await writeFile(path('real/dawn.txt'), 'not empty')
  await writeFile(path('real/drop.csv'), `title,description,receiver,image\nDawn,first,${OWNER},dawn.txt\n`)
  const url = 'ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
  const api = await fakeApi({ ...service(), files: () => ({ body: { url } }) })
  const at = [...TARGET, '--base-url', api.url]
  expect((await cli(['batch', 'mint', path('link/drop.csv'), ...at, '--no-wait'], options)).code).toBe(0)
  for (const manifestPath of ['real/drop.csv', 'link/drop.csv']) {
    expect(await cli(['plan', path(manifestPath), ...at], options)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('1 row: 1 unchanged.'),
    })
    expect((await cli(['batch', 'mint', path(manifestPath), ...at, '--no-wait'], options)).code).toBe(0)
  }
  const resumed = await cli(['batch', 'resume', 'drop', '--base-url', api.url], options)
  expect(resumed.code).toBe(0)
  expect(resumed.stderr).not.toContain('has changed')
  expect(api.bodies('createnft')).toHaveLength(1)
})

test('shows an edited row that was already minted next to its old content, and sends nothing', {
  tags: ['promise'],
}, async () => {
  const { path, options } = await folder()
  const api = await fakeApi(service())
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url]
  await cli(argv, options)
  await writeFile(path('drop.csv'), CSV.replace('Dusk', 'Dusk!'))
  const { code, stdout, stderr } = await cli(argv, { ...options, stderrTty: true })
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('was line 3: Dusk\n    title: "Dusk" → "Dusk!"\n')
  expect(stderr).toContain('--new-rows')
  expect(api.bodies('createnft')).toHaveLength(1)
  expect((await cli([...argv, '--new-rows'], options)).code).toBe(0)
  expect(api.bodies('createnft')).toHaveLength(2)
})

test('resume continues the selected drop, not a later one', async () => {
  const { path, options } = await folder()
  const { createnft, getnfts } = service()
  const api = await fakeApi({ createnft, getnfts })
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json']
  const first = JSON.parse((await cli([...argv, '--no-wait'], options)).stdout)
  await cli([...argv, '--no-wait', '--again'], options)
  const { stdout } = await cli(['batch', 'resume', first.run_id, '--base-url', api.url, '--json'], options)
  expect(JSON.parse(stdout)).toMatchObject({ run_id: first.run_id, deployed: 2 })
})

describe('batch reconcile --row', () => {
  async function rowsOf(...argv: string[]): Promise<unknown> {
    let rowFlag: unknown
    const command = reconcile({} as Deps, async (_deps, _name, flags) => {
      rowFlag = flags.row
    })
    await command.parseAsync(['drop', ...argv], { from: 'user' })
    return rowFlag
  }

  test('parses the outcome of each row; a key may contain =', async () => {
    expect(await rowsOf('--row', 'hour-03=01a1', '--row', 'a=b=absent')).toEqual([
      { key: 'hour-03', nftGdnId: '01a1' },
      { key: 'a=b', nftGdnId: null },
    ])
  })

  test.each(['x', '=x', 'x='])('rejects %s', async (row) => {
    const { code, stderr } = await cli(['batch', 'reconcile', 'drop', '--row', row])
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--row: must be key=id') })
  })

  test('rejects two outcomes for one row', async () => {
    const { gdn } = await withRefused()
    const result = await gdn('reconcile', '--row', 'a=1', '--row', 'a=2')
    expect(errorOf(result)).toMatchObject({
      code: 'usage',
      message: expect.stringContaining('the row "a" is specified twice'),
    })
  })
})

describe('batch template', () => {
  test('has the blockchain of the profile, so that its rows are valid there', async () => {
    const { env } = await tempHome()
    await cli(['config', 'set', 'blockchain', 'polygon-amoy', '--profile', 'studio'], { env })
    const at = { env: { ...env, GDN_PROFILE: 'studio' } }
    const { stdout } = await cli(['batch', 'template', '-q'], at)
    expect(stdout).toContain(',polygon-amoy,')
    expect((await cli(['batch', 'validate', '-'], { ...at, stdin: stdout })).code).toBe(0)
    expect((await cli(['batch', 'template', '-q', '-b', 'base'], at)).stdout).toContain(',base,')
  })

  test.each([
    ['csv', 'polygon'],
    ['json', 'polygon'],
    ['jsonl', 'avalanche-fuji'],
    ['csv', 'solana'],
    ['jsonl', 'solana-testnet'],
  ])('prints a valid manifest for --format %s -b %s', async (format, blockchain) => {
    const { stdout, code } = await cli(['batch', 'template', '--format', format, '-b', blockchain])
    expect(code).toBe(0)
    const { options, path } = await folder()
    await writeFile(path(`t.${format}`), stdout)
    const checked = await cli(['batch', 'validate', path(`t.${format}`), '--json'], options)
    expect(checked.stderr).toBe('')
    expect(JSON.parse(checked.stdout)).toMatchObject({ valid: true, rows: 2, receivers: 2, blockchain })
  })

  test('fills in the receiver, and prints only the manifest', async () => {
    const { stdout, stderr } = await cli(['batch', 'template', '--receiver', OWNER, '-q'])
    expect(stderr).toBe('')
    const hints = (await cli(['batch', 'template'])).stderr
    expect(hints).toContain('Replace the receivers and images')
    expect(hints).toContain('gdn batch validate <file> --check-files')
    expect(stdout.match(new RegExp(OWNER, 'g'))).toHaveLength(2)
    expect(stdout.split('\r\n')[0]).toBe(
      'id,title,description,image,receiver,blockchain,attr:hour,attr:mood,extra:artist',
    )
  })
})

describe('batch mint --dry-run', () => {
  test('prints a table on a terminal: row counts, duration, order and the first request', async () => {
    const { path, options } = await folder({
      'drop.csv': `${CSV}Noon,third,${OWNER.toLowerCase()}\nRain,fourth,0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed\nWind,fifth,${OWNER}\n`,
    })
    const argv = [
      'batch',
      'mint',
      path('drop.csv'),
      ...TARGET,
      '--dry-run',
      '--no-lookup',
      '--base-url',
      'http://127.0.0.1:9',
    ]
    const { code, stdout, stderr } = await cli(argv, { ...options, tty: true })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^RUN +drop-[0-9a-f]{4}$/m)
    expect(stdout).toMatch(/^ROWS +5 to send$/m)
    expect(stdout).toMatch(/^RECEIVERS +2$/m)
    expect(stdout).toMatch(/^REQUESTS +2, \d+ bytes in total$/m)
    expect(stdout).toMatch(/^TIME +less than 1 s at 2 requests per second$/m)
    expect(stdout).toMatch(/^TOKEN IDS +not in the manifest's order; --in-order keeps the order$/m)
    expect(stdout).toMatch(/^FIRST REQUEST +endpoint +createnft\n +receiver +0xfB69\w+\n +title +Dawn\n/m)
    expect(stdout).toMatch(/^ +and +3 more NFTs$/m)
    expect(stdout).not.toContain('GAS')
    expect(stderr).toContain('Nothing was sent')
  })

  test.each([
    [[], "in the manifest's order"],
    [['--chunk-size', '1'], "may differ from the manifest's order; --in-order keeps the order"],
    [['--chunk-size', '1', '--in-order'], "in the manifest's order"],
  ])('says with %j whether token IDs follow the order of the manifest', async (more, order) => {
    const { path, options } = await folder()
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--dry-run', '--no-lookup', ...more]
    const { stdout } = await cli([...argv, '--base-url', 'http://127.0.0.1:9'], { ...options, tty: true })
    expect(stdout.match(/^TOKEN IDS +(.*)$/m)?.[1]).toBe(order)
  })

  test('shortens the first request on a terminal, also with --fields, and prints all of it in JSON', async () => {
    const tags = Array.from({ length: 15 }, (_, i) => `attr:t${i}`)
    const long = 'still water '.repeat(40).trim()
    const { path, options } = await folder({
      'drop.csv': `title,description,receiver,${tags}\nDawn,${long},${OWNER},${tags}\nDusk,x,${OWNER},${tags}\n`,
    })
    const argv = [
      'batch',
      'mint',
      path('drop.csv'),
      ...TARGET,
      '--dry-run',
      '--no-lookup',
      '--base-url',
      'http://127.0.0.1:9',
    ]
    const onTerminal = { ...options, tty: true, columns: 80 }
    for (const flags of [[], ['--fields', 'run,first_request']]) {
      const { stdout } = await cli([...argv, ...flags], onTerminal)
      expect(stdout).toMatch(/^FIRST REQUEST +endpoint +createnft$/m)
      expect(stdout).toMatch(/^ +description +still water [^{}]+ …$/m)
      expect(stdout).toMatch(/^ +and +3 more keys, 1 more NFT$/m)
      expect(stdout).not.toMatch(/[{}]|attr t12/)
      expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    }
    const { first_request } = JSON.parse((await cli([...argv, '--json'], onTerminal)).stdout)
    expect(first_request.body.metadata[0].description).toBe(long)
    expect(first_request.body.metadata[0].attribute).toHaveLength(15)
  })

  test('shows the changes since the last run, and the rows that are already done', async () => {
    const { path, options } = await folder()
    const api = await fakeApi(service())
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url]
    await cli(argv, options)
    await writeFile(path('drop.csv'), `${CSV}Noon,third,${OWNER}\n`)
    const { stdout } = await cli([...argv, '--dry-run'], { ...options, tty: true })
    expect(stdout).toMatch(/^ROWS +1 to send, 2 of 3 already sent or minted$/m)
    expect(stdout).toMatch(/^CHANGES +1 row added, 0 edited, 0 removed since the last run$/m)
    expect(api.bodies('createnft')).toHaveLength(1)
  })

  test('estimates gas and cost if the chain is reachable', async () => {
    const { path, options } = await folder()
    const gwei = (price: number) => String(price * 1e9)
    const gas_price = { low: gwei(0.5), typical: gwei(1), high: gwei(2), offered: gwei(3) }
    const fees = { is_simulated: false, currency: 'POL', gas_price, data: { bytes: 1000, fee: '0', gas: '0' } }
    const api = await fakeApi({ getfees: () => ({ body: { requests: { blockchain: 'polygon' }, fees } }) })
    const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--dry-run', '--base-url', api.url]
    const { stdout } = await cli(argv, { ...options, tty: true })
    expect(stdout).toMatch(/^GAS +about 111,430 in 1 transaction, at 1 gwei$/m)
    const { stdout: json } = await cli([...argv, '--json'], options)
    expect(JSON.parse(json)).toMatchObject({
      gas_estimate: 111_430,
      gas_price_wei: '1000000000',
      cost_estimate_wei: '111430000000000',
    })
  })
})
