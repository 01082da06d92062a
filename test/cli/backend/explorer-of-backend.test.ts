/** @module-tag slow */
import { readFile, writeFile } from 'node:fs/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { backendForFile, freshDataDir, startTestBackend, type TestBackend } from '../../helpers/backend.ts'
import { png, QUARTERS } from '../../helpers/images.ts'
import { folder } from '../batch/drop.ts'
import { OWNER } from '../fake-api.ts'
import { cli } from '../harness.ts'

// Runs against a real backend: the commands must match what its explorer returns.

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

test('mints a drop, opens it in the explorer, draws it in the terminal, and reports its gas', async () => {
  const { path, options } = await folder({ 'drop.csv': `title,description,image,receiver\nDawn,x,a.png,${OWNER}\n` })
  await writeFile(path('a.png'), png(QUARTERS))
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const run = (...argv: string[]) => cli(argv, { ...options, env })

  const created = await run('collection', 'create', '--name', 'Tides', '--wallet', OWNER, '-b', 'polygon', '--json')
  const { contract_address: contract, transaction_gdn_id: transactionId } = JSON.parse(created.stdout)
  const minted = await run('batch', 'mint', path('drop.csv'), '-c', contract, '-b', 'polygon', '--json')
  expect(minted.code, minted.stderr).toBe(0)
  const { run_id } = JSON.parse(minted.stdout)
  const [{ nft_gdn_id: nft }] = JSON.parse((await run('batch', 'results', 'drop', '--json')).stdout)

  for (const [what, page] of [
    [nft, `/nfts/${nft}`],
    [transactionId, `/collections/${transactionId}`],
    [contract, `/collections/${transactionId}`],
    [OWNER, `/owners/${OWNER}`],
    [run_id, `/runs/${run_id}`],
    ['drop.csv', `/runs/${run_id}`],
    ['nothing of that name', '/go?q=nothing%20of%20that%20name'],
  ]) {
    const { stdout } = await run('open', what)
    expect(stdout).toBe(`${backend.url}${page}\n`)
    const answer = await fetch(stdout.trim())
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
  }

  const atTerminal = { ...options, tty: true, env: { ...env, FORCE_COLOR: '3' } }
  expect((await cli(['nft', 'show', nft], atTerminal)).stdout.startsWith('\u001b[38;2;255;0;0m')).toBe(true)

  const reported = await run('batch', 'report', 'drop', '--to', 'r.html', '--json')
  const { gas_used, images } = JSON.parse(reported.stdout)
  expect(Number(gas_used)).toBeGreaterThan(50_000)
  expect(images).toBe(1)
  expect(await readFile(path('r.html'), 'utf8')).toContain('<dt>Collection</dt><dd><bdi>Tides</bdi></dd>')
})

test('reports NFTs that are unrevealed, and then revealed, frozen and burned', async () => {
  const rows = ['Dawn', 'Noon', 'Dusk'].map((title) => `${title},x,${OWNER}\n`).join('')
  const hidden = JSON.stringify({ title: 'Hidden', description: '', file_fields: [] })
  const { path, options } = await folder({
    'tide.csv': `title,description,receiver\n${rows}`,
    'hidden.json': hidden,
  })
  const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const run = async (...argv: string[]) => {
    const result = await cli(argv, { ...options, env })
    expect(result.code, result.stderr).toBe(0)
    return result
  }
  const create = ['collection', 'create', '--name', 'Tides', '--wallet', OWNER, '-b', 'polygon', '--json']
  const { contract_address: contract } = JSON.parse((await run(...create, '--dynamic', '--enable-burn')).stdout)
  const drop = [path('tide.csv'), '-c', contract, '-b', 'polygon', '--yes']
  const reportedBadges = async (file: string) => {
    await run('batch', 'report', 'tide', '--to', file)
    const html = await readFile(path(file), 'utf8')
    const cards = html.match(/<article class[\s\S]*?<\/article>/g) ?? []
    return cards.map((card) => ({
      title: /<h2[^>]*>([^<]*)</.exec(card)?.[1],
      badges: [...card.matchAll(/<span class="badge[^"]*">([^<]*)</g)].map(([, word]) => word),
      history: [...card.matchAll(/<li><b>(\w+)</g)].map(([, kind]) => kind),
    }))
  }
  await run('batch', 'mint', ...drop, '--unrevealed', path('hidden.json'))
  const unrevealed = { title: 'Hidden', badges: ['deployed', 'unrevealed'], history: [] }
  expect(await reportedBadges('a.html')).toEqual([unrevealed, unrevealed, unrevealed])

  await run('reveal', '--yes', ...drop)
  const [, frozen, burned] = JSON.parse((await run('batch', 'results', 'tide', '--json')).stdout)
  await run('nft', 'freeze', frozen.nft_gdn_id, '--yes')
  await run('nft', 'burn', burned.nft_gdn_id, '--yes')
  const revealed = 'revealed'
  expect(await reportedBadges('b.html')).toEqual([
    { title: 'Dawn', badges: ['deployed', revealed], history: ['mint', 'update'] },
    { title: 'Noon', badges: ['deployed', revealed, 'frozen'], history: ['mint', 'update', 'freeze'] },
    { title: 'Dusk', badges: ['burned', revealed], history: ['mint', 'update', 'burn'] },
  ])
})

test('reports gas from an explorer behind a login if the key is valid', async () => {
  const place = await freshDataDir()
  const guarded = await startTestBackend(place.path, { host: '0.0.0.0' })
  onTestFinished(async () => {
    await guarded.close()
    await place.remove()
  })
  const url = `http://127.0.0.1:${new URL(guarded.url).port}`
  const { path, options } = await folder({ 'drop.csv': `title,description,receiver\nDawn,x,${OWNER}\n` })
  const env = { ...options.env, GDN_API_KEY: guarded.apiKey.reveal(), GDN_BASE_URL: url }
  const created = await cli(['collection', 'create', '--name', 'Tides', '--wallet', OWNER, '-b', 'polygon', '--json'], {
    ...options,
    env,
  })
  const { contract_address: contract } = JSON.parse(created.stdout)
  const minted = await cli(['batch', 'mint', path('drop.csv'), '-c', contract, '-b', 'polygon', '-q'], {
    ...options,
    env,
  })
  expect(minted.code, minted.stderr).toBe(0)

  expect(await (await fetch(`${url}/explorer/session`)).json()).toMatchObject({ open: false })
  const report = async (key: string, to: string) => {
    const args = ['batch', 'report', 'drop', '--to', to, '--json']
    const { stdout } = await cli(args, { ...options, env: { ...env, GDN_API_KEY: key } })
    return JSON.parse(stdout).gas_used
  }
  expect(Number(await report(guarded.apiKey.reveal(), 'a.html'))).toBeGreaterThan(50_000)
  expect(await report('another', 'b.html')).toBeNull()

  const debugged = ['batch', 'report', 'drop', '--to', 'c.html', '--debug', '-q']
  const { stderr } = await cli(debugged, { ...options, env })
  expect(stderr).toContain('POST')
  expect(stderr).toMatch(/set-cookie: \S*redacted/)
  expect(stderr).not.toContain('gdn_session_')
  expect(stderr).not.toContain(guarded.apiKey.reveal())
})
