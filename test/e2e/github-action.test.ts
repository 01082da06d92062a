import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'
import { createTestCollection, freshDataDir, postTo } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { type Job, type JobResult, readAction, runAction } from '../helpers/github-runner.ts'
import { startHostedService } from '../helpers/hosted-service.ts'
import { startHttpFaultProxy } from '../helpers/http-fault-proxy.ts'
import { type HttpServer, startHttpServer } from '../helpers/http-server.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const TOKEN = 'ghs_a-token-of-the-job'
const REPOSITORY = 'acme/drops'
const SHA = 'a'.repeat(40)
const HOSTILE =
  '<img src=x onerror=alert(1)> @everyone #1 [x](javascript:1) `| --> ::error::x ##[error]y $(touch pwned)'

let folder: string
let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let backend: ServedBackend
let github: Awaited<ReturnType<typeof startGitHub>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-action-'))
  dataDir = await freshDataDir()
  backend = await serve(dataDir.path, ['--rate-limits', 'off']).ready
})
afterAll(async () => {
  await backend.end('SIGTERM')
  await dataDir.remove()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  github = await startGitHub()
  return () => github.close()
})

interface Comment {
  id: number
  user: { login: string }
  body: string
}

/** The routes of GitHub's API for the comments of pull requests. */
async function startGitHub(): Promise<HttpServer & { comments: Comment[]; status: { code: number } }> {
  const comments: Comment[] = []
  const status = { code: 0 }
  const server = await startHttpServer(({ method, path, headers, body }) => {
    if (headers.authorization !== `Bearer ${TOKEN}`) return { status: 401 }
    if (status.code !== 0) return { status: status.code }
    const [route = '', query] = path.split('?')
    const input = body.length === 0 ? {} : JSON.parse(body.toString())
    if (route === `/repos/${REPOSITORY}/issues/7/comments` && method === 'GET') {
      const params = new URLSearchParams(query)
      const size = Number(params.get('per_page'))
      const from = (Number(params.get('page')) - 1) * size
      return { json: comments.slice(from, from + size) }
    }
    if (route === `/repos/${REPOSITORY}/issues/7/comments` && method === 'POST') {
      comments.push({ id: 1000 + comments.length, user: { login: 'github-actions[bot]' }, body: input.body })
      return { status: 201, json: comments.at(-1) }
    }
    const comment = comments.find(({ id }) => route === `/repos/${REPOSITORY}/issues/comments/${id}`)
    if (method !== 'PATCH' || comment === undefined) return { status: 404 }
    comment.body = input.body
    return { json: comment }
  })
  return Object.assign(server, { comments, status })
}

const recipe = z.array(z.strictObject({ uses: z.string(), with: z.record(z.string(), z.string()) }))

const csv = (rows: readonly string[]) => `id,title,description,receiver\n${rows.join('\n')}\n`
const rowsOf = (count: number) => Array.from({ length: count }, (_, n) => `row-${n},Piece ${n},One,${WALLET}`)
const cell = (text: string) => `"${text.replaceAll('"', '""')}"`

/** A repository with a manifest and a collection, and the caches of its jobs. */
async function repository(manifest: string, { name = 'drop.csv', server = backend } = {}) {
  const store = await mkdtemp(join(folder, 'repository-'))
  const workspace = join(store, 'workspace')
  await mkdir(workspace)
  await mkdir(join(store, 'home'))
  await writeFile(join(workspace, name), manifest)
  const at = { post: postTo(server.url, server.apiKey) }
  const { address: contract } = await createTestCollection(at, { dynamic: true })
  const job = async (
    inputs: Record<string, string>,
    more: Partial<Job> & { event?: object } = {},
  ): Promise<JobResult> => {
    const result = await runAction({
      action: ROOT,
      workspace,
      store,
      inputs: {
        manifest: name,
        blockchain: 'polygon',
        contract,
        'base-url': server.url,
        'api-key': server.apiKey,
        ...inputs,
      },
      env: { PATH: process.env.PATH, HOME: join(store, 'home') },
      github: { repository: REPOSITORY, token: TOKEN, apiUrl: github.url, event: more.event ?? {} },
      ...more,
    })
    for (const secret of [server.apiKey, TOKEN]) expect(withoutMasks(result.log)).not.toContain(secret)
    expect(await readdir(workspace)).not.toContain('pwned')
    return result
  }
  const titles = async () => {
    const nfts = await gdnAt(server, store).json<{ request_metadata: { title: string } }[]>(
      'nft',
      'list',
      '-c',
      contract,
    )
    return nfts.map(({ request_metadata: { title } }) => title).toSorted()
  }
  return { job, titles, contract, workspace, store }
}

