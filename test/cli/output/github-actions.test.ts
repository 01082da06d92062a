/** @module-tag slow */
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { folder, service, TARGET } from '../batch/drop.ts'
import { CONTRACT, fakeApi, knows, nft, OWNER } from '../fake-api.ts'
import { type CliOptions, cli } from '../harness.ts'

const HEAD = 'title,description,receiver\n'
const BAD = `${HEAD}Dawn,first,${OWNER}\n,second,${OWNER}\nDusk,third,nobody\n`
const HOSTILE = 'not liked%0A\r\n::set-env name=PATH::/tmp\n##[add-mask]x <b>|`[x](javascript:1)'

/** A home that is the workspace of a job, with a manifest in it. */
async function job(csv: string, workspace = '.') {
  const { path, options } = await folder({ 'drop.csv': csv, 'summary.md': 'before\n' })
  await symlink(path('.'), path('link'))
  const env = {
    ...options.env,
    GITHUB_ACTIONS: 'true',
    CI: 'true',
    GITHUB_WORKSPACE: path(workspace),
    GITHUB_STEP_SUMMARY: path('summary.md'),
  }
  const gdn = (argv: string[], more: CliOptions = {}) =>
    cli(argv, { ...options, ...more, env: { ...env, ...more.env } })
  const summary = () => readFile(path('summary.md'), 'utf8')
  return { path, gdn, summary }
}

const refusing = (message: string) => {
  const { createnft, getnfts } = service()
  return {
    createnft: (body: Parameters<typeof createnft>[0]) =>
      body.metadata.some(({ title }) => title === 'Dusk')
        ? { status: 400, body: { error: { title: 'Bad Request', message } } }
        : createnft(body),
    getnfts,
  }
}

