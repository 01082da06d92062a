/** @module-tag slow */
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GdnError } from '../../src/core/errors.ts'
import { thisProcess } from '../../src/core/lock-holder.ts'
import { openState } from '../../src/state/open-state.ts'
import { pngNamed } from '../helpers/images.ts'
import { CONTRACT, DATE, fakeApi, nft, OWNER, type Reply, knows as tells } from './fake-api.ts'
import { cli, errorOf, interruptedWhileWaiting, tempHome, timeUpWhileWaiting } from './harness.ts'

const MINT = ['nft', 'mint', '-c', CONTRACT, '-b', 'polygon', '--receiver', OWNER, '--title', 'Dawn']
const CREATE = ['collection', 'create', '--name', 'Dawn', '-b', 'polygon', '--wallet', OWNER]
const YES = { 'idempotency-supported': 'yes' }

/** A getnfts of a server with a high rate limit. */
const knows =
  (...records: ReturnType<typeof nft>[]) =>
  (body: { nft_gdn_ids: string[] }): Reply => ({
    ...tells(...records)(body),
    headers: { 'ratelimit-policy': '"getnfts";q=1000;w=1' },
  })

interface MintBody {
  metadata: object[]
}

/** A createnft that assigns the IDs id-1, id-2, … */
function minting() {
  let n = 0
  return ({ metadata, ...requests }: MintBody): Reply => ({
    body: {
      message: 'accepted',
      requests: { ...requests, contract_address: CONTRACT, receiver_wallet_address: OWNER, metadata },
      nfts: metadata.map(() => ({ nft_gdn_ids: `id-${++n}`, accepted_date: DATE })),
    },
  })
}

async function machine() {
  const { dir, env } = await tempHome()
  return { dir, env: { ...env, GDN_API_KEY: 'key' } }
}

describe('a mint that did not report its final state', () => {
  test('is resumed by the same command, which says so and mints nothing', { tags: ['promise'] }, async () => {
    let status = 'initiated'
    const api = await fakeApi({
      createnft: minting(),
      getnfts: (body: { nft_gdn_ids: string[] }) => knows(nft('id-1', { status }))(body),
    })
    const { env } = await machine()
    const first = await cli([...MINT, '--base-url', api.url], { env, ...timeUpWhileWaiting() })
    expect(first.code).toBe(8)
    expect(first.stderr).toContain(
      'Run the same command again to resume the operation, or add --again to send another request.',
    )
    status = 'deployed'
    const second = await cli([...MINT, '--base-url', api.url, '-o', 'ids'], { env })
    expect(second).toMatchObject({ code: 0, stdout: 'id-1\n' })
    expect(second.stderr).toMatch(
      /This request was accepted at \S+Z\. Resuming it\. To send another request, add --again\./,
    )
    expect(api.bodies('createnft')).toHaveLength(1)
  })

  test('is resumed by the same command after Ctrl-C', async () => {
    let status = 'initiated'
    const api = await fakeApi({
      createnft: minting(),
      getnfts: (body: { nft_gdn_ids: string[] }) => knows(nft('id-1', { status }))(body),
    })
    const { env } = await machine()
    const argv = [...MINT, '--base-url', api.url, '-o', 'ids']
    expect((await cli(argv, { env, ...interruptedWhileWaiting() })).code).toBe(130)
    status = 'deployed'
    expect(await cli(argv, { env })).toMatchObject({ code: 0, stdout: 'id-1\n' })
    expect(api.bodies('createnft')).toHaveLength(1)
  })

  test('is set aside and named with --again', { tags: ['promise'] }, async () => {
    const api = await fakeApi({
      createnft: minting(),
      getnfts: knows(nft('id-1', { status: 'initiated' }), nft('id-2')),
    })
    const { env } = await machine()
    await cli([...MINT, '--base-url', api.url], { env, ...timeUpWhileWaiting() })
    const secondResult = await cli([...MINT, '--again', '--base-url', api.url, '-o', 'ids'], { env })
    expect(secondResult).toMatchObject({ code: 0, stdout: 'id-2\n' })
    expect(secondResult.stderr).toMatch(/Ignoring the request accepted at \S+ \(id-1\)\. Sending another request\./)
  })
})