const withoutMasks = (log: string) => log.replaceAll(/^::add-mask::.*$/gm, '')
const commandsIn = (log: string) => withoutMasks(log).match(/^\s*::.*$|^.*##\[.*$/gm) ?? []
const pullRequest = (repo = REPOSITORY) => ({
  pull_request: { number: 7, head: { sha: SHA, repo: { full_name: repo } } },
})
const pieces = (count: number) => Array.from({ length: count }, (_, n) => `Piece ${n}`)

describe('action.yml', () => {
  test('pins the actions of others by commit, and splices no expression into a shell command', async () => {
    const { runs } = await readAction(ROOT)
    for (const { uses, run } of runs.steps) {
      if (uses !== undefined) expect(uses).toMatch(/^actions\/[a-z/-]+@[0-9a-f]{40}$/)
      expect(run ?? '').not.toContain('${{')
    }
  })

  test('gives the token only to the step that comments', async () => {
    const { runs } = await readAction(ROOT)
    const users = runs.steps.filter(({ env = {} }) =>
      Object.values(env).some((value) => value.includes('github.token')),
    )
    expect(users.map(({ id }) => id)).toEqual(['run'])
  })
})

/** A proxy before the backend that calls back when the nth request for a mint arrives. */
async function startMintWatch() {
  let left = 0
  let then = () => {}
  const proxy = await startHttpFaultProxy(backend.url, {
    random: () => 0.5,
    faultOf(path) {
      if (path.endsWith('createnft') && --left === 0) then()
      return null
    },
  })
  const at = (count: number, act: () => void) => {
    left = count
    then = act
  }
  return { url: proxy.url, at, close: proxy.close }
}

describe('the recipes of the documents', () => {
  const pages = ['README.md', 'docs/ci.md', 'docs/install.md', 'docs/plan-and-apply.md']

  /** The inputs that a page gives to the action, as the workflow's author would see them. */
  async function recipesOf(page: string): Promise<Record<string, string>[]> {
    const blocks = (await readFile(join(ROOT, page), 'utf8')).matchAll(/^```yaml\n(.*?)^```$/gms)
    return [...blocks].flatMap(([, text = '']) => {
      const found = [...text.matchAll(/^( *)- uses: \S+@COMMIT\n(?:\1 .*\n)+/gm)]
      return found.flatMap(([step]) => recipe.parse(parse(step)).map((one) => one.with))
    })
  }

  test.each(pages)('mint, plan or apply as they are: %s', async (page) => {
    const recipes = await recipesOf(page)
    expect(recipes.length).toBeGreaterThan(0)
    for (const recipe of recipes) {
      const { job, contract } = await repository(csv(rowsOf(1)))
      const values: Record<string, string> = {
        '${{ vars.GDN_CONTRACT }}': contract,
        '${{ vars.GDN_BASE_URL }}': backend.url,
        '${{ secrets.GDN_API_KEY }}': backend.apiKey,
        '${{ secrets.GDN_READ_KEY }}': backend.apiKey,
      }
      const inputs = Object.entries(recipe).map(([name, value]) => [name, values[value] ?? value])
      expect((await job(Object.fromEntries(inputs))).outputs['exit-code']).toBe('0')
    }
  })

  test('list all inputs and outputs of the action', async () => {
    const { inputs, outputs } = await readAction(ROOT)
    const page = await readFile(join(ROOT, 'docs/ci.md'), 'utf8')
    const [table = ''] = /^\| Input .*?\n\n.*?$/ms.exec(page) ?? []
    const named = [...table.matchAll(/`([a-z0-9-]+)`/g)].map(([, name]) => name)
    expect(Object.keys({ ...inputs, ...outputs }).filter((name) => !named.includes(name))).toEqual([])
  })
})

describe('version', () => {
  let releases: HttpServer
  let sha256: string

  beforeAll(async () => {
    const { stdout } = await execa('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
      cwd: ROOT,
    })
    const [{ filename }] = JSON.parse(stdout)
    const bytes = await readFile(join(folder, filename))
    sha256 = createHash('sha256').update(bytes).digest('hex')
    const asset = '/acme/gdn/releases/download/v0.1.0/gdn-0.1.0.tgz'
    releases = await startHttpServer(({ path }) => (path === asset ? { body: bytes } : { status: 404 }))
  })
  afterAll(() => releases.close())

  const install = async (version: string, checksum: string) => {
    const { job } = await repository(csv(rowsOf(1)))
    const github = { repository: REPOSITORY, token: TOKEN, apiUrl: '', serverUrl: releases.url, event: {} }
    return await job({ command: 'install', version, sha256: checksum }, { github })
  }

  test('installs the package of a release with the right checksum, without the npm registry', async () => {
    const { failed, path, log } = await install('0.1.0', sha256)
    expect(failed, log).toBe(false)
    expect(await readFile(join(path[0] ?? '', 'gdn'), 'utf8')).toContain('/package/bin/gdn.js')
  })

  test.each([
    ['0.1.0', '0'.repeat(64), 'has the checksum'],
    ['0.1.0', '', 'version needs sha256'],
    ['9.9.9', '0'.repeat(64), '404'],
    ['../x', '0'.repeat(64), 'version must be a release'],
  ])('rejects %s with the checksum "%s"', async (version, checksum, why) => {
    const { failed, path, log } = await install(version, checksum)
    expect({ failed, path }).toEqual({ failed: true, path: [] })
    expect(log).toMatch(new RegExp(`^::error title=gdn::.*${why}`, 'm'))
  })
})

