/** @module-tag slow */
import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { connect, type SecureVersion } from 'node:tls'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestBackend, type TestBackend, temporaryDataDir } from '../../helpers/backend.ts'
import { SELF_SIGNED, SELF_SIGNED_TOO } from '../../helpers/self-signed.ts'

let dataDir: string
let files: { certFile: string; keyFile: string }
let backend: TestBackend | undefined

beforeEach(async () => {
  dataDir = await temporaryDataDir()
  files = { certFile: join(dataDir, 'cert.pem'), keyFile: join(dataDir, 'key.pem') }
  await put(SELF_SIGNED)
})
afterEach(async () => {
  await backend?.close()
  backend = undefined
})

async function put({ cert, key }: { cert: string; key: string }): Promise<void> {
  await writeFile(files.certFile, cert)
  await writeFile(files.keyFile, key, { mode: 0o600 })
}

async function start(): Promise<TestBackend> {
  backend = await startTestBackend(dataDir, { tls: files })
  return backend
}

/** The name in the certificate that the server presents. */
async function shownName(port: number, maxVersion?: SecureVersion): Promise<string> {
  const options =
    maxVersion === undefined ? {} : { minVersion: 'TLSv1' as const, maxVersion, ciphers: 'ALL:@SECLEVEL=0' }
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

const portOf = ({ url }: { url: string }) => Number(new URL(url).port)

function get(url: string, host: string): Promise<{ status: number; headers: NodeJS.Dict<string | string[]> }> {
  return new Promise((resolve, reject) => {
    request(url, { rejectUnauthorized: false, headers: { host } }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }))
    })
      .on('error', reject)
      .end()
  })
}

describe('with certificate and key', () => {
  it('the API and its signed URLs use https', async () => {
    const { url } = await start()
    expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/)
    expect((await get(`${url}/healthz`, 'localhost')).status).toBe(200)
    expect(await shownName(portOf({ url }))).toBe('example.invalid')
  })

  it('plain HTTP on its port gets no response and does not affect other clients', async () => {
    const { url } = await start()
    const socket = connectPlain({ host: '127.0.0.1', port: portOf({ url }) })
    let answer = ''
    socket.on('data', (bytes) => {
      answer += bytes
    })
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
    await once(socket, 'close')
    expect(answer).not.toContain('HTTP/1.1 200')
    expect((await get(`${url}/healthz`, 'localhost')).status).toBe(200)
  })

  it('insecure versions of TLS are rejected', async () => {
    const { url } = await start()
    for (const version of ['TLSv1', 'TLSv1.1'] as const) {
      await expect(shownName(portOf({ url }), version)).rejects.toThrow()
    }
    expect(await shownName(portOf({ url }), 'TLSv1.2')).toBe('example.invalid')
  })

  it('sends Strict-Transport-Security, except for loopback names, which other servers use too', async () => {
    const { url } = await start()
    await backend?.close()
    backend = await startTestBackend(dataDir, { tls: files, allowedHosts: ['nft.example.com'] })
    expect(url).not.toBe('')
    const told = async (host: string) =>
      (await get(`${backend?.url}/healthz`, host)).headers['strict-transport-security']
    expect(await told('nft.example.com')).toBe('max-age=31536000')
    for (const host of ['localhost', '127.0.0.1:4680', '[::1]']) expect(await told(host)).toBeUndefined()
  })
})

describe('renewed certificate files', () => {
  it('are used for new connections after a reload', async () => {
    const { reloadTls, url } = await start()
    await put(SELF_SIGNED_TOO)
    expect(await shownName(portOf({ url }))).toBe('example.invalid')
    await reloadTls?.()
    expect(await shownName(portOf({ url }))).toBe('second.invalid')
    for (const version of ['TLSv1', 'TLSv1.1'] as const) {
      await expect(shownName(portOf({ url }), version)).rejects.toThrow()
    }
  })

  it('renewed certificate files that are invalid are not used: the old ones stay, and the log has the reason', async () => {
    const { reloadTls, url, log } = await start()
    await writeFile(files.certFile, SELF_SIGNED_TOO.cert)
    await reloadTls?.()
    expect(await shownName(portOf({ url }))).toBe('example.invalid')
    expect(log.join('')).toMatch(/is not the key of .*the old one stays/)
  })
})

describe('the server does not start with', () => {
  const refused = async (message: RegExp, flag: string) => {
    await expect(start()).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringMatching(message),
      hint: expect.any(String),
      place: { flag },
    })
  }

  it('a key that others may read, and the hint fixes it', async () => {
    await chmod(files.keyFile, 0o644)
    await expect(start()).rejects.toMatchObject({
      place: { flag: '--tls-key' },
      hint: `Run \`chmod 600 ${files.keyFile}\`.`,
    })
  })

  it.each([0o640, 0o604, 0o660, 0o610])('a key of mode %o', async (mode) => {
    await chmod(files.keyFile, mode)
    await refused(/other users can read the private key/, '--tls-key')
  })

  it('a missing file', async () => {
    files.certFile += '.missing'
    await refused(/cert\.pem\.missing does not exist/, '--tls-cert')
  })

  it('a key of another certificate', async () => {
    await put({ cert: SELF_SIGNED.cert, key: SELF_SIGNED_TOO.key })
    await refused(/key\.pem is not the key of .*cert\.pem/, '--tls-key')
  })

  it('an encrypted key', async () => {
    await put({ cert: SELF_SIGNED_TOO.cert, key: SELF_SIGNED_TOO.encryptedKey })
    await refused(/key\.pem is encrypted/, '--tls-key')
  })

  it.each(['', 'not PEM', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'])(
    'an invalid certificate: %j',
    async (cert) => {
      await put({ cert, key: SELF_SIGNED.key })
      await refused(/can't be used/, '--tls-cert')
    },
  )
})