const commandsIn = (text: string) => text.split('\n').filter((line) => /^\s*::|##\[/.test(line))

describe('annotations', () => {
  test('mark every error of a manifest at its line, with its path in the repository', async () => {
    const { path, gdn } = await job(BAD)
    const { code, stderr } = await gdn(['batch', 'validate', path('drop.csv'), ...TARGET])
    expect(code).toBe(2)
    expect(stderr).toContain('error: ')
    expect(commandsIn(stderr)).toEqual([
      expect.stringMatching(/^::error file=drop\.csv,line=3::title is required$/),
      expect.stringMatching(/^::error file=drop\.csv,line=4::receiver .*$/),
    ])
  })

  test('use the line of the file if cells contain line breaks, while messages name the row', async () => {
    const cells = `"Dawn","first\n\nlight",${OWNER}\n`
    const { path, gdn } = await job(`${HEAD}${cells}\n,"sec\nond",${OWNER}\nDusk,"a"b,${OWNER}\n`)
    const { stderr } = await gdn(['batch', 'validate', path('drop.csv'), ...TARGET])
    expect(stderr).toContain('drop.csv:4:1: title is required')
    expect(commandsIn(stderr)).toEqual([
      '::error file=drop.csv,line=6::title is required',
      expect.stringMatching(/^::error file=drop\.csv,line=8::a quoted cell has text after its closing quote/),
    ])
  })

  test('use the line of the file below a first line for the separator', async () => {
    const { path, gdn } = await job(`sep=;\ntitle;description;receiver;title\n;x;${OWNER};x\n`)
    const { stderr } = await gdn(['batch', 'validate', path('drop.csv'), ...TARGET])
    expect(stderr).toContain('drop.csv:2:1: title is required')
    expect(commandsIn(stderr)).toEqual([
      expect.stringMatching(/^::error file=drop\.csv,line=2::the column "title" is repeated/),
      '::error file=drop.csv,line=3::title is required',
    ])
  })

  test('mark a byte that is not UTF-8 at its line of the file', async () => {
    const { path, gdn } = await job('')
    const rows = Array.from({ length: 3 }, () => `"Dawn","first\nlight",${OWNER}\n`).join('')
    await writeFile(path('drop.csv'), Buffer.concat([Buffer.from(`${HEAD}${rows}Dusk,`), Buffer.from([0xff, 0x0a])]))
    const { stderr } = await gdn(['batch', 'validate', path('drop.csv'), ...TARGET])
    expect(commandsIn(stderr).at(-1)).toMatch(/^::error file=drop\.csv,line=8::is not UTF-8/)
  })

  test.each([
    ['', '.'],
    [', in a workspace behind a link', 'link'],
  ])('mark every failed row at its line with the reason%s', async (_, workspace) => {
    const { path, gdn } = await job(`${HEAD}Dawn,"fir\nst",${OWNER}\nDusk,second,${OWNER}\n`, workspace)
    const { url } = await fakeApi(refusing('not liked'))
    const argv = [
      'batch',
      'mint',
      path('drop.csv'),
      ...TARGET,
      '--base-url',
      url,
      '--chunk-size',
      '1',
      '--rate',
      '1000',
    ]
    const { code, stderr } = await gdn(argv)
    expect(code).toBe(7)
    expect(commandsIn(stderr)).toEqual([expect.stringMatching(/^::error file=drop\.csv,line=4::row \S+: .*not liked$/)])
  })

  test('are limited to the number that GitHub shows', async () => {
    const { path, gdn } = await job(HEAD + `,x,${OWNER}\n`.repeat(50))
    const { stderr } = await gdn(['batch', 'validate', path('drop.csv'), ...TARGET])
    expect(commandsIn(stderr)).toHaveLength(10)
  })

  test('are not printed in JSON mode, so that stderr is one line', async () => {
    const { path, gdn } = await job(BAD)
    const { stderr } = await gdn(['batch', 'validate', path('drop.csv'), ...TARGET, '--json'])
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    expect(JSON.parse(stderr).error.code).toBe('invalid_manifest')
  })

  test.each([{ GITHUB_ACTIONS: undefined }, { GITHUB_ACTIONS: 'false' }, { GITHUB_ACTIONS: '' }])(
    'are not printed outside GitHub Actions: %j',
    async (env) => {
      const { path, gdn } = await job(BAD)
      const { stderr } = await gdn(['batch', 'validate', path('drop.csv'), ...TARGET], { env })
      expect(commandsIn(stderr)).toEqual([])
    },
  )

  test('are not printed for an error without a file', async () => {
    const { gdn } = await job(BAD)
    const { code, stderr } = await gdn(['nft', 'show', 'a', '--local'])
    expect(code).toBe(6)
    expect(commandsIn(stderr)).toEqual([])
  })
})

describe('external text', () => {
  test("prints no workflow command from external text in a row's error", async () => {
    const { path, gdn, summary } = await job(`${HEAD}Dusk,first,${OWNER}\n`)
    const { url } = await fakeApi({ createnft: refusing(HOSTILE).createnft })
    const { stderr } = await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url])
    const commands = commandsIn(stderr)
    expect(commands).toHaveLength(1)
    expect(commands[0]).toMatch(/^::error file=drop\.csv,line=2::/)
    // GitHub decodes this to the original percent sign, not to a line break.
    expect(commands[0]).toContain('not liked%250A')
    expect(await summary()).not.toMatch(/<b>|`|\]\(|javascript:|^\s*::/m)
  })

  test('is no workflow command in a file name', async () => {
    const { path, gdn } = await job(BAD)
    const odd = 'a%,b:c\n::error::x.csv'
    await writeFile(path(odd), BAD)
    const { stderr } = await gdn(['batch', 'validate', path(odd), ...TARGET])
    const commands = commandsIn(stderr)
    expect(commands).toHaveLength(2)
    for (const line of commands) expect(line).toMatch(/^::error file=a%25%2Cb%3Ac%0A%3A%3Aerror%3A%3Ax\.csv,line=\d/)
  })

  test('is no workflow command in a table on stdout, and stays unchanged in JSON', async () => {
    const { gdn } = await job(BAD)
    const evil = nft('a', { token_id: '::stop-commands::x', request_metadata: { title: '##[error]x' } })
    const { url } = await fakeApi({ getnfts: knows(evil, { ...evil, nft_gdn_id: 'b' }) })
    const showResult = await gdn(['nft', 'show', 'a', 'b', '--base-url', url])
    expect(showResult.stdout).toContain('stop-commands')
    expect(commandsIn(showResult.stdout)).toEqual([])
    const json = await gdn(['nft', 'show', 'a', '--base-url', url, '--json'])
    expect(JSON.parse(json.stdout)).toEqual(evil)
  })
})

describe('the job summary', () => {
  test('lists the rows of a run by state, and the failed rows', async () => {
    const { path, gdn, summary } = await job(`${HEAD}Dawn,first,${OWNER}\nDusk,second,${OWNER}\n`)
    const { url } = await fakeApi(refusing('not | liked'))
    const at = ['--base-url', url, '--chunk-size', '1', '--rate', '1000']
    await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, ...at, '--json'])
    const text = await summary()
    expect(text).toMatch(/^before\n### gdn batch drop\S*\n\nManifest: drop&#46;csv\n/)
    expect(text).toContain('| deployed | accepted | pending | failed | unknown |')
    expect(text).toContain('| 1 | 0 | 0 | 1 | 0 |')
    expect(text).toMatch(/^\| 3 \| \S+.* \| .*not &#124; liked \|$/m)
    await gdn(['batch', 'retry', 'drop', ...at])
    expect((await summary()).split('### gdn batch')).toHaveLength(3)
  })

  test('says how many edited rows were not sent again, also if nothing else is to send', async () => {
    const { path, gdn, summary } = await job('')
    const { url } = await fakeApi(service())
    const mint = async (...rows: string[]) => {
      await writeFile(path('drop.csv'), `id,${HEAD}${rows.map((line) => `${line},x,${OWNER}\n`).join('')}`)
      await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url, '--json'])
      return (await summary()).split('### gdn batch').at(-1)
    }
    const edited = '1 row was already sent with different values and won&#39;t be sent again'
    expect(await mint('a,Dawn')).not.toContain('different values')
    expect(await mint('a,Dawn II')).toContain(edited)
    expect(await mint('a,Dawn III', 'b,Dusk')).toContain(edited)
  })

  test('lists the problems of a manifest, for which no run is opened', async () => {
    const { path, gdn, summary } = await job(BAD)
    const { url } = await fakeApi({})
    const mint = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url]
    expect((await gdn([...mint, '--json'])).code).toBe(2)
    const text = await summary()
    expect(text).toMatch(/^before\n### gdn sent nothing\n\nManifest: drop&#46;csv\n/)
    expect(text).toMatch(/^\| 3 \| title.*\|$/m)
    expect(text).toMatch(/^\| 4 \| receiver is not an EVM address.*\|$/m)
  })

  test.each([
    ['in the workspace', '.', 'drop.csv'],
    ['in the current folder, outside of the workspace', 'elsewhere', 'drop.csv'],
  ])('names a manifest %s alike for a finished run and an error', async (_, workspace, name) => {
    const { path, gdn, summary } = await job(`${HEAD}Dawn,first,${OWNER}\n`, workspace)
    const { url } = await fakeApi(service())
    const mint = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url]
    expect((await gdn(mint)).code).toBe(0)
    expect((await gdn(mint)).code).toBe(0)
    await writeFile(path('drop.csv'), BAD)
    expect((await gdn(mint)).code).toBe(2)
    const named = [...(await summary()).matchAll(/^Manifest: (.*)$/gm)].map(([, text]) => text)
    expect(named).toEqual(Array.from({ length: 3 }, () => name.replace('.', '&#46;')))
  })

  test('names the error of a mint whose rows seem to be minted', async () => {
    const { path, gdn, summary } = await job(`${HEAD}Dawn,first,${OWNER}\n`)
    const request_metadata = { title: 'Dawn', description: 'first', file_fields: [] }
    const { url } = await fakeApi({
      getnfts: ({ nft_gdn_ids }: { nft_gdn_ids: string[] }) => ({
        body: { requests: { nft_gdn_ids }, nfts: nft_gdn_ids.map((id) => nft(id, { request_metadata })) },
      }),
      getnftgdnids: () => ({
        body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: ['id-9'] },
      }),
    })
    const { code, stderr } = await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url])
    expect(code, stderr).toBe(9)
    expect(await summary()).toMatch(/^before\n### gdn sent nothing\n\n\S.*\n/)
  })

  test('is written only by commands that send, and only in GitHub Actions', async () => {
    const { path, gdn, summary } = await job(`${HEAD}Dawn,first,${OWNER}\n`)
    const { url } = await fakeApi(service())
    const env = { GITHUB_ACTIONS: undefined }
    const mint = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url]
    expect((await gdn(mint, { env })).code).toBe(0)
    await gdn(['batch', 'status', 'drop'])
    await gdn(['batch', 'results', 'drop'])
    await gdn(['batch', 'reconcile', 'drop', '--base-url', url])
    expect(await summary()).toBe('before\n')
  })

  test("does not stop the run if it can't be written", async () => {
    const { path, gdn } = await job(`${HEAD}Dawn,first,${OWNER}\n`)
    const { url } = await fakeApi(service())
    const env = { GITHUB_STEP_SUMMARY: path('no/such/folder') }
    const result = await gdn(['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', url, '--json'], { env })
    expect(result).toMatchObject({ code: 0, stderr: '' })
  })
})

test('prints lines without animation in a CI log, even if stderr is a terminal', async () => {
  const { gdn } = await job(BAD)
  const { url } = await fakeApi({ getnfts: knows(nft('a')) })
  const { code, stderr } = await gdn(['nft', 'wait', 'a', '--base-url', url], { stderrTty: true })
  expect(code).toBe(0)
  expect(stderr).toBe('Waiting for 1 NFT to be deployed\n')
})