test('prints the ID of an operation, and resumes that operation with --operation', async () => {
  const api = await fakeApi({ createnft: minting(), getnfts: knows(nft('id-1')) })
  const { env } = await machine()
  const argv = [...MINT, '--base-url', api.url, '-o', 'ids']
  const [, id = ''] = /^Operation (\S+)$/m.exec((await cli(argv, { env })).stderr) ?? []
  expect(await cli([...argv, '--operation', id.toUpperCase()], { env })).toMatchObject({ code: 0, stdout: 'id-1\n' })
  expect(api.bodies('createnft')).toHaveLength(1)
  expect(JSON.parse((await cli(['batch', 'list', '--all', '--json'], { env })).stdout)).toMatchObject([{ run_id: id }])
  const both = await cli([...argv, '--again', '--operation', id, '--json'], { env })
  expect(errorOf(both)).toMatchObject({ code: 'usage', message: expect.stringContaining('contradict') })
  expect((await cli([...argv, '--operation', 'latest'], { env })).code).toBe(2)
})

test('prints no ID, and that the request was not sent, if Ctrl-C comes before the request', async () => {
  const stop = new AbortController()
  const api = await fakeApi({
    getisgdnnft: () => {
      stop.abort(new GdnError('interrupted', 'interrupted'))
      return { status: 503, body: {} }
    },
  })
  const { env } = await machine()
  const { code, stderr } = await cli([...MINT, '--base-url', api.url], { env, signal: stop.signal })
  expect(code).toBe(130)
  expect(stderr).toContain('error: interrupted\n  The request was not sent.')
  expect(stderr).not.toContain('Operation ')
})

test('prints no ID of an operation that is refused before its request is sent', async () => {
  const api = await fakeApi({ getnfts: knows() })
  const { env } = await machine()
  const argv = ['nft', 'transfer', 'id-9', '-c', CONTRACT, '--receiver', OWNER, '--base-url', api.url]
  const { stderr } = await cli(argv, { env })
  expect(stderr).toContain('error: ')
  expect(stderr).not.toContain('Operation ')
})

test('doctor reports a command that was killed while it waited for the response, and not one that is running', async () => {
  const api = await fakeApi({ createnft: () => ({ status: 500, body: {} }) })
  const { dir, env } = await machine()
  expect((await cli([...MINT, '--base-url', api.url, '--state-dir', join(dir, 'state')], { env })).code).toBe(9)
  /** The warnings while the command's process is another one. */
  const warnings = async (process: { pid?: number }) => {
    const state = await openState(join(dir, 'state'))
    const holder = JSON.stringify({ ...(await thisProcess('nft mint')), ...process })
    await state.write((sql) => {
      sql.run('UPDATE runs SET holder = ?', holder)
      // The outcome is already recorded as unknown here, after which no operation is `sent`.
      sql.run('DROP TRIGGER IF EXISTS allowed_transitions')
      sql.run("UPDATE operations SET state = 'sent'")
    })
    state.close()
    const { stdout } = await cli(['doctor', '--json', '--state-dir', join(dir, 'state')], { env })
    const findings: { check: string; message: string }[] = JSON.parse(stdout)
    return findings.filter(({ check, message }) => check === 'runs' && message.includes('is unknown'))
  }
  // No process has this ID.
  expect(await warnings({ pid: 2 ** 22 + 1 })).toHaveLength(1)
  expect(await warnings({})).toEqual([])
})

test('batch rm removes the record of a single command after --yes, even with an unknown outcome', async () => {
  let broken = true
  const mint = minting()
  const api = await fakeApi({
    createnft: (body: MintBody) => (broken ? { status: 500, body: {} } : mint(body)),
    getnfts: knows(nft('id-1')),
  })
  const { env } = await machine()
  const argv = [...MINT, '--base-url', api.url, '-o', 'ids']
  expect((await cli(argv, { env })).code).toBe(9)
  const all = async () => JSON.parse((await cli(['batch', 'list', '--all', '--json'], { env })).stdout)
  const [{ run, run_id }] = await all()
  const { stdout: findings } = await cli(['doctor', '--json'], { env })
  expect(JSON.parse(findings)).toContainEqual(
    expect.objectContaining({ check: 'runs', fix: expect.stringContaining(`with \`gdn batch rm ${run}\``) }),
  )
  const refused = await cli(['batch', 'rm', run, '--json'], { env })
  expect(errorOf(refused)).toMatchObject({ code: 'not_confirmed', message: expect.stringContaining('another request') })
  expect(await cli(['batch', 'rm', run, '--yes', '-o', 'ids'], { env })).toMatchObject({
    code: 0,
    stdout: `${run_id}\n`,
  })
  expect(await all()).toEqual([])
  broken = false
  expect(await cli(argv, { env })).toMatchObject({ code: 0, stdout: 'id-1\n' })
  const [ended] = await all()
  expect((await cli(['batch', 'rm', ended.run_id], { env })).code).toBe(3)
  expect((await cli(['batch', 'rm', ended.run_id, '--yes'], { env })).code).toBe(0)
})