describe('mint', () => {
  test('mints a drop, and returns counts, results, report and summary', async () => {
    const { job, titles } = await repository(csv(rowsOf(3)))
    const { failed, outputs, uploaded, summary, outcomes } = await job({})
    expect({ failed, outputs }).toMatchObject({
      failed: false,
      outputs: { 'exit-code': '0', minted: '3', failed: '0', unknown: '0' },
    })
    expect(await titles()).toEqual(pieces(3))
    expect(uploaded['results.csv']).toContain('deployed')
    expect(uploaded['report.html']).toContain('Piece 2')
    expect(await readFile(outputs.results ?? '', 'utf8')).toBe(uploaded['results.csv'])
    expect(summary).toContain('### gdn batch drop')
    expect(new Set(Object.values(outcomes))).toEqual(new Set(['success']))
  })

  test('adds gdn to the PATH of later steps', async () => {
    const { job } = await repository(csv(rowsOf(1)))
    const { path, outcomes } = await job({ command: 'install', manifest: '' })
    expect(outcomes).toMatchObject({ setup: 'success', run: 'skipped', collect: 'skipped' })
    expect(await readdir(path[0] ?? '')).toEqual(['gdn'])
  })

  test('continues a drop whose job was killed, from the state in the cache, and mints no row twice', async () => {
    const { job, titles, store } = await repository(csv(rowsOf(40)))
    const mints = await startMintWatch()
    try {
      const inputs = { 'base-url': mints.url, args: '--chunk-size 4' }
      const first = await job(inputs, {
        onStep: (id, child) => {
          if (id === 'run') mints.at(3, () => process.kill(-(child.pid ?? 0), 'SIGKILL'))
        },
      })
      expect(first.outcomes).toMatchObject({ run: 'failure', collect: 'success' })
      expect(first.failed).toBe(true)
      expect(Number(first.outputs.minted)).toBeLessThan(40)
      expect(await readdir(join(store, 'caches'))).toHaveLength(1)
      const second = await job(inputs)
      expect(second.log).toContain('Cache restored from key: gdn-drop.csv-')
      expect(second.outputs).toMatchObject({ 'exit-code': '0', minted: '40', failed: '0', unknown: '0' })
      expect(await titles()).toEqual(pieces(40).toSorted())
    } finally {
      await mints.close()
    }
  })

  test('lets gdn end when the job is cancelled, and saves the state', async () => {
    const { job, titles, store } = await repository(csv(rowsOf(40)))
    const mints = await startMintWatch()
    try {
      const inputs = { 'base-url': mints.url, args: '--chunk-size 4' }
      const first = await job(inputs, {
        onStep: (id, child) => {
          if (id === 'run') mints.at(2, () => child.kill('SIGINT'))
        },
      })
      expect(first.outputs['exit-code']).toBe('130')
      expect(await readdir(join(store, 'caches'))).toHaveLength(1)
      expect((await job(inputs)).outputs).toMatchObject({ 'exit-code': '0', minted: '40' })
      expect(await titles()).toEqual(pieces(40).toSorted())
    } finally {
      await mints.close()
    }
  })

  test('retries failed rows once, annotates them, and fails with results and state', async () => {
    const data = await freshDataDir()
    const faults = join(data.path, 'faults.yaml')
    await writeFile(
      faults,
      'faults: [{ endpoint: createnft, fault: nft, becomes: failed, reason: the file is gone }]\n',
    )
    const server = await serve(data.path, ['--rate-limits', 'off', '--faults', faults]).ready
    try {
      const { job, store } = await repository(csv(rowsOf(2)), { server })
      const { failed, outputs, log, summary, uploaded } = await job({})
      expect(failed).toBe(true)
      expect(outputs).toMatchObject({ 'exit-code': '7', minted: '0', failed: '2', unknown: '0' })
      expect(log.match(/Resuming/g)).toHaveLength(1)
      expect(commandsIn(log)).toContainEqual(
        expect.stringMatching(/^::error file=drop\.csv,line=3::row row-1: .*the file is gone/),
      )
      expect(summary).toContain('| 0 | 0 | 0 | 2 | 0 |')
      expect(uploaded['results.csv']).toMatch(/row-1,.*failed/)
      expect(await readdir(join(store, 'caches'))).toHaveLength(1)
    } finally {
      await server.end('SIGTERM')
      await data.remove()
    }
  })

  test('reconciles unknown outcomes on a service without reference IDs, and sends nothing twice', async () => {
    const service = await startHostedService({ rate: 1000, listingLagMs: 4000, deployMs: 0 })
    let isCut = false
    const proxy = await startHttpFaultProxy(service.url, {
      random: () => 0.5,
      faultOf: (path) => {
        if (isCut || !path.endsWith('createnft')) return null
        isCut = true
        return 'drop-after'
      },
    })
    try {
      const { job } = await repository(csv(rowsOf(3)))
      const at = {
        'base-url': proxy.url,
        'api-key': service.apiKey,
        contract: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      }
      const first = await job({ ...at, timeout: '8s' })
      expect(first.log).toContain('gdn ended with exit code 9. Resuming…')
      expect(first.outputs).toMatchObject({ 'exit-code': '9', minted: '0', unknown: '3' })
      const second = await job(at)
      expect(second.outputs).toMatchObject({ 'exit-code': '0', minted: '3', unknown: '0' })
      expect([...service.nfts.values()].map(({ metadata }) => metadata.title).toSorted()).toEqual(pieces(3))
    } finally {
      await proxy.close()
      await service.close()
    }
  })

  test('keeps the state of drops apart, and saves it again in the same job', async () => {
    const { job, store } = await repository(csv(rowsOf(1)))
    await job({ run: 'spring' })
    await job({ run: 'spring' })
    await job({ run: 'autumn', args: '--again' })
    const keys = await readdir(join(store, 'caches'))
    expect(keys.map((key) => key.split('-').slice(0, 2).join('-')).toSorted()).toEqual([
      ...['gdn-autumn', 'gdn-spring', 'gdn-spring'],
    ])
  })

  test.each([
    ['a state key that begins with that of another', { 'state-key': 'drop' }, { 'state-key': 'drop-2' }],
    ['a state key that differs in a character that no cache key has', { 'state-key': 'a,b' }, { 'state-key': 'a/b' }],
    ['a long name of a run', { run: `${'x'.repeat(120)}1` }, { run: `${'x'.repeat(120)}2` }],
  ])('restores the state of no other drop: %s', async (_, inputs, others) => {
    const { job, store } = await repository(csv(rowsOf(1)))
    expect((await job(inputs)).log).toContain('Cache not found')
    const [own] = await readdir(join(store, 'caches'))
    expect((await job({ ...others, args: '--again' })).log).toContain('Cache not found')
    const again = await job(inputs)
    expect(again.log).toContain(`Cache restored from key: ${own}\n`)
    expect(again.log).toContain('Nothing is left to do')
    expect(again.outputs).toMatchObject({ 'exit-code': '0', minted: '1' })
  })

  test('restores the state of no other manifest of the same file name, which stops at rows of the first', async () => {
    const { job, workspace, titles } = await repository(csv(rowsOf(2)))
    await mkdir(join(workspace, '.git'))
    for (const folder of ['jan', 'feb']) await mkdir(join(workspace, folder))
    await writeFile(join(workspace, 'jan', 'drop.csv'), csv(rowsOf(2)))
    await writeFile(join(workspace, 'feb', 'drop.csv'), csv(rowsOf(3)).replaceAll('Piece', 'February'))
    expect((await job({ manifest: 'jan/drop.csv' })).outputs).toMatchObject({ 'exit-code': '0', minted: '2' })
    const before = await titles()
    const other = await job({ manifest: 'drop.csv', 'working-directory': 'feb' })
    expect(other.log).toContain('Cache not found')
    expect(other.log).toContain('2 rows were minted by the run "jan/drop.csv", but this run is "feb/drop.csv"')
    expect(other.outputs['exit-code']).toBe('9')
    expect(await titles()).toEqual(before)
    expect((await job({ manifest: 'jan/drop.csv' })).log).toContain('Nothing is left to do')
    const named = await job({ manifest: 'feb/drop.csv', run: 'february' })
    expect(named.outputs).toMatchObject({ 'exit-code': '0', minted: '3' })
  })

  test('stops with an older state on a service without reference IDs, and sends nothing twice', async () => {
    const service = await startHostedService({ rate: 1000, deployMs: 0 })
    try {
      const { job, store, workspace } = await repository(csv(rowsOf(2)))
      const at = {
        'base-url': service.url,
        'api-key': service.apiKey,
        contract: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      }
      await job(at)
      const [older] = await readdir(join(store, 'caches'))
      await writeFile(join(workspace, 'drop.csv'), csv(rowsOf(6)))
      expect((await job(at)).outputs).toMatchObject({ 'exit-code': '0', minted: '6' })
      // The runner of the second job was gone before it saved the state.
      for (const key of await readdir(join(store, 'caches')))
        if (key !== older) await rm(join(store, 'caches', key), { recursive: true })
      const third = await job(at)
      expect(third.log).toContain(`Cache restored from key: ${older}`)
      expect(third.log).toContain('4 rows of the manifest seem to be in the collection already')
      expect(third.outputs['exit-code']).toBe('9')
      const fourth = await job({ ...at, args: '--adopt' })
      expect(fourth.outputs).toMatchObject({ 'exit-code': '0', minted: '6' })
      expect([...service.nfts.values()].map(({ metadata }) => metadata.title).toSorted()).toEqual(pieces(6))
    } finally {
      await service.close()
    }
  })

  test('mints several drops in one job, each with its own state', async () => {
    const { job, titles, store } = await repository(csv(rowsOf(1)))
    const temp = await mkdtemp(join(store, 'runner-'))
    await job({ run: 'spring' }, { temp })
    await job({ run: 'autumn', args: '--again' }, { temp })
    expect(await titles()).toEqual(['Piece 0', 'Piece 0'])
    const third = await job({ run: 'spring' }, { temp })
    expect(third.outputs).toMatchObject({ 'exit-code': '0', minted: '1' })
    expect(third.log).not.toMatch(/Cache (restored|not found)/)
    expect(await titles()).toHaveLength(2)
  })

  test('sends nothing on a pull request of a fork, and says why', async () => {
    const { job, titles } = await repository(csv(rowsOf(1)))
    const { failed, log } = await job({ 'api-key': '' }, { event: pullRequest('eve/drops') })
    expect(failed).toBe(true)
    expect(log).toMatch(/::error title=gdn::nothing was sent: pull requests from forks .* get no secrets/)
    expect(await titles()).toEqual([])
  })
})

