/** @module-tag slow */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { pngNamed } from '../../helpers/images.ts'
import { startIpfsNode } from '../../helpers/ipfs-node-stand-in.ts'
import { S3_KEYS, startS3 } from '../../helpers/s3-stand-in.ts'
import { folder, service, TARGET } from '../batch/drop.ts'
import { fakeApi, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'

const PNG = pngNamed('a')
const AWS = { AWS_ACCESS_KEY_ID: S3_KEYS.accessKeyId, AWS_SECRET_ACCESS_KEY: S3_KEYS.secret }
const ROWS = `title,description,receiver,image\nDawn,d,${OWNER},a.png\nDusk,d,${OWNER},b.png\nNoon,d,${OWNER},https://files.example/c.png\n`

/** A manifest with two local files of equal content, in a home whose profile has these settings. */
async function drop(settings: Record<string, string> = {}) {
  const { path, options } = await folder({ 'drop.csv': ROWS, 'a.png': PNG, 'b.png': PNG })
  for (const [name, value] of Object.entries(settings)) {
    expect((await cli(['config', 'set', name, value], options)).code).toBe(0)
  }
  return { manifest: path('drop.csv'), options: { ...options, env: { ...options.env, ...AWS } } }
}

const imagesOf = (api: Awaited<ReturnType<typeof fakeApi>>) =>
  (api.bodies('createnft') as { metadata: { file_fields: { url: string }[] }[] }[])
    .flatMap(({ metadata }) => metadata)
    .map(({ file_fields }) => file_fields[0]?.url)

describe('local files of a batch, if the server accepts no uploads', () => {
  test('are stored in the bucket of the profile, each content once', async () => {
    const s3 = await startS3(['art'])
    onTestFinished(() => s3.close())
    const { manifest, options } = await drop({
      storage: 's3://art/drop',
      storage_endpoint: s3.url,
      storage_public_url: 'https://files.example',
    })
    const api = await fakeApi(service())
    const mint = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--no-lookup', '--json']
    const { code, stderr } = await cli(mint, options)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const [key] = [...s3.objects.keys()]
    expect(s3.objects.size).toBe(1)
    const url = `https://files.example/${key?.slice('art/'.length)}`
    expect(imagesOf(api)).toEqual([url, url, 'https://files.example/c.png'])
    expect(s3.seen.filter((one) => one.startsWith('PUT'))).toHaveLength(1)
  })

  test('are rejected before anything is stored or minted if one is really an HTML page', async () => {
    const s3 = await startS3(['art'])
    onTestFinished(() => s3.close())
    const { manifest, options } = await drop({
      storage: 's3://art/drop',
      storage_endpoint: s3.url,
      storage_public_url: 'https://files.example',
    })
    await writeFile(join(dirname(manifest), 'a.png'), '<html><body>404</body></html>')
    await writeFile(join(dirname(manifest), 'b.png'), '<html><body>404</body></html>')
    const api = await fakeApi({})
    const mint = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--no-lookup']
    const { code, stderr } = await cli(mint, options)
    expect(code).not.toBe(0)
    expect(stderr).toMatch(/drop\.csv:2:4: image is an HTML page: .*a\.png/)
    expect([s3.objects.size, api.bodies('createnft')]).toEqual([0, []])
  })

  test('are stored on the IPFS node of the profile', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'gdn-node-'))
    const node = await startIpfsNode(dir)
    onTestFinished(async () => {
      await node.close()
      await rm(dir, { recursive: true })
    })
    const { manifest, options } = await drop({ storage: 'ipfs', ipfs_api: node.url })
    const api = await fakeApi(service())
    const { code } = await cli(['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--no-lookup'], options)
    expect(code).toBe(0)
    expect(imagesOf(api)[0]).toMatch(/^ipfs:\/\/bafkrei/)
    expect(node.seen).toHaveLength(1)
  })

  test('are errors with their location if the profile has no storage, and nothing is sent', async () => {
    const { manifest, options } = await drop()
    const api = await fakeApi({})
    const mint = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--no-lookup', '--json']
    const result = await cli(mint, options)
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      code: 'invalid_manifest',
      hint: expect.stringContaining('gdn config set storage'),
      details: { issue_count: 2, issues: [{ place: { line: 2, column: 4 } }, { place: { line: 3, column: 4 } }] },
    })
    expect(api.bodies('createnft')).toEqual([])
  })

  test('stop the command before anything is sent if the storage has no credentials', async () => {
    const { manifest, options } = await drop({ storage: 's3://art' })
    const api = await fakeApi({})
    const env = { ...options.env, AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' }
    const mint = ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--no-lookup', '--json']
    const result = await cli(mint, { ...options, env })
    expect(result.code).toBe(4)
    expect(errorOf(result).hint).toContain('AWS_ACCESS_KEY_ID')
    expect(api.bodies('createnft')).toEqual([])
  })

  test('are uploaded to a server that accepts them, and the storage is not used', async () => {
    const { manifest, options } = await drop({ storage: 'ipfs', ipfs_api: 'http://127.0.0.1:9' })
    const url = 'ipfs://bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4'
    const files = (body: unknown) =>
      String(body).includes('form-data')
        ? { body: { url } }
        : { status: 415, body: { error: { title: 'x', message: 'x' } } }
    const api = await fakeApi({ ...service(), files })
    const { code } = await cli(['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--no-lookup'], options)
    expect(code).toBe(0)
    expect(imagesOf(api).slice(0, 2)).toEqual([url, url])
  })
})

