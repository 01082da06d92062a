/** @module-tag slow */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { command as apply } from '../../../src/cli/commands/apply.ts'
import { command as plan } from '../../../src/cli/commands/plan.ts'
import type { Deps } from '../../../src/cli/deps.ts'
import { GdnError } from '../../../src/core/errors.ts'
import { NOTHING_SENT_HINT } from '../../../src/core/nothing-sent.ts'
import { shellWord } from '../../../src/core/shell-word.ts'
import { folder, service, TARGET } from '../batch/drop.ts'
import { announce, CONTRACT, fakeApi, OWNER, type Reply } from '../fake-api.ts'
import { type CliOptions, cli, errorOf } from '../harness.ts'

const OTHER = '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB'
const CSV = `id,title,description,receiver\na,Dawn,x,${OWNER}\nb,Dusk,x,${OWNER}\n`

test('hints in code that plan and apply share name only flags that both commands have', async () => {
  const flagsOf = ({ options }: ReturnType<typeof plan>) => options.map(({ long }) => long)
  const [planFlags, applyFlags] = [flagsOf(plan({} as Deps)), flagsOf(apply({} as Deps))]
  const named: string[] = []
  for (const folder of ['batch', 'plan']) {
    const root = new URL(`../../../src/${folder}/`, import.meta.url)
    for (const file of await readdir(root, { recursive: true })) {
      if (!file.endsWith('.ts')) continue
      const code = (await readFile(new URL(file, root), 'utf8')).replace(/^\s*(?:\/\/|\/?\*).*$/gm, '')
      // Other flags are named after a command: "run `gdn batch mint` with --again".
      for (const { 0: advice, index } of code.matchAll(/\b(?:add|with) --[a-z-]+(?: (?:<[^>]*>|--[a-z-]+))*/gi)) {
        const sentence = code
          .slice(0, index)
          .split(/\. |['"]\n|\n/)
          .at(-1)
        if (sentence?.includes('`gdn ') !== true) named.push(...(advice.match(/--[a-z-]+/g) ?? []))
      }
    }
  }
  expect(named).toContain('--adopt')
  expect(named.filter((flag) => !planFlags.includes(flag) || !applyFlags.includes(flag))).toEqual([])
})

/** A machine with a manifest, and a hosted service without extensions. */
async function machine(text = CSV, onMint = () => {}, onTransfer = () => {}) {
  const { path, options } = await folder({ 'drop.csv': text })
  const { createnft, getnfts } = service()
  const owners = new Map<string, string>()
  let transfers = 0
  const api = await fakeApi({
    '*': (body: never, { path: requestPath }): Reply => {
      const name = requestPath.split('/').at(-1)
      if (name === 'createnft') {
        onMint()
        return createnft(body)
      }
      if (name === 'getnftgdnids') {
        return { body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: [] } }
      }
      if (name === 'transfernft') {
        const { nft_gdn_id, receiver_wallet_address } = body as Record<string, string>
        owners.set(nft_gdn_id ?? '', receiver_wallet_address ?? '')
        onTransfer()
        const response = { transaction_gdn_id: `tx-${++transfers}`, accepted_date: '2026-01-31 12:00:00' }
        return { body: { requests: body, response } }
      }
      if (name !== 'getnfts') return { status: 404, body: { error: { title: 'Not Found', message: 'no' } } }
      const reply = getnfts(body) as { body: { nfts: { nft_gdn_id: string; receiver_wallet_address: string }[] } }
      const nfts = reply.body.nfts.map((nft) => ({
        ...nft,
        receiver_wallet_address: owners.get(nft.nft_gdn_id) ?? nft.receiver_wallet_address,
      }))
      return { body: { ...reply.body, nfts } }
    },
  })
  const target = [...TARGET, '--base-url', api.url]
  return {
    api,
    path,
    owners,
    write: (manifest: string) => writeFile(path('drop.csv'), manifest),
    mint: () => cli(['batch', 'mint', path('drop.csv'), ...target, '--rate', '100'], options),
    apply: (more: CliOptions = {}) => cli(['apply', path('drop.csv'), ...target, '--yes'], { ...options, ...more }),
    plan: (...more: string[]) => cli(['plan', path('drop.csv'), ...target, ...more], options),
    planAtTerminal: () => cli(['plan', path('drop.csv'), ...target], { ...options, tty: true, colors: true }),
    run: (...args: string[]) => cli([...args, ...target], options),
    interrupted: (...args: string[]) =>
      cli([...args, '--base-url', api.url], {
        ...options,
        signal: AbortSignal.abort(new GdnError('interrupted', 'interrupted')),
      }),
    sheetOf: (name: string) => cli(['batch', 'results', name, '-o', 'csv', '--for-spreadsheet'], options),
  }
}

describe('gdn plan', () => {
  test('names --out for -o with the name of a file', async () => {
    const { stderr } = await cli(['plan', 'drop.csv', '-o', 'plan.json'])
    expect(stderr).toContain('To save the plan, use --out plan.json.')
    const listed = await cli(['nft', 'list', '-o', 'nfts.csv'])
    expect(listed.stderr).toContain('To write a file, add `> nfts.csv` after the command.')
  })

  test('compares with the run in the state where the server has no reference IDs, and asks no extension', {
    tags: ['promise'],
  }, async () => {
    const { api, owners, write, mint, plan } = await machine()
    const fresh = await plan()
    expect(fresh.stderr).toContain(
      'The server does not support reference IDs, and this machine has no run of this manifest',
    )
    expect(fresh.stdout.split('\n').map((line) => line.split('\t')[0])).toEqual(['mint', 'mint', ''])
    expect(await mint()).toMatchObject({ code: 0 })
    expect(await plan()).toMatchObject({ code: 0, stdout: '' })
    await write(CSV.replace(`Dawn,x,${OWNER}`, `Dawn,y,${OTHER}`))
    const edited = await plan('-o', 'csv', '--fields', 'action,key,reason')
    expect(edited.stdout.split('\r\n')).toEqual([
      'action,key,reason',
      "impossible,a,the server can't update NFTs",
      'transfer,a,',
      '',
    ])
    owners.set('id-0', CONTRACT)
    const moved = await plan('-o', 'ndjson', '--fields', 'action,changes')
    expect(moved.stdout.split('\n').map((line) => line && JSON.parse(line).action)).toEqual([
      'impossible',
      'drift',
      'note',
      '',
    ])
    const extensions = ['getreferences', 'getcollections', 'updatednft', 'burnnft', 'freezenft', 'gettransactions']
    for (const name of extensions) expect(api.bodies(name)).toEqual([])
  })

  test('colors the actions on a terminal, and shows what a title contains as text', async () => {
    const { write, planAtTerminal } = await machine()
    await write(CSV.replace('Dawn', 'Da\u001b[31mwn'))
    const { stdout } = await planAtTerminal()
    expect(stdout).toContain('\u001b[32mmint\u001b[39m line 2: Da\\u001b[31mwn')
  })

  test('names owners that others changed back after a transfer where the server counts none', async () => {
    const { owners, write, mint, plan, apply } = await machine()
    await mint()
    const rows = (receiver: string) => CSV.replace(`Dawn,x,${OWNER}`, `Dawn,x,${receiver}`)
    for (const receiver of [OTHER, OWNER, OTHER]) {
      await write(rows(receiver))
      const applied = await apply()
      expect(applied.code, applied.stderr).toBe(0)
      expect(await plan()).toMatchObject({ code: 0, stdout: '' })
    }
    await write(rows(CONTRACT))
    const action = async () => (await plan('-o', 'csv', '--fields', 'action,reason')).stdout.split('\r\n')[1]
    expect(await action()).toBe('transfer,')
    owners.set('id-0', OWNER)
    expect(await action()).toBe('drift,the owner of the NFT was changed outside the manifest')
  })

  test('prints all changes with whole values where a program reads them', async () => {
    const rows = Array.from({ length: 60 }, (_, n) => `r${n},Title ${n},x,${OWNER}`)
    const { mint, plan, write } = await machine(`id,title,description,receiver\n${rows.join('\n')}\n`)
    expect(await mint()).toMatchObject({ code: 0 })
    const long = 'A description that is longer than any column. '.repeat(5).trim()
    await write(`id,title,description,receiver\n${rows.join('\n').replaceAll(',x,', `,${long},`)}\n`)
    const { stdout, stderr } = await plan()
    expect(stdout.trimEnd().split('\n')).toHaveLength(60)
    expect(stdout).toContain(`description: "x" → "${long}"`)
    expect(stderr).not.toContain('more change')
  })

  test('shows the first 50 changes on a terminal, impossible ones first, and tells how to print all', async () => {
    const { api, path, mint, run, write, plan, planAtTerminal } = await machine()
    expect(await mint()).toMatchObject({ code: 0 })
    const rows = Array.from({ length: 60 }, (_, n) => `r${n},Title ${n},x,${OWNER}\n`)
    await write(CSV.replace('a,Dawn', `${rows.join('')}a,Noon`))
    const { stdout, stderr } = await planAtTerminal()
    const actions = [...stdout.matchAll(/(impossible|mint)\S* line (\d+)/g)].map(
      ([, action, line]) => `${action} ${line}`,
    )
    expect(actions).toHaveLength(50)
    expect(actions.slice(0, 2)).toEqual(['impossible 62', 'mint 2'])
    expect(stderr).toContain('And 11 more changes. Add `-o ndjson` to print all changes.')
    expect(stdout).toContain(` line 2: Title 0 → ${OWNER}\n`)
    expect(stderr).toContain('Fix the cause of each impossible change, or revert your edits to these rows.')
    expect(stderr).toMatch(/To mint only the new rows, run `gdn apply \S+ .*--only mint`\./)
    const saved = (await plan('--out', path('plan.json'))).stderr
    expect(saved).not.toContain('To apply exactly this plan')
    const only = `gdn apply ${shellWord(path('plan.json'))} --base-url ${api.url} --only mint\n`
    expect(saved).toContain(`gdn apply refuses it because a change is impossible. To mint only its new rows: ${only}`)
    const applied = await run('apply', path('drop.csv'), '--base-url', api.url, '--take-over')
    const all = `gdn plan ${shellWord(path('drop.csv'))} --contract ${CONTRACT} --blockchain polygon --base-url ${api.url} --take-over -o ndjson`
    expect(applied.stderr).toContain(`And 11 more changes. To print all changes, run \`${all}\`.`)
    expect((await plan('-o', 'ndjson')).stdout.trimEnd().split('\n')).toHaveLength(61)
    expect((await plan('--json')).stderr).toBe('')
  })

  test('names a saved plan that is given as a manifest, and the command that takes it', async () => {
    const { api, path, plan, run } = await machine()
    const file = path('saved plan.json')
    const apply = `gdn apply ${shellWord(file)}`
    const saved = `To apply exactly this plan: ${apply} --base-url ${api.url}\n`
    expect(await plan('--out', file)).toMatchObject({ code: 0, stderr: expect.stringContaining(saved) })
    for (const command of [['plan'], ['batch', 'validate'], ['batch', 'mint']]) {
      const { code, stderr } = await run(...command, file)
      expect(code).toBe(2)
      expect(stderr).toContain(`${file}: is a saved plan, not a manifest`)
      expect(stderr).toContain(`To apply it, run \`${apply}\`.`)
    }
  })

  test('fails without sending anything for a row ID twice', async () => {
    const { api, plan } = await machine(CSV.replace('b,Dusk', 'a,Dusk'))
    const result = await plan('--json')
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toContain('id "a" is already used on line 2')
    expect(api.bodies('createnft')).toEqual([])
  })

  test('saves a plan over no other file, and only in a folder that exists', async () => {
    const { api, plan, path } = await machine()
    for (const file of [path('drop.csv'), path('.'), path('none/plan.json')]) {
      const result = await plan('--json', '--out', file)
      expect(result.code).toBe(2)
      expect(errorOf(result)).toMatchObject({ code: 'file_error', details: { place: { file } } })
    }
    expect(await readFile(path('drop.csv'), 'utf8')).toBe(CSV)
    expect(api.bodies('getnfts')).toEqual([])
    await writeFile(path('plan.json'), '')
    for (let times = 0; times < 2; times++) expect((await plan('--out', path('plan.json'))).code).toBe(0)
    expect(await readFile(path('plan.json'), 'utf8')).toContain('{"gdn_plan":1')
  })

  test('prints one error for --json with Markdown', async () => {
    const { plan } = await machine()
    const result = await plan('--json', '-o', 'markdown')
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toBe('--json and --output markdown contradict each other')
  })
})

describe('gdn plan -o markdown', () => {
  test('escapes text of the manifest in a comment on a pull request', { tags: ['promise'] }, async () => {
    const hostile = [
      '</code></td></table><img src=x onerror=alert(1)>',
      '@everyone #1 https://evil.example `x` **y** | z',
      '"a\n\n# heading\n- item"',
      '\u202egnp.exe',
    ]
    const rows = hostile.map((title, n) => `r${n},${title},x,${OWNER}`)
    const { plan } = await machine(`id,title,description,receiver\n${rows.join('\n')}\n`)
    const { code, stdout } = await plan('-o', 'markdown')
    expect(code).toBe(0)
    expect(stdout).toContain('| mint | 4 |')
    expect(stdout).toContain('<code>&lt;/code&gt;&lt;/td&gt;&lt;/table&gt;&lt;img src=x onerror=alert(1)&gt;</code>')
    expect(stdout).toContain('<code>@everyone #1 https://evil.example `x` **y** | z</code>')
    expect(stdout).toContain('<code>a\\u000a\\u000a# heading\\u000a- item</code>')
    expect(stdout).not.toContain('\u202e')
    const table = stdout.slice(stdout.indexOf('<table>'), stdout.indexOf('</table>'))
    expect(table).not.toContain('\n\n')
    expect(table.match(/<\w+/g)?.every((tag) => ['<table', '<tr', '<th', '<td', '<code'].includes(tag))).toBe(true)
  })

  test('counts a single change in the singular', async () => {
    const { plan } = await machine(`id,title,description,receiver\na,Dawn,x,${OWNER}\n`)
    expect((await plan('-o', 'markdown')).stdout).toContain('<summary>1 change</summary>')
  })

  test('leaves changes out beyond 60,000 characters, and says how many', async () => {
    const rows = Array.from({ length: 1_000 }, (_, n) => `r${n},${'&'.repeat(40)} ${n},x,${OWNER}`)
    const { plan } = await machine(`id,title,description,receiver\n${rows.join('\n')}\n`)
    const { stdout } = await plan('-o', 'markdown')
    expect(stdout.length).toBeLessThanOrEqual(60_000)
    const [, shown = '', all] = stdout.match(/<summary>(\d+) of (\d+) changes/) ?? []
    expect(all).toBe('1000')
    expect(stdout).toContain(`${1_000 - Number(shown)} changes are not shown.`)
    expect(stdout.match(/<tr><td>/g)).toHaveLength(Number(shown))
  })
})

describe('gdn apply', () => {
  test.each([
    ['an edited row without an ID', `title,description,receiver\nDawn,x,${OWNER}\nDusk,x,${OWNER}\n`, 'Dusk', 'Dust'],
    ['one row with an ID removed, and one added', CSV, 'b,Dusk', 'c,Noon'],
  ])('gdn plan names what apply refuses and saves no such plan: %s', async (_, rows, old, now) => {
    const { api, path, write, mint, plan, run } = await machine(rows)
    await mint()
    await write(rows.replace(old, now))
    const out = path('plan.json')
    const planned = await plan('--out', out)
    expect(planned.stdout).toMatch(/^mint\t3/m)
    expect(planned.stderr).toContain('was line 3: Dusk\n')
    expect(planned.stderr).toContain('1 row that the run has sent is no longer in the manifest, and 1 row is new')
    expect(planned.stderr).toContain('add --new-rows')
    expect(planned.code).toBe(2)
    await expect(readFile(out)).rejects.toThrow('ENOENT')
    expect((await run('apply', path('drop.csv'), '--yes', '--only', 'mint')).code).toBe(2)
    const saved = await plan('--new-rows', '--out', out)
    expect(saved).toMatchObject({ code: 0 })
    expect(saved.stderr).toContain(`gdn apply ${shellWord(out)} --base-url ${api.url}\n`)
    expect(await run('apply', out, '--yes')).toMatchObject({ code: 0 })
  })

  test('shows the old and the new value where a row was edited and got its ID in one step', async () => {
    const rows = [`Dawn,x,${OWNER}`, `Dusk,x,${OWNER}`]
    const { write, mint, plan } = await machine(`title,description,receiver\n${rows.join('\n')}\n`)
    await mint()
    await write(`id,title,description,receiver\na,Dawn,x,${OWNER}\nb,Dust,x,${OWNER}\n`)
    const { code, stderr } = await plan()
    expect(code).toBe(2)
    expect(stderr).toContain('was line 3: Dusk\n')
    expect(stderr).toMatch(/title.*Dusk.*Dust/s)
    expect(stderr).toMatch(/`gdn batch results drop-\w+ -o csv --for-spreadsheet`/)
  })

  test('edits a row without an ID as the hint says: with the rows of batch results, and a new id column', async () => {
    const rows = `title,description,receiver\nDawn,x,${OWNER}\nDusk,x,${OWNER}\n`
    const { api, write, mint, plan, apply, sheetOf } = await machine(rows)
    await mint()
    await write(rows.replace('Dusk', 'Dust'))
    const { stderr } = await plan()
    const [, name = ''] = /`gdn batch results (\S+) -o csv --for-spreadsheet`/.exec(stderr) ?? []
    expect(stderr).toContain('remove the burned rows. Also remove the column key and all columns after it.')
    const sheet = (await sheetOf(name)).stdout.trimEnd().split('\r\n')
    const end = sheet[0]?.split(',').indexOf('key')
    const own = sheet.map((line) => line.split(',').slice(0, end).join(','))
    const named = own.map((line, at) => `${line},${at === 0 ? 'id' : at}\n`).join('')
    await write(named)
    expect(await apply()).toMatchObject({ code: 0 })
    await write(named.replace(OWNER, OTHER))
    expect(await apply()).toMatchObject({ code: 0 })
    expect(api.bodies('createnft')).toHaveLength(1)
    expect(api.bodies('transfernft')).toHaveLength(1)
  })

  test('needs --yes to add rows of what may be another edition, which gdn plan does not advise', async () => {
    const edition = (size: number, text: string) =>
      `id,title,description,receiver\n${Array.from({ length: size }, (_, row) => `${row},T${row},${text},${OWNER}\n`).join('')}`
    const { api, path, write, mint, plan, run } = await machine(edition(4, 'first'))
    await mint()
    await write(edition(5, 'second'))
    const text = '4 of the 4 minted rows have different content: this manifest may belong to another edition.'
    const planned = await plan()
    expect(planned.stderr).toContain(text)
    expect(planned.stderr).toContain('To continue the drop, use the manifest that it began with.')
    expect(planned.stderr).not.toContain('--only mint')
    const refused = await run('apply', path('drop.csv'), '--yes')
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining(text) })
    expect(refused.stderr).not.toContain('--only mint')
    const requestCount = api.bodies('createnft').length
    const promptResult = await run('apply', path('drop.csv'), '--only', 'mint')
    expect(promptResult.code).toBe(3)
    expect(promptResult.stderr).toContain(`confirmation required: ${text} Mint 1 NFT (4 other changes are skipped`)
    expect(api.bodies('createnft')).toHaveLength(requestCount)
    const added = await run('apply', path('drop.csv'), '--only', 'mint', '--yes')
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining(text) })
    expect(api.bodies('createnft')).toHaveLength(requestCount + 1)
  })

  test('refuses an edited row without an ID before it prompts', { tags: ['promise'] }, async () => {
    const rows = `title,description,receiver\nDawn,x,${OWNER}\nDusk,x,${OWNER}\n`
    const { path, api, write, mint, run } = await machine(rows)
    await mint()
    await write(rows.replace('Dusk', 'Dust'))
    announce(null)
    const requestCount = api.bodies('createnft').length
    const { code, stderr } = await run('apply', path('drop.csv'))
    expect(stderr).toContain('was line 3: Dusk\n')
    expect(stderr).toContain('1 row that the run has sent is no longer in the manifest, and 1 row is new')
    expect(stderr).not.toContain('confirmation required')
    expect(code).toBe(2)
    expect((await run('apply', path('drop.csv'), '--new-rows')).stderr).toContain('confirmation required')
    expect(api.bodies('createnft')).toHaveLength(requestCount)
  })

  test('names itself as the command that resumes it after Ctrl-C', async () => {
    const pressed = new AbortController()
    const { path, api, apply } = await machine(CSV, () => pressed.abort(new GdnError('interrupted', 'interrupted')))
    const { code, stderr } = await apply({ signal: pressed.signal })
    expect(code).toBe(130)
    const again = `gdn apply ${shellWord(path('drop.csv'))} --contract ${CONTRACT} --blockchain polygon --base-url ${api.url}`
    expect(stderr).toContain(`Run \`${again}\` to resume the run.`)
    expect(stderr).not.toMatch(/gdn batch (resume|retry)/)
    expect(await apply()).toMatchObject({ code: 0 })
  })

  test('says after Ctrl-C how many changes it had made', async () => {
    const pressed = new AbortController()
    const onTransfer = () => pressed.abort(new GdnError('interrupted', 'interrupted'))
    const { path, write, mint, apply } = await machine(CSV, () => {}, onTransfer)
    await mint()
    await write(CSV.replace(`Dawn,x,${OWNER}`, `Dawn,x,${OTHER}`))
    const { code, stderr } = await apply({ signal: pressed.signal })
    expect(code).toBe(130)
    expect(stderr).toMatch(
      /error: interrupted\n {2}(No change is known to have been made|At least 1 of 1 change was made)[.,]/,
    )
    expect(stderr).toContain(`Run \`gdn apply ${shellWord(path('drop.csv'))} `)
    const before = await apply({ signal: pressed.signal })
    expect([before.code, before.stderr]).toEqual([130, expect.stringContaining(NOTHING_SENT_HINT)])
    expect(await apply()).toMatchObject({ code: 0 })
  })

  test.each(['plan', 'apply', 'batch mint', 'batch resume'])(
    'says after an early Ctrl-C that it sent nothing and how to go on, as gdn %s does',
    async (command) => {
      const { path, api, mint, interrupted } = await machine()
      await mint()
      const sent = api.bodies('createnft').length
      const target = command === 'batch resume' ? [] : TARGET
      const { code, stderr } = await interrupted(...command.split(' '), path('drop.csv'), ...target)
      expect({ code, stderr }).toEqual({ code: 130, stderr: `error: interrupted\n  ${NOTHING_SENT_HINT}\n` })
      expect(api.bodies('createnft')).toHaveLength(sent)
    },
  )

  test.each([
    ['an object without rows', '{"a":1}'],
    ['a file that is not JSON', 'hello'],
    ['an empty file', ''],
  ])('says of %s that it is no plan, and how to save one', async (_, text) => {
    const { path, run } = await machine()
    await writeFile(path('plan.json'), text)
    const { code, stderr } = await run('apply', path('plan.json'), '--yes')
    expect([code, stderr]).toEqual([2, expect.stringContaining('plan.json: is neither a saved plan nor a manifest\n')])
    expect(stderr).toContain('Use the path of a manifest, or of a plan that `gdn plan <manifest> --out <file>` saved.')
    expect(stderr).not.toMatch(/--map|template/)
  })

  test.each([
    ['one row', '{"title":"Dawn","nosuch":"x"}', 'unknown column "nosuch"'],
    ['a list that is cut off', '[{"title":"Dawn"', 'in the middle'],
    ['an object that is cut off', '{"metadata":[', 'in the middle'],
  ])('reads %s in a JSON file as a manifest', async (_, text, problem) => {
    const { path, run } = await machine()
    await writeFile(path('drop.json'), text)
    expect((await run('apply', path('drop.json'), '--yes')).stderr).toContain(problem)
  })

  test('shows a person the old and the new values before, and only what it has done after', async () => {
    const { write, mint, apply } = await machine()
    await mint()
    expect((await apply({ tty: true })).stdout).toMatch(/ROWS +2\nCHANGES +none\n/)
    await write(CSV.replace(`Dawn,x,${OWNER}`, `Dawn,x,${OTHER}`))
    const { stdout, stderr } = await apply({ tty: true })
    expect(stderr).toContain(`transfer line 2, token 1: Dawn\n    receiver: "${OWNER}"\n            → "${OTHER}"\n`)
    expect(stdout).toMatch(/ROWS +2\nTRANSFERRED +1\n/)
    expect(stdout).not.toMatch(/MINTED|CHANGES/)
  })

  test('does not count edited rows again after its plan, in another way', async () => {
    const { write, mint, apply } = await machine()
    await mint()
    await write(`${CSV.replace(`Dawn,x,${OWNER}`, `Dawn,x,${OTHER}`)}c,Noon,x,${OWNER}\n`)
    const { code, stderr } = await apply()
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('3 rows: 1 to transfer, 1 to mint, 1 unchanged.')
    expect(stderr).not.toContain('The manifest changed')
    expect(stderr).not.toContain("won't be sent again")
    expect(stderr).not.toMatch(/^ +changed: /m)
  })
})