describe('plan', () => {
  test('writes one comment on a pull request, updates it, and leaves those of others alone', async () => {
    const { job, workspace, contract } = await repository(csv(rowsOf(2)))
    const event = pullRequest()
    const first = await job({ command: 'plan' }, { event })
    expect(first).toMatchObject({ failed: false, outputs: { 'exit-code': '0' } })
    expect(github.comments).toHaveLength(1)
    const [{ body = '' } = {}] = github.comments
    expect(body).toMatch(/^<!-- gdn plan [0-9a-f]{12} -->\n/)
    expect(body).toMatch(/\| mint \| 2 \|/)
    expect(body).toContain(`Commit ${SHA}, [log](https://github.com/acme/drops/actions/runs/4711)`)
    expect(first.summary).toContain('| mint | 2 |')
    expect(await readFile(first.outputs.plan ?? '', 'utf8')).toContain('| mint | 2 |')

    // Somebody copied the marker, and there are more comments than a page has.
    const others = Array.from({ length: 120 }, (_, id) => ({ id, user: { login: 'eve' }, body }))
    github.comments.unshift(...others)
    await writeFile(join(workspace, 'drop.csv'), csv(rowsOf(3)))
    await job({ command: 'plan' }, { event })
    expect(github.comments).toHaveLength(121)
    expect(github.comments.at(-1)?.body).toMatch(/\| mint \| 3 \|/)
    expect(github.comments[0]?.body).toBe(body)

    await writeFile(join(workspace, 'drop.csv'), 'title\n\n,\n')
    const broken = await job({ command: 'plan' }, { event })
    expect(broken).toMatchObject({ failed: true, outputs: { 'exit-code': '2' } })
    expect(github.comments).toHaveLength(121)
    expect(github.comments.at(-1)?.body).toContain('`gdn plan` ended with exit code 2 for the manifest drop&#46;csv.')

    await writeFile(join(workspace, 'drop.csv'), csv(rowsOf(3)))
    await job({ command: 'plan', run: 'other', contract }, { event })
    expect(github.comments).toHaveLength(122)
  })

  test('escapes hostile metadata in comment, summary and log', async () => {
    const row = ['row-0', cell(HOSTILE), cell(`${HOSTILE}\n::set-env name=PATH::/x`), WALLET].join(',')
    const { job } = await repository(csv([row]))
    const { log, summary } = await job({ command: 'plan' }, { event: pullRequest() })
    expect(commandsIn(log)).toEqual([])
    for (const text of [github.comments[0]?.body ?? '', summary]) {
      expect(text).toContain('&lt;img')
      expect(text.replace(/^<!-- gdn plan [0-9a-f]+ -->/, '')).not.toMatch(/<img|-->|^\s*::/m)
      // In <code> of an HTML block, neither mentions nor Markdown have an effect.
      expect(text.replaceAll(/<code>[^<]*<\/code>/g, '')).not.toMatch(/@everyone|javascript/)
    }
    const minted = await job({})
    expect(minted.outputs).toMatchObject({ 'exit-code': '0', minted: '1' })
    expect(commandsIn(minted.log)).toEqual([])
  })

  test('validates only on a pull request of a fork or of Dependabot, and says so', async () => {
    const { job, workspace } = await repository(csv(rowsOf(1)))
    const inputs = { command: 'plan', 'api-key': '' }
    const fork = await job(inputs, { event: pullRequest('eve/drops') })
    expect(fork.outcomes).toMatchObject({ run: 'success' })
    expect(fork.log).toMatch(/^::notice title=gdn::The manifest is only validated, not planned: /m)
    expect(fork.summary).toContain('only validated, not planned')
    const actor = { repository: REPOSITORY, token: TOKEN, apiUrl: github.url, actor: 'dependabot[bot]' }
    const bot = await job(inputs, { github: { ...actor, event: pullRequest() } })
    expect(bot.log).toContain('::notice title=gdn::')
    await writeFile(join(workspace, 'drop.csv'), csv([',,,nobody']))
    const invalid = await job(inputs, { event: pullRequest('eve/drops') })
    expect(invalid).toMatchObject({ failed: true, outputs: { 'exit-code': '2' } })
    expect(github.seen).toEqual([])
  })

  test('names the permission that is missing for a comment', async () => {
    const { job } = await repository(csv(rowsOf(1)))
    github.status.code = 403
    const { failed, log } = await job({ command: 'plan' }, { event: pullRequest() })
    expect(failed).toBe(true)
    expect(log).toMatch(/::error title=gdn::.*403.*`permissions: pull-requests: write`/)
  })

  test('does not comment outside of pull requests, or where it is switched off', async () => {
    const { job } = await repository(csv(rowsOf(1)))
    expect((await job({ command: 'plan' })).summary).toContain('| mint | 1 |')
    await job({ command: 'plan', comment: 'false' }, { event: pullRequest() })
    expect(github.seen).toEqual([])
  })
})