test('names the number of single commands with an unknown outcome, which only --all lists', async () => {
  const api = await fakeApi({ createnft: () => ({ status: 502, body: 'bad gateway' }) })
  const { env } = await machine()
  await cli([...MINT, '--base-url', api.url], { env })
  const listed = await cli(['batch', 'list'], { env, tty: true })
  expect(listed.stderr).toContain('The outcome of 1 single command is unknown. To list it, add --all.')
  expect((await cli(['batch', 'list', '--all'], { env, tty: true })).stderr).toBe('')
})

test('records each single command as a run, which batch list shows with --all', async () => {
  const api = await fakeApi({
    createnft: ({ metadata, ...requests }: MintBody): Reply =>
      JSON.stringify(metadata).includes('No')
        ? { status: 400, body: { error: { title: 'Bad Request', message: 'no such receiver' } } }
        : minting()({ metadata, ...requests }),
    getnfts: knows(nft('id-1')),
    createcollection: (request: object): Reply => ({
      body: { request, response: { transaction_gdn_id: 'tx-1', accepted_date: DATE } },
    }),
  })
  const { env } = await machine()
  const flags = ['--base-url', api.url]
  await cli([...MINT, ...flags], { env })
  expect((await cli([...MINT.slice(0, -1), 'No', ...flags], { env })).code).toBe(5)
  expect(JSON.parse((await cli(['batch', 'list', '--json'], { env })).stdout)).toEqual([])
  await cli([...CREATE, '--no-wait', ...flags], { env })
  const all = JSON.parse((await cli(['batch', 'list', '--all', '--json'], { env })).stdout)
  const one = { total: 1, running: false, blockchain: 'polygon', server: api.url, manifest: null }
  expect(all).toEqual([
    expect.objectContaining({ ...one, accepted: 1, contract_address: null }),
    expect.objectContaining({ ...one, state: 'failed', failed: 1, run: expect.stringMatching(/^nft-mint-....$/) }),
    expect.objectContaining({ ...one, state: 'finished', deployed: 1, contract_address: CONTRACT }),
  ])
  for (const name of [all[1].run, all[1].run_id])
    expect(JSON.parse((await cli(['batch', 'status', name, '--json'], { env })).stdout)).toEqual(all[1])
  const card = await cli(['batch', 'status', all[1].run], { env, tty: true })
  expect(card.stdout).not.toContain('batch results')
  for (const verb of ['results', 'resume'])
    expect(await cli(['batch', verb, all[1].run], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is a single command, not a run of a manifest\n.*gdn batch status nft-mint-/),
    })
})

test('mints again with the same command after the final state was reported', async () => {
  const api = await fakeApi({ createnft: minting(), getnfts: knows(nft('id-1'), nft('id-2')) })
  const { env } = await machine()
  const argv = [...MINT, '--base-url', api.url, '-o', 'ids']
  expect((await cli(argv, { env })).stdout).toBe('id-1\n')
  expect(await cli(argv, { env })).toMatchObject({ code: 0, stdout: 'id-2\n' })
})

test('mints again with the same command after --no-wait', async () => {
  const api = await fakeApi({ createnft: minting() })
  const { env } = await machine()
  const argv = [...MINT, '--no-wait', '--base-url', api.url, '-o', 'ids']
  expect((await cli(argv, { env })).stdout + (await cli(argv, { env })).stdout).toBe('id-1\nid-2\n')
})

describe('a mint with an unknown outcome', () => {
  test('exits with 9, and the same command finds the NFT in the collection and resumes', {
    tags: ['promise'],
  }, async () => {
    const minted: string[] = ['old']
    const api = await fakeApi({
      createnft: () => {
        minted.push('id-1')
        return { status: 502, body: {} }
      },
      getnftgdnids: () => ({
        body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: [...minted] },
      }),
      getnfts: knows(nft('old'), nft('id-1')),
    })
    const { env } = await machine()
    const first = await cli([...MINT, '--base-url', api.url, '--json'], { env })
    expect(first).toMatchObject({ code: 9, stdout: '' })
    expect(errorOf(first)).toMatchObject({
      code: 'unknown_outcome',
      message: expect.stringMatching(/^createnft was sent at \S+Z, but its outcome is unknown: 502/),
      hint: expect.stringMatching(/same command again later.*add --again/),
    })
    const second = await cli([...MINT, '--base-url', api.url], { env })
    expect(second.code).toBe(0)
    expect(second.stderr).toContain('Found the request accepted at')
    expect(second.stdout).toContain('id-1')
    expect(api.bodies('createnft')).toHaveLength(1)
  })

  test('is resolved immediately with the same idempotency key if the server supports it', async () => {
    const replies: Reply[] = [{ status: 500, body: {} }]
    const mint = minting()
    const api = await fakeApi({
      createnft: (body: MintBody) => ({ headers: YES, ...(replies.shift() ?? mint(body)) }),
      getisgdnnft: () => ({ status: 422, headers: YES, body: {} }),
      getnfts: knows(nft('id-1')),
    })
    const { env } = await machine()
    expect(await cli([...MINT, '--base-url', api.url, '-o', 'ids'], { env })).toMatchObject({
      code: 0,
      stdout: 'id-1\n',
    })
    const keys = api.calls
      .filter(({ path }) => path.endsWith('createnft'))
      .map((call) => call.headers['idempotency-key'])
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
  })
})

