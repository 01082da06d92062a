/** @module-tag slow */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { generatePrivateKey } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../helpers/backend.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { writeKeystore, writePassword } from '../helpers/keystore-file.ts'
import { SELF_SIGNED, SELF_SIGNED_TOO } from '../helpers/self-signed.ts'
import { serve } from '../helpers/served-backend.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-face-'))
})
afterEach(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))

const file = async (name: string, content: string, mode = 0o600) => {
  await writeFile(join(folder, name), content, { mode })
  return join(folder, name)
}

/** The text output of `gdn serve` until it is ready, or until it exits. */
const says = (...flags: string[]) => saysUntil('Press Ctrl-C to stop', ...flags)

/** The same until it has printed a text as well. */
async function saysUntil(last: string, ...flags: string[]): Promise<string> {
  const argv = [GDN_BIN, 'serve', '--port', '0', '--data-dir', join(folder, 'data'), ...flags]
  const child = spawn(process.execPath, argv, {
    env: { ...process.env, HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let text = ''
  child.stderr.on('data', (chunk) => {
    text += chunk
  })
  const gone = once(child, 'exit')
  await until(
    async () => (text.includes('Press Ctrl-C to stop') && text.includes(last)) || child.exitCode !== null,
    (done) => done,
  )
  child.kill('SIGTERM')
  await gone
  return text
}

async function shownName(url: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return String(subject.CN)
}

describe('the text output of gdn serve', () => {
  it('does not mention other machines while it listens on loopback only', async () => {
    expect(await says()).not.toMatch(/other machines/i)
  })

  it('warns that other machines can connect, without encryption, and that they cannot use the local key', async () => {
    const text = await says('--host', '0.0.0.0')
    expect(text).toMatch(/Other machines can reach this backend \(--host\)/)
    expect(text).toMatch(/not encrypted\. Add --tls-cert and --tls-key/)
    expect(text).toMatch(/cannot use the key of the local account\. Run `gdn key create`/)
  })

  it('says that other machines can use the local key with --allow-local-key', async () => {
    const cert = await file('cert.pem', SELF_SIGNED.cert)
    const key = await file('key.pem', SELF_SIGNED.key)
    const text = await says('--host', '0.0.0.0', '--allow-local-key', '--tls-cert', cert, '--tls-key', key)
    expect(text).toMatch(/Other machines can use the key of the local account \(--allow-local-key\)/)
    expect(text).not.toMatch(/not encrypted/)
    expect(text).toMatch(/https:\/\/0\.0\.0\.0:\d+/)
  })

  describe('with a node that does not respond', () => {
    const WAITS = 'the network is unavailable, and its work is delayed'

    beforeEach(async () => {
      await mkdir(join(folder, 'data'), { mode: 0o700 })
      await writePassword(join(folder, 'data', 'password'))
      await writeKeystore(join(folder, 'data', 'operator.json'), generatePrivateKey())
      const base = {
        rpc_urls: ['http://127.0.0.1:1/?apikey=hunter2hunter2'],
        operators: [{ keystore: 'operator.json', password_file: 'password' }],
      }
      await file('data/backend.yaml', JSON.stringify({ chains: { base } }))
    })

    it('prints that its network waits, once and as a line for people', async () => {
      const lines = (await saysUntil(WAITS)).split('\n').filter((line) => line.includes('base'))
      expect(lines).toEqual([expect.stringMatching(new RegExp(`^\\d{4}-.*  base: ${WAITS}: .*127\\.0\\.0\\.1:1`))])
      expect(lines.join()).not.toContain('hunter2')
    })

    it('prints lines of JSON with --log-level', async () => {
      const lines = (await saysUntil(WAITS, '--log-level', 'info')).split('\n').filter((line) => line.includes(WAITS))
      expect(lines.map((line) => JSON.parse(line))).toEqual([
        expect.objectContaining({ blockchain: 'base', msg: WAITS }),
      ])
    })

    it('writes them only to the file with --log-file', async () => {
      const log = join(folder, 'log')
      expect(await says('--log-file', log)).not.toContain(WAITS)
    })
  })

  it('names the problems of its flags', async () => {
    const cert = await file('cert.pem', SELF_SIGNED.cert)
    const key = await file('key.pem', SELF_SIGNED.key, 0o644)
    expect(await says('--tls-cert', cert)).toMatch(/--tls-key.*is required with --tls-cert/)
    expect(await says('--tls-cert', cert, '--tls-key', key)).toMatch(
      /other users can read the private key[\s\S]*chmod 600/,
    )
    expect(await says('--trust-proxy', 'everybody')).toMatch(/--trust-proxy.*is not an IP address/)
    expect(await says('--max-connections', '0')).toMatch(/--max-connections/)
  })
})

describe('gdn serve --json', () => {
  it('reports in the ready line that other machines can connect', async () => {
    const { ready, end, child } = serve(join(folder, 'data'), ['--host', '0.0.0.0'])
    const line = once(child.stdout ?? child, 'data').then(([bytes]) => JSON.parse(String(bytes)))
    await ready
    expect(await line).toMatchObject({ event: 'ready', exposed: true })
    expect(await end('SIGTERM')).toBe(0)
  })

  it('reloads certificate and key at SIGHUP, and continues', async () => {
    const cert = await file('cert.pem', SELF_SIGNED.cert)
    const key = await file('key.pem', SELF_SIGNED.key)
    const { ready, end, child } = serve(join(folder, 'data'), ['--tls-cert', cert, '--tls-key', key])
    const { url } = await ready
    expect(url).toMatch(/^https:/)
    expect(await shownName(url)).toBe('example.invalid')
    await file('cert.pem', SELF_SIGNED_TOO.cert)
    await file('key.pem', SELF_SIGNED_TOO.key)
    child.kill('SIGHUP')
    const name = await until(
      () => shownName(url),
      (shown) => shown === 'second.invalid',
    )
    expect(name).toBe('second.invalid')
    expect(await end('SIGTERM')).toBe(0)
  })

  it('exits at SIGHUP without a certificate', async () => {
    const { ready, end } = serve(join(folder, 'data'))
    await ready
    expect(await end('SIGHUP')).toBe(0)
  })
})
