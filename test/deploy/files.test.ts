/** @module-tag slow */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { duration } from '../../src/cli/flags/common.ts'
import { MIN_FINISH_MS } from '../../src/server/main.ts'
import { readSettings, readSettingsFile } from '../../src/server/settings/read-settings.ts'
import { openStore } from '../../src/server/store/open-store.ts'
import { cli } from '../cli/harness.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { composeFile, FOLDER, filesInFolder, flagsIn, flagsOfCommands, readDeployFile } from './folder.ts'

/** Runs only if systemd is installed. */
const systemd = spawnSync('systemd-analyze', ['--version']).status === 0 ? ['systemd'] : []

let copy: string

beforeAll(async () => {
  copy = await temporaryFolder('gdn-deploy-', whenFileDone)
  await cp(FOLDER, copy, { recursive: true })
  execFileSync('sh', ['make-secrets.sh'], { cwd: copy })
})

const secret = (name: string) => readFile(join(copy, 'secrets', name), 'utf8')

/** The example with its commented network enabled. */
const withNetwork = (text: string) => text.replace(/^# ?(chains:| {2}.*)$/gm, '$1')

/** The longest time from SIGTERM to the end of a process. */
const endsWithinMs = (drain: string | undefined) => {
  const drainMs = drain === undefined ? 0 : duration(drain, '--drain')
  return drainMs + Math.max(drainMs, MIN_FINISH_MS) + 5000
}

describe('the secrets', () => {
  it('are random, readable only by their owner, and kept by a second run', async () => {
    const names = await readdir(join(copy, 'secrets'))
    const expected = Object.values(composeFile().secrets).map(({ file }) => file.replace('./secrets/', ''))
    expect(expected.filter((name) => !names.includes(name))).toEqual([])
    for (const name of names) expect((await stat(join(copy, 'secrets', name))).mode & 0o777).toBe(0o600)
    expect((await stat(join(copy, 'secrets'))).mode & 0o777).toBe(0o700)
    const password = await secret('postgres-password')
    expect(password).toMatch(/^[0-9a-f]{48}$/)
    expect(await secret('database-url')).toContain(`:${password}@`)
    expect(await secret('grafana-password')).not.toBe(password)
    execFileSync('sh', ['make-secrets.sh'], { cwd: copy })
    expect(await secret('postgres-password')).toBe(password)
  })

  it('contain the same bucket credentials for client and server, each in its own format', async () => {
    const { identities } = JSON.parse(await secret('s3.json'))
    const [{ accessKey, secretKey }] = identities[0].credentials
    expect(await secret('aws-credentials')).toBe(
      `[default]\naws_access_key_id = ${accessKey}\naws_secret_access_key = ${secretKey}\n`,
    )
    expect(secretKey).toMatch(/^[0-9a-f]{48}$/)
  })

  it('are in no published file', async () => {
    const ignored = readDeployFile('.gitignore').trim().split('\n')
    expect(ignored).toEqual(['*.tgz', 'secrets/', '.env'])
    for (const file of await filesInFolder()) {
      const text = readDeployFile(file).replace(/@sha256:[0-9a-f]{64}( AS build)?$/gm, '')
      expect([file, text.match(/[0-9a-f]{32,}|BEGIN .*KEY|password\s*[:=]\s*['"]?\w{8,}/i)?.[0]]).toEqual([
        file,
        undefined,
      ])
    }
  })
})

describe('backend.yaml', () => {
  it('is valid as generated, and all files that it names exist', async () => {
    const path = join(copy, 'secrets/backend.yaml')
    const { storage, chains } = readSettings(path)
    const { database_url_file = '' } = readSettingsFile(path)
    expect(storage).toMatchObject({ kind: 's3', credentials_file: join(copy, 'secrets/aws-credentials') })
    expect(chains.size).toBe(0)
    for (const file of ['aws-credentials', database_url_file])
      expect(existsSync(join(copy, 'secrets', file))).toBe(true)
  })

  it('is valid with its example network', async () => {
    const path = join(copy, 'with-network.yaml')
    await writeFile(path, withNetwork(readDeployFile('backend.yaml')), { mode: 0o600 })
    expect(readSettings(path).chains.get('polygon')).toMatchObject({ chainId: 137, confirmations: 12, finality: 64 })
  })
})

describe('compose.yaml', () => {
  const { services, secrets, volumes, networks } = composeFile()

  it('has two API processes and three workers behind a load balancer, with all their services', () => {
    expect(Object.keys(services).sort()).toEqual(
      ['api', 'balancer', 'bucket', 'grafana', 'make-bucket', 'postgres', 'prometheus', 'worker'].sort(),
    )
    expect([services.api?.deploy?.replicas, services.worker?.deploy?.replicas]).toEqual([2, 3])
  })

  it('names only existing files, volumes, secrets and services', () => {
    const built = ['./secrets/']
    for (const [name, { volumes: mounts = [], secrets: given = [], depends_on = [] }] of Object.entries(services)) {
      for (const source of mounts.map((mount) => mount.split(':')[0] ?? '')) {
        const there = source.startsWith('./') ? existsSync(join(FOLDER, source)) : source in volumes
        expect([name, source, there]).toEqual([name, source, true])
      }
      expect([name, given.filter((one) => !(one in secrets))]).toEqual([name, []])
      const needed = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)
      expect([name, needed.filter((one) => !(one in services))]).toEqual([name, []])
    }
    for (const { file } of Object.values(secrets)) expect(built.some((place) => file.startsWith(place))).toBe(true)
  })

  it('pins every image by version and digest', () => {
    const pinned = expect.stringMatching(/:v?\d+[\w.-]*@sha256:[0-9a-f]{64}$/)
    for (const [name, { image, build }] of Object.entries(services)) {
      if (build === undefined) expect([name, image]).toEqual([name, pinned])
    }
    const bases = [...readDeployFile('Dockerfile').matchAll(/^FROM (\S+)/gm)].map(([, base]) => base)
    expect(bases).toEqual([pinned, expect.stringMatching(/:nonroot@sha256:[0-9a-f]{64}$/)])
    expect(Number(/^postgres:(\d+)/.exec(services.postgres?.image ?? '')?.[1])).toBeGreaterThanOrEqual(16)
  })

  it.each(['api', 'worker'])('gives %s flags that gdn has, and enough time to stop', async (name) => {
    const { command = [], stop_grace_period = '' } = services[name] ?? {}
    const flags = flagsIn(command)
    const known = (await flagsOfCommands()).get(command[0] ?? '')
    expect(flags.map(([flag]) => flag).filter((flag) => !known?.has(flag))).toEqual([])
    expect(duration(stop_grace_period, '')).toBeGreaterThan(endsWithinMs(Object.fromEntries(flags)['--drain']))
  })

  it.each(['api', 'worker'])('runs %s as an unprivileged user with its configuration and a read-only root', (name) => {
    expect(services[name]).toMatchObject({
      environment: { GDN_BACKEND_CONFIG: '/run/secrets/backend.yaml' },
      user: expect.stringContaining('GDN_UID'),
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
  })

  it('trusts only the balancer for the addresses of clients', () => {
    const trusted = Object.fromEntries(flagsIn(services.api?.command ?? []))['--trust-proxy']
    expect(trusted).toBe(networks.default.ipam.config[0]?.subnet)
    expect(readDeployFile('haproxy.cfg')).toMatch(
      /del-header x-forwarded-for\n[\s\S]*set-header x-forwarded-for %\[src\]/,
    )
  })

  it('publishes ports on loopback only', () => {
    const ports = Object.values(services).flatMap(({ ports: open = [] }) => open)
    expect(ports.length).toBeGreaterThan(0)
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  it('uses the same ports in all files', () => {
    const api = Object.fromEntries(flagsIn(services.api?.command ?? []))['--port']
    const worker = Object.fromEntries(flagsIn(services.worker?.command ?? []))['--health-port']
    expect(readDeployFile('haproxy.cfg').match(/server-template api \d+ api:(\d+)/g)).toHaveLength(2)
    expect(readDeployFile('haproxy.cfg')).toContain(`api:${api} `)
    expect(readDeployFile('prometheus.yml')).toContain(`names: [api], type: A, port: ${api}`)
    expect(readDeployFile('prometheus.yml')).toContain(`names: [worker], type: A, port: ${worker}`)
    expect(services.worker?.environment?.HEALTH_PORT).toBe(worker)
    expect(readDeployFile('Dockerfile')).toContain(`HEALTH_PORT=${api}\n`)
  })
})

describe('the balancer', () => {
  it('checks /readyz, and removes a process before it stops', () => {
    const text = readDeployFile('haproxy.cfg')
    const backends = text.split(/^backend /m).slice(1)
    expect(backends.map((part) => /^\w+/.exec(part)?.[0])).toEqual(['api', 'events'])
    const drain = Object.fromEntries(flagsIn(composeFile().services.api?.command ?? []))['--drain'] ?? ''
    for (const part of backends) {
      expect(part).toMatch(/http-check send meth GET uri \/readyz\n\s+http-check expect status 200/)
      const [, inter = '', fall = ''] = /check inter (\d+)s fall (\d+)/.exec(part) ?? []
      expect(Number(inter) * Number(fall) * 1000).toBeLessThan(duration(drain, '') / 2)
    }
  })

  it('denies metrics and JSON-RPC to the public', () => {
    const denied = readDeployFile('haproxy.cfg').match(/http-request deny deny_status 404 if .*/g)
    expect(denied?.map((rule) => rule.split(' if ')[1])).toEqual([
      '{ path /metrics }',
      '{ path_beg /rpc/ } or { path /rpc }',
    ])
  })

  it('retries only requests that no process received, and keeps silent event streams open for an hour', () => {
    const text = readDeployFile('haproxy.cfg')
    expect(text.match(/retry-on .*/g)).toEqual(['retry-on conn-failure', 'retry-on conn-failure'])
    expect(text).toMatch(/use_backend events if \{ req\.hdr\(accept\) -m sub text\/event-stream \}/)
    expect(text).toMatch(/backend events[\s\S]*timeout server 1h/)
  })
})

describe('the README', () => {
  const blocks = [...readDeployFile('README.md').matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text)
  const keys = [...blocks.join('').matchAll(/\bgdn (key create .*)$/gm)].map(([, line = '']) =>
    line.replace(/--data-dir \S+ /, '').split(' '),
  )

  it('creates a key with valid commands', async () => {
    expect(keys).toHaveLength(2)
    for (const [index, words] of keys.entries()) {
      const dataDir = join(copy, `data-${index}`)
      await mkdir(dataDir)
      await (await openStore(join(dataDir, 'gdn.db'))).close()
      const { code, stderr } = await cli([...words, '--data-dir', dataDir])
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining('the key shop of me@example.com') })
    }
  })

  it('names only existing files of the repository', () => {
    const words = blocks.join('').match(/[\w./-]*(?:\.sh|\.yaml|systemd\/)/g) ?? []
    const named = words.filter((word) => !word.startsWith('/'))
    expect(named).toContain('./make-secrets.sh')
    expect(named.filter((name) => !existsSync(join(FOLDER, name)))).toEqual([])
  })
})

describe('Dockerfile', () => {
  it('installs the npm package of this version, on a Node version that gdn supports', async () => {
    const { version, engines } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(readDeployFile('Dockerfile')).toContain(`ARG PACKAGE=gdn-${version}.tgz`)
    const [, node = ''] = /^FROM node:(\d+)-slim@/m.exec(readDeployFile('Dockerfile')) ?? []
    expect(Number(node)).toBeGreaterThanOrEqual(Number(/\d+/.exec(engines.node)?.[0]))
    expect(readDeployFile('.dockerignore')).toBe('*\n!*.tgz\n')
  })

  it('runs as an unprivileged user, and is healthy when it is ready', () => {
    expect(readDeployFile('Dockerfile')).toMatch(/^USER 65532:65532$/m)
    const [, json = ''] = /HEALTHCHECK[^\n]*\\\n\s+CMD (\[.*\])$/m.exec(readDeployFile('Dockerfile')) ?? []
    const [program, flag, script = ''] = JSON.parse(json) as string[]
    expect([program, flag]).toEqual(['node', '-e'])
    expect(script).toContain('/readyz')
    const { status } = spawnSync(process.execPath, ['-e', script], { env: { HEALTH_PORT: '1' } })
    expect(status).toBe(1)
  })
})

describe.each(['gdn-api@.service', 'gdn-worker@.service'])('%s', (unit) => {
  const text = readDeployFile(`systemd/${unit}`)
  const commandLine = (/^ExecStart=(.*)$/m.exec(text)?.[1] ?? '').split(' ')
  const settings = new Map(
    [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value] as const),
  )

  it('uses flags that gdn has, and leaves enough time to stop', async () => {
    const known = (await flagsOfCommands()).get(commandLine[1] ?? '')
    const flags = flagsIn(commandLine)
    expect(flags.length).toBeGreaterThan(3)
    expect(flags.map(([flag]) => flag).filter((flag) => !known?.has(flag))).toEqual([])
    const ends = endsWithinMs(Object.fromEntries(flags)['--drain'])
    expect(Number(settings.get('TimeoutStopSec')) * 1000).toBeGreaterThan(ends)
  })

  it('passes every file in backend.yaml as a credential, and no password to an API process', () => {
    const handed = [...text.matchAll(/^#?LoadCredential=([\w.-]+):\/etc\/gdn\/([\w.-]+)$/gm)].map(([, name, file]) => {
      expect(name).toBe(file)
      return name
    })
    const named = [...withNetwork(readDeployFile('backend.yaml')).matchAll(/(?:_file|keystore): ([\w.-]+)/g)].map(
      ([, one]) => one,
    )
    const first = named.filter((name) => !name?.startsWith('operator-2'))
    const expected = ['backend.yaml', ...first].filter((name) => !unit.includes('api') || !name?.includes('-password'))
    expect(new Set(handed)).toEqual(new Set(expected))
  })

  it('can write only to its own folder, gains no privileges, and is restarted', () => {
    expect(Object.fromEntries(settings)).toMatchObject({
      DynamicUser: 'yes',
      NoNewPrivileges: 'yes',
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      CapabilityBoundingSet: '',
      Restart: 'always',
    })
  })

  it.each(systemd)('is valid for %s', async () => {
    const path = join(copy, unit)
    await writeFile(path, text.replace(/^ExecStart=gdn/m, `ExecStart=${process.execPath}`))
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' })
    expect({ status, stderr: linesAbout(unit, stderr) }).toEqual({ status: 0, stderr: [] })
  })
})

/** Leaves out messages about the machine's own units. */
const linesAbout = (unit: string, said: string) =>
  said.split('\n').filter((line) => line.includes(unit.replace('.service', '')))