test('compares local files by content: a retry resumes the operation and uploads nothing', {
  tags: ['promise'],
}, async () => {
  let n = 0
  const api = await fakeApi({
    files: () => ({ body: { url: `ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei${++n}` } }),
    createnft: minting(),
    getnfts: knows(nft('id-1', { status: 'initiated' })),
  })
  const { dir, env } = await machine()
  await writeFile(join(dir, 'a.png'), pngNamed('a'))
  const mint = (image: string) =>
    cli([...MINT, '--image', image, '--base-url', api.url], { env, cwd: dir, ...timeUpWhileWaiting() })
  expect((await mint('a.png')).code).toBe(8)
  await mkdir(join(dir, 'moved'))
  await rename(join(dir, 'a.png'), join(dir, 'moved', 'b.png'))
  expect((await mint('moved/b.png')).stderr).toContain('Resuming it')
  expect(api.bodies('files')).toHaveLength(1)
  await writeFile(join(dir, 'moved', 'b.png'), pngNamed('b'))
  expect((await mint('moved/b.png')).stderr).not.toContain('Resuming it')
  expect(api.bodies('createnft')).toHaveLength(2)
})

test('exits with 9 each time for a collection with an unknown outcome, until --again sends another request', {
  tags: ['promise'],
}, async () => {
  const replies: Reply[] = [{ status: 504, body: {} }]
  const api = await fakeApi({
    createcollection: (request: object) =>
      replies.shift() ?? { body: { request, response: { transaction_gdn_id: 'tx', accepted_date: DATE } } },
  })
  const { env } = await machine()
  for (let time = 0; time < 2; time++) {
    const result = await cli([...CREATE, '--base-url', api.url, '--json'], { env })
    expect(result.code).toBe(9)
    expect(errorOf(result)).toMatchObject({ code: 'unknown_outcome', hint: expect.stringContaining('website') })
  }
  expect(api.bodies('createcollection')).toHaveLength(1)
  expect((await cli([...CREATE, '--again', '--no-wait', '--base-url', api.url], { env })).code).toBe(0)
  expect(api.bodies('createcollection')).toHaveLength(2)
})

test('resumes a pending collection, and stores it once', async () => {
  let status = 'initiated'
  const record = () => ({
    transaction_gdn_ids: 'tx',
    contract_address: CONTRACT,
    name: 'Dawn',
    blockchain: 'polygon',
    wallet_address: OWNER,
    status,
  })
  const api = await fakeApi({
    createcollection: (request: object) => ({
      body: { request, response: { transaction_gdn_id: 'tx', accepted_date: DATE } },
    }),
    getcollections: () => ({ body: { requests: { transaction_gdn_ids: ['tx'] }, collections: [record()] } }),
  })
  const { env } = await machine()
  expect((await cli([...CREATE, '--base-url', api.url], { env, ...timeUpWhileWaiting() })).code).toBe(8)
  status = 'deployed'
  const second = await cli([...CREATE, '--base-url', api.url, '-o', 'ids'], { env })
  expect(second).toMatchObject({ code: 0, stdout: `${CONTRACT}\n` })
  expect(api.bodies('createcollection')).toHaveLength(1)
  expect(JSON.parse((await cli(['collection', 'list', '--base-url', api.url, '--json'], { env })).stdout)).toHaveLength(
    1,
  )
})

test('exits before anything is sent if the state directory is unusable', async () => {
  const { dir, env } = await machine()
  await writeFile(join(dir, 'state'), '')
  const result = await cli([...MINT, '--state-dir', join(dir, 'state'), '--base-url', 'http://127.0.0.1:9', '--json'], {
    env,
  })
  expect(result.code).toBe(2)
  expect(errorOf(result)).toMatchObject({ code: 'data_dir', hint: expect.stringContaining('--state-dir') })
})
