/** @module-tag slow */
import { createHash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTransport } from '../../../src/client/create-transport.ts'
import { createIpfsNodeStorage } from '../../../src/client/storage/ipfs-node.ts'
import { createS3Storage, type S3Options } from '../../../src/client/storage/s3.ts'
import { Secret } from '../../../src/core/secret.ts'
import { readAwsCredentials } from '../../../src/object-store/aws-credentials.ts'
import { startIpfsNode } from '../../helpers/ipfs-node-stand-in.ts'
import { S3_KEYS, type S3StandIn, signatureOf, startS3 } from '../../helpers/s3-stand-in.ts'

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(3000, 7)])
const PNG_SHA256 = createHash('sha256').update(PNG).digest('hex')

let dir: string
const open: { close(): Promise<void> }[] = []
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'gdn-storage-'))
})
afterEach(async () => {
  for (const it of open.splice(0).reverse()) await it.close()
  await rm(dir, { recursive: true, force: true })
})

async function line() {
  const transport = await createTransport('bulk')
  open.push(transport)
  const clock = { now: () => 0, sleep: async () => {}, random: () => 0 }
  return { transport, clock, userAgent: 'gdn/test' }
}

describe('an S3 bucket', () => {
  let s3: S3StandIn
  beforeEach(async () => {
    s3 = await startS3(['art'])
    open.push(s3)
  })

  async function storage(more: Partial<S3Options> = {}) {
    return createS3Storage({
      ...(await line()),
      bucket: 'art',
      prefix: 'drop one/',
      endpoint: s3.url,
      region: 'us-east-1',
      publicUrl: 'https://files.example/a',
      credentials: {
        accessKeyId: S3_KEYS.accessKeyId,
        secretAccessKey: new Secret(S3_KEYS.secret),
        sessionToken: null,
      },
      ...more,
    })
  }

  test('the stand-in checks signatures as AWS does in its published example', () => {
    const headers = {
      host: 'examplebucket.s3.amazonaws.com',
      range: 'bytes=0-9',
      'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'x-amz-date': '20130524T000000Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=x',
    }
    expect(signatureOf({ method: 'GET', url: '/test.txt', headers }, S3_KEYS.secret)).toBe(
      'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    )
  })

  test('stores a file under the hash of its content, with its type, and returns its public URL', async () => {
    const path = join(dir, 'Night & Day.PNG')
    await writeFile(path, PNG)
    const { url } = await (await storage()).upload(path, 'Night & Day.PNG')
    expect(url).toBe(`https://files.example/a/drop%20one/${PNG_SHA256}.png`)
    expect([...s3.objects]).toEqual([[`art/drop one/${PNG_SHA256}.png`, { body: PNG, contentType: 'image/png' }]])
  })

  test('does not upload an existing file again, also in another run, but replaces an incomplete one', async () => {
    await (await storage()).upload(PNG, 'a.png')
    await (await storage()).upload(PNG, 'b.png')
    expect(s3.seen.filter((one) => one.startsWith('PUT'))).toHaveLength(1)
    s3.objects.set(`art/drop one/${PNG_SHA256}.png`, { body: PNG.subarray(0, 9), contentType: '' })
    await (await storage()).upload(PNG, 'c.png')
    expect(s3.objects.get(`art/drop one/${PNG_SHA256}.png`)?.body).toEqual(PNG)
  })

  test('accepts credentials that may put but not list', async () => {
    s3.answer = ({ method }) => (method === 'HEAD' ? { status: 403 } : null)
    await (await storage()).upload(PNG, 'a.png')
    expect(s3.objects.size).toBe(1)
  })

  test('sends the signed session token of temporary credentials', async () => {
    const lending = await startS3(['art'], { token: 'lent/token==' })
    open.push(lending)
    const credentials = {
      accessKeyId: S3_KEYS.accessKeyId,
      secretAccessKey: new Secret(S3_KEYS.secret),
      sessionToken: new Secret('lent/token=='),
    }
    await (await storage({ endpoint: lending.url, credentials })).upload(PNG, 'a.png')
    expect(lending.objects.size).toBe(1)
  })

  test('retries while the bucket is busy, and signs each attempt again', async () => {
    let busy = 2
    s3.answer = ({ method }) => (method === 'PUT' && busy-- > 0 ? { status: 503, code: 'SlowDown' } : null)
    await (await storage()).upload(PNG, 'a.png')
    expect(s3.objects.size).toBe(1)
  })

  const wrong = { accessKeyId: S3_KEYS.accessKeyId, secretAccessKey: new Secret('wrong'), sessionToken: null }
  test.each<[string, Partial<S3Options>, string, RegExp]>([
    ['a wrong secret', { credentials: wrong }, 'forbidden', /SignatureDoesNotMatch/],
    ['a missing bucket', { bucket: 'nowhere' }, 'invalid_config', /the bucket nowhere does not exist/],
    ['another region', { region: 'eu-west-1' }, 'invalid_config', /not in the region eu-west-1/],
  ])('reports %s with a hint and without secrets', async (_what, more, code, message) => {
    const error: unknown = await (await storage(more)).upload(PNG, 'a.png').catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code, message: expect.stringMatching(message), hint: expect.stringMatching(/./) })
    expect(JSON.stringify(error)).not.toMatch(/wrong|wJalr/)
  })

  test('ends an upload on Ctrl-C', async () => {
    const stop = new AbortController()
    s3.answer = () => {
      stop.abort(new Error('stopped'))
      return null
    }
    await expect((await storage()).upload(PNG, 'a.png', { signal: stop.signal })).rejects.toThrow('stopped')
  })
})

