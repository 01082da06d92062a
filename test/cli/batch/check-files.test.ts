/** @module-tag slow */
import { describe, expect, test } from 'vitest'
import { CAPABILITIES } from '../../../src/api/headers.ts'
import { checkFiles, FileUrls } from '../../../src/cli/batch/check-files.ts'
import type { Deps } from '../../../src/cli/deps.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { folder, service, TARGET } from './drop.ts'

const PNG = '\x89PNG\r\n\x1a\n and so on'

/** A file server, and a manifest with the given images. */
async function drop(...names: string[]) {
  const server = await startHttpServer(({ path }) => {
    if (path === '/gone.png') return { status: 404 }
    if (path === '/down.png') return { status: 503 }
    return { text: path === '/page.png' ? '<html>' : PNG, headers: { 'content-type': 'image/png' } }
  })
  const rows = names.map((name, i) => `NFT ${i},d,${OWNER},${name.includes(':') ? name : `${server.url}/${name}`},${i}`)
  const { path, options } = await folder({ 'drop.csv': `title,description,receiver,image,id\n${rows.join('\n')}\n` })
  return { server, manifest: path('drop.csv'), options }
}

// Nothing listens here: validation needs no server. Its address decides whether local files are allowed.
const OWN = ['--base-url', 'http://127.0.0.1:9']

describe('batch validate --check-files', () => {
  test('requests each file once, and reports definite problems as errors together with all others', async () => {
    const { server, manifest, options } = await drop(
      'ok.png',
      'gone.png',
      'gone.png',
      'page.png',
      'down.png',
      'gopher:x',
    )
    const result = await cli(['batch', 'validate', manifest, ...TARGET, ...OWN, '--check-files', '--json'], options)
    expect(result).toMatchObject({ code: 2, stdout: '' })
    const { details } = errorOf(result)
    expect(details).toMatchObject({
      issue_count: 3,
      issues: [
        { place: { line: 7, column: 4 } },
        {
          place: { file: manifest, line: 3, column: 4, field: 'image' },
          message: `${server.url}/gone.png returned 404 Not Found (used 2 times)`,
        },
        { place: { line: 5, column: 4 }, message: `${server.url}/page.png returned an HTML page, not a file` },
      ],
      warnings: [
        { place: { line: 2, column: 4 } },
        { place: { line: 6 }, message: `${server.url}/down.png returned 503 Service Unavailable` },
      ],
    })
    const requestedPaths = server.seen.map(({ path }) => path).sort()
    expect(requestedPaths).toEqual(['/down.png', '/down.png', '/gone.png', '/ok.png', '/page.png'])
    await server.close()
  })

  test('warns about a file on this machine for a local server, and reports an error for a remote one', async () => {
    const { server, manifest, options } = await drop('ok.png')
    const validate = (...flags: string[]) =>
      cli(['batch', 'validate', manifest, ...TARGET, '--check-files', ...flags], options)
    const own = await validate(...OWN)
    expect(own.code).toBe(0)
    expect(own.stderr).toContain('warning: ')
    expect(own.stderr).toContain('uses port')
    const json = JSON.parse((await validate(...OWN, '--json')).stdout)
    expect(json).toMatchObject({ valid: true, checked_files: 1, warnings: [{ place: { line: 2, column: 4 } }] })
    const { stdout } = await cli(['batch', 'validate', manifest, ...TARGET, '--check-files', ...OWN], {
      ...options,
      tty: true,
    })
    expect(stdout).toMatch(/^URLS CHECKED +1$/m)
    const requestCount = server.seen.length
    const hosted = await validate('--base-url', 'https://nft.example')
    expect(hosted.code).toBe(2)
    expect(server.seen).toHaveLength(requestCount)
    await server.close()
  })

  test('shows no progress for a manifest without files', async () => {
    const shownTexts: string[] = []
    const progress = async (text: string) => {
      shownTexts.push(text)
      return { update() {}, stop() {} }
    }
    const deps = { io: { progress }, signals: { signal: new AbortController().signal } } as unknown as Deps
    expect(await checkFiles(deps, new FileUrls(), null)).toEqual({ checked: 0, errors: [], warnings: [] })
    expect(shownTexts).toEqual([])
  })

  test('requests nothing without the flag', async () => {
    const { server, manifest, options } = await drop('gone.png')
    const { code, stdout } = await cli(['batch', 'validate', manifest, ...TARGET, ...OWN, '--json'], options)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ warnings: [] })
    expect(JSON.parse(stdout)).not.toHaveProperty('checked_files')
    expect(server.seen).toEqual([])
    await server.close()
  })
})

describe('batch mint --check-files', () => {
  test('sends nothing and creates no run if a file is missing', async () => {
    const { server, manifest, options } = await drop('ok.png', 'gone.png')
    const api = await fakeApi({})
    const flags = [...TARGET, '--base-url', api.url, '--no-lookup', '--check-files', '--json']
    const result = await cli(['batch', 'mint', manifest, ...flags], options)
    expect(result.code).toBe(2)
    expect(errorOf(result).message).toContain('/gone.png returned 404 Not Found')
    expect(api.bodies('createnft')).toEqual([])
    expect(JSON.parse((await cli(['batch', 'list', '--json'], options)).stdout)).toEqual([])
    await server.close()
  })

  test('counts the rows of a file once if the manifest was also compared with a commitment', async () => {
    const { server, manifest, options } = await drop('gone.png')
    const headers = { [CAPABILITIES.updates]: 'yes', [CAPABILITIES.idempotency]: 'yes' }
    const transaction = { transaction_gdn_id: 'a', transaction_hash: null, block_number: null }
    const provenances = [{ provenance: '0x1', first_token_id: '1', status: 'deployed', ...transaction }]
    const api = await fakeApi({
      getprovenances: (body) => ({ headers, body: { requests: body, provenances } }),
      '*': () => ({ status: 404, headers, body: {} }),
    })
    const flags = [...TARGET, '--base-url', api.url, '--no-lookup', '--check-files', '--json']
    const { message } = errorOf(await cli(['batch', 'mint', manifest, ...flags], options))
    expect(message).toContain('/gone.png returned 404 Not Found')
    expect(message).not.toContain('other row')
    expect(api.bodies('getprovenances')).toHaveLength(1)
    await server.close()
  })

  test('sends if nothing is certain to fail, and prints the warnings', async () => {
    const { server, manifest, options } = await drop('ok.png')
    const api = await fakeApi(service())
    const flags = [...TARGET, '--base-url', api.url, '--check-files', '--no-lookup']
    const result = await cli(['batch', 'mint', manifest, ...flags], options)
    expect(result.code).toBe(0)
    expect(result.stderr).toContain('warning: ')
    expect(server.seen).toHaveLength(1)
    await server.close()
  })
})