test('stores a file of a single NFT the same way', async () => {
  const s3 = await startS3(['art'])
  onTestFinished(() => s3.close())
  const { options } = await drop({
    storage: 's3://art',
    storage_endpoint: s3.url,
    storage_public_url: 'https://files.example',
  })
  const { createnft } = service()
  const api = await fakeApi({ createnft })
  const flags = ['--receiver', OWNER, '--title', 'Dawn', '--image', './a.png', '--no-wait', '--base-url', api.url]
  const { code } = await cli(['nft', 'mint', ...TARGET, ...flags], options)
  expect(code).toBe(0)
  expect(imagesOf(api)[0]).toMatch(/^https:\/\/files\.example\/[0-9a-f]{64}\.png$/)
})

describe('storage settings', () => {
  test.each([
    ['storage', 'http://art'],
    ['storage', 's3://A'],
    ['storage', 's3://art/a b'],
    ['storage_endpoint', 'ftp://x'],
    ['storage_public_url', 'https://user:secret@files.example'],
    ['storage_region', 'Über'],
    ['ipfs_api', 'localhost:5001'],
  ])('rejects %s = %s', async (name, value) => {
    const { options } = await folder()
    expect(await cli(['config', 'set', name, value], options)).toMatchObject({
      ...{ code: 2, stdout: '', stderr: expect.stringContaining(`error: ${name}: must `) },
    })
    expect((await cli(['config', 'get', name], options)).stdout.trim()).toBe('')
  })

  test('are listed if set', async () => {
    const { options } = await drop({ storage: 's3://art/drop' })
    expect((await cli(['config', 'get', 'storage'], options)).stdout).toBe('s3://art/drop\n')
    expect((await cli(['config', 'list'], options)).stdout).toContain('s3://art/drop')
  })

  test('are rejected in a project file, which must not redirect the credentials of its users', async () => {
    const { path, options } = await folder()
    await mkdir(path('project'))
    await writeFile(path('project/.gdnrc.json'), '{"storage": "s3://mine", "storage_endpoint": "https://evil.example"}')
    const { code, stderr } = await cli(['config', 'list'], { ...options, cwd: path('project') })
    expect(code).toBe(2)
    expect(stderr).toContain('storage')
  })

  test('require a public URL for a service other than AWS', async () => {
    const { manifest, options } = await drop({ storage: 's3://art', storage_endpoint: 'http://127.0.0.1:9' })
    const api = await fakeApi({})
    const result = await cli(
      ['batch', 'mint', manifest, ...TARGET, '--base-url', api.url, '--no-lookup', '--json'],
      options,
    )
    expect(result.code).toBe(2)
    expect(errorOf(result).hint).toContain('storage_public_url')
  })
})