describe('AWS credentials', () => {
  const secretOf = async (env: NodeJS.ProcessEnv) => {
    const { accessKeyId, secretAccessKey, sessionToken } = await readAwsCredentials({ HOME: dir, ...env })
    return [accessKeyId, secretAccessKey.reveal(), sessionToken?.reveal() ?? null]
  }
  const INI =
    '# comment\n[default]\naws_access_key_id = ID\naws_secret_access_key=SE=CRET\n\n[ lent ]\r\nAWS_ACCESS_KEY_ID=L\r\naws_secret_access_key=LS\r\naws_session_token=T\r\n'

  test('come from the environment, then from the profile in the shared file', async () => {
    await mkdir(join(dir, '.aws'))
    await writeFile(join(dir, '.aws', 'credentials'), INI)
    expect(await secretOf({})).toEqual(['ID', 'SE=CRET', null])
    expect(await secretOf({ AWS_PROFILE: 'lent' })).toEqual(['L', 'LS', 'T'])
    const named = { AWS_ACCESS_KEY_ID: 'E', AWS_SECRET_ACCESS_KEY: 'ES', AWS_SESSION_TOKEN: 'ET' }
    expect(await secretOf(named)).toEqual(['E', 'ES', 'ET'])
  })

  test('AWS credentials that are missing are reported with the names of their variables', async () => {
    await expect(secretOf({})).rejects.toMatchObject({
      code: 'unauthorized',
      hint: expect.stringContaining('AWS_ACCESS_KEY_ID'),
    })
  })
})

describe('an IPFS node', () => {
  test.each([
    ['of one block', PNG],
    ['of many blocks', randomBytes(700_000)],
  ])('stores a file %s, and returns its CID as the URL', async (_what, content) => {
    const node = await startIpfsNode(dir)
    open.push(node)
    const storage = createIpfsNodeStorage({ ...(await line()), api: node.url })
    const { url } = await storage.upload(content, 'a "b".png')
    expect(url).toMatch(/^ipfs:\/\/baf[a-z2-7]{56}$/)
    expect(await storage.upload(content, 'c.png')).toEqual({ url })
    expect(node.seen[0]).toContain('pin=true')
  })

  test.each<[string, (line: string) => string]>([
    [
      'another CID than that of the content',
      () => '{"Hash":"bafkreifjjcie6lypi6ny7amxnfftagclbuxndqonfipmb64f2km2devei4"}',
    ],
    ['no CID', () => '{"Hash":"../x"}'],
    ['nothing', () => ''],
    ['a page', () => '<html>'],
  ])('rejects a response with %s', async (_what, answer) => {
    const node = await startIpfsNode(dir, answer)
    open.push(node)
    const storage = createIpfsNodeStorage({ ...(await line()), api: node.url })
    await expect(storage.upload(PNG, 'a.png')).rejects.toMatchObject({ code: 'bad_answer' })
  })

  test('is named if it cannot be reached', async () => {
    const storage = createIpfsNodeStorage({ ...(await line()), api: 'http://127.0.0.1:9' })
    await expect(storage.upload(PNG, 'a.png')).rejects.toMatchObject({ code: 'unreachable' })
  })
})