describe('apply', () => {
  test('mints and updates what the manifest says, and nothing the second time', async () => {
    const { job, titles, workspace } = await repository(csv(rowsOf(2)))
    const first = await job({ command: 'apply', args: '' })
    expect(first.outputs).toMatchObject({ 'exit-code': '0', minted: '2', failed: '0', unknown: '0' })
    await writeFile(join(workspace, 'drop.csv'), csv(rowsOf(3)).replace('Piece 0', 'Piece zero'))
    const second = await job({ command: 'apply' })
    expect(second.outputs).toMatchObject({ 'exit-code': '0', minted: '1' })
    expect(second.summary).toMatch(
      /### gdn apply\n\nManifest: drop&#46;csv\n\n\| minted \| updated .*\n.*\n\| 1 \| 1 \| 0 \|/,
    )
    expect(await titles()).toEqual(['Piece 1', 'Piece 2', 'Piece zero'])
    const third = await job({ command: 'apply' })
    expect(third.outputs).toMatchObject({ 'exit-code': '0', minted: '0' })
  })
})

describe('inputs', () => {
  const hostile = `a $(touch pwned) \`touch pwned\` '";touch pwned;#\nexit-code=99\n::error::x`

  test.each(['run', 'manifest', 'args', 'contract', 'blockchain', 'base-url', 'state-key', 'command'])(
    'take no effect as shell text, outputs or workflow commands: %s',
    async (name) => {
      const { job } = await repository(csv(rowsOf(1)))
      const { outputs, log } = await job({ [name]: hostile })
      expect(outputs['exit-code']).not.toBe('99')
      expect(commandsIn(log).filter((line) => line.trim() === '::error::x')).toEqual([])
    },
  )

  test('are never options of gdn where they are names', async () => {
    const { job, titles } = await repository(csv(rowsOf(1)), { name: '--local' })
    expect((await job({ run: '--help' })).outputs).toMatchObject({ 'exit-code': '0', minted: '1' })
    expect(await titles()).toEqual(pieces(1))
  })

  test('name the command and the manifest that are missing', async () => {
    const { job } = await repository(csv(rowsOf(1)))
    expect((await job({ command: 'burn' })).log).toContain('::error title=gdn::command must be one of mint, apply')
    expect((await job({ manifest: '' })).log).toContain('::error title=gdn::manifest is missing')
  })

  test.each([
    [{ timeout: '5' }, 'timeout: must be a time such as 90s'],
    [{ args: '--nope' }, 'args: unknown option "--nope"'],
    [{ args: '--chunk-size x' }, 'args: --chunk-size: must be a whole number'],
    [{ args: '--max-cost' }, 'args: --max-cost: needs a value'],
    [{ blockchain: 'polygn' }, 'blockchain: unknown blockchain "polygn"'],
    [{ command: 'plan', blockchain: 'polygn' }, 'blockchain: unknown blockchain "polygn"'],
    [{ command: 'apply', contract: '0x12' }, 'contract: "0x12" must have 40 hex digits'],
    [{ upload: 'yes' }, 'upload must be true or false, not "yes"'],
    [{ comment: 'no' }, 'comment must be true or false, not "no"'],
  ])('that are wrong are one error with the name of the input: %j', async (inputs, message) => {
    const { job } = await repository(csv(rowsOf(1)))
    const { failed, log } = await job(inputs)
    expect(failed).toBe(true)
    const errors = log.match(/^(::error|error:).*$/gm) ?? []
    expect(errors.filter((line) => line.startsWith('::'))).toEqual([
      expect.stringContaining(`::error title=gdn::${message}`),
    ])
    // Collecting results of a run that has not begun is no second error.
    expect(errors.filter((line) => line.startsWith('error:')).length).toBeLessThan(2)
  })
})
