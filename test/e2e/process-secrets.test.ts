import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { lstatSync, readFileSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { platform } from 'node:os'
import { join } from 'node:path'
import { execa, type Options, type ResultPromise } from 'execa'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { npmRegistry } from '../../src/cli/update/check.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { filesHolding } from '../helpers/leaks.ts'
import { processesWith } from '../helpers/processes.ts'

const NODE = process.env.GDN_TEST_NODE || process.execPath
const CANARY = `canary-${crypto.randomUUID()}`

/** Secrets as in a developer's shell or in CI. */
const SECRETS = {
  GDN_API_KEY: `${CANARY}-api`,
  AWS_SECRET_ACCESS_KEY: `${CANARY}-s3`,
  AWS_SESSION_TOKEN: `${CANARY}-session`,
  HTTPS_PROXY: `http://user:${CANARY}-proxy@127.0.0.1:9`,
  GITHUB_TOKEN: `${CANARY}-github`,
  DATABASE_PASSWORD: `${CANARY}-database`,
  NODE_AUTH_TOKEN: `${CANARY}-npm`,
}

let home: GdnHome
const running: ResultPromise[] = []

beforeEach(async () => {
  home = await makeHome()
})
afterEach(async () => {
  for (const child of running.splice(0)) {
    child.kill('SIGKILL')
    await child
  }
  await home.run(['local', 'stop'])
  // The chain node of a backend that was killed.
  for (const pid of platform() === 'linux' ? processesWith(home.dir) : []) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended in the meantime.
    }
  }
  await home.remove()
})

/** A backend in the foreground. Resolves when it is ready. */
async function serve(
  env: Record<string, string>,
  flags: readonly string[] = [],
  [file, ...words]: readonly [string, ...string[]] = [NODE],
): Promise<{ child: ResultPromise; url: string; apiKey: string; dataDir: string }> {
  const dataDir = join(home.dir, 'served')
  const args = [...words, GDN_BIN, 'serve', '--json', '--port', '0', '--data-dir', dataDir, ...flags]
  const options: Options = { env: { ...home.env, ...env }, extendEnv: false, reject: false, cwd: home.dir }
  const child = execa(file, args, options)
  running.push(child)
  const [line] = await once(child.stdout ?? process.stdin, 'data')
  const { url, api_key } = JSON.parse(String(line))
  return { child, url, apiKey: api_key, dataDir }
}

const mintOne = async (url: string, apiKey: string) => {
  const at = { env: { GDN_BASE_URL: url, GDN_API_KEY: apiKey } }
  const wallet = `0x${'1'.repeat(40)}`
  const made = await home.json<{ contract_address: string }>(
    ['collection', 'create', '--name', 'Tide', '-b', 'polygon', '--wallet', wallet],
    at,
  )
  await home.json(
    ['nft', 'mint', '--title', 'Dawn', '-c', made.contract_address, '-b', 'polygon', '--receiver', wallet],
    at,
  )
}

describe('the environment of a process that gdn starts', () => {
  test('contains no secret, and neither does the process list', async () => {
    const database = `postgres://user:${CANARY}-database@127.0.0.1:9/gdn`
    const env = { ...SECRETS, GDN_DATABASE_URL: database, GDN_DATABASE_DIRECT_URL: database }
    const { code, stderr } = await home.run(['local', 'start', '--port', '0'], { env })
    expect({ code, stderr }).toMatchObject({ code: 0 })
    const { url, pid } = await home.json<{ url: string; pid: number }>(['local', 'status'])
    const key = (await readFile(join(home.dir, 'data/gdn/local/api-key'), 'utf8')).trim()
    await mintOne(url, key)
    if (platform() === 'linux') {
      expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).toContain(`HOME=${home.dir}`)
      expect(processesWith(home.dir)).toContain(pid)
      expect(processesWith(home.dir).length).toBeGreaterThan(1)
    }
    for (const secret of [CANARY, key]) expect(processesWith(secret)).toEqual([])
  })

  test('contains no secret when npm is called for its registry', async () => {
    const bin = join(home.dir, 'bin')
    await mkdir(bin)
    await writeFile(join(bin, 'npm'), `#!/bin/sh\nenv > ${home.dir}/seen\necho https://registry.example/\n`)
    await chmod(join(bin, 'npm'), 0o755)
    const env = {
      ...home.env,
      ...SECRETS,
      npm_config_registry: 'https://x.example',
      PATH: `${bin}:${process.env.PATH}`,
    }
    expect(String(await npmRegistry(env))).toBe('https://registry.example/')
    const seen = await readFile(join(home.dir, 'seen'), 'utf8')
    expect(seen).toContain('npm_config_registry=https://x.example')
    expect(seen).not.toContain(CANARY)
  })

  test('is the user’s own for a command of local exec, plus the backend’s key, with the same limits and umask', async () => {
    const script = 'umask; cat /proc/self/coredump_filter 2>/dev/null; env'
    const run = (args: string[]) =>
      execa('sh', ['-c', 'umask 027; exec "$@"', 'sh', ...args], { env: { ...home.env, ...SECRETS }, extendEnv: false })
    const bare = (await run(['sh', '-c', script])).stdout.split('\n')
    const under = (await run([NODE, GDN_BIN, 'local', 'exec', '--', 'sh', '-c', script])).stdout.split('\n')
    const isSame = (line: string) => !/^(?:GDN_|_=|PWD|SHLVL|OLDPWD)/.test(line)
    expect(under.filter(isSame).sort()).toEqual(bare.filter(isSame).sort())
    expect(under.find((line) => line.startsWith('GDN_API_KEY='))).toMatch(/^GDN_API_KEY=gdn_/)
  })
})

describe('the memory of a backend', () => {
  test('is not written to a core file', async () => {
    const limits = 'ulimit -c unlimited 2>/dev/null; exec "$@"'
    const { child, url, apiKey } = await serve(SECRETS, [], ['sh', '-c', limits, 'sh', NODE])
    await mintOne(url, apiKey)
    if (platform() === 'linux') {
      expect(readFileSync(`/proc/${child.pid}/coredump_filter`, 'utf8').trim()).toMatch(/^0+$/)
    }
    child.kill('SIGABRT')
    await child
    // Not every system writes one here.
    for (const name of (await readdir(home.dir)).filter((name) => name.startsWith('core'))) {
      const bytes = await readFile(join(home.dir, name))
      for (const secret of [CANARY, apiKey]) expect(bytes.includes(secret)).toBe(false)
    }
  })

  test('holds no secret of the environment in a diagnostic report of Node.js', async () => {
    const reports = join(home.dir, 'reports')
    await mkdir(reports)
    const { child } = await serve({
      ...SECRETS,
      NODE_OPTIONS: `--report-on-signal --report-signal=SIGUSR2 --report-directory=${reports}`,
    })
    child.kill('SIGUSR2')
    await expect.poll(async () => (await readdir(reports)).length).toBe(1)
    await expect
      .poll(async () => (await readFile(join(reports, (await readdir(reports))[0] ?? ''), 'utf8')).length)
      .toBeGreaterThan(1000)
    // Only those that gdn knows. Newer Node.js versions have --report-exclude-env for the rest of an environment.
    for (const name of ['api', 's3', 'session', 'proxy']) {
      expect(await filesHolding(reports, `${CANARY}-${name}`), name).toEqual([])
    }
  })

  test.skipIf(platform() === 'win32')('is not exposed by a debugger that a signal opens', async () => {
    const { child, url } = await serve({})
    let stderr = ''
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    child.kill('SIGUSR1')
    for (let i = 0; i < 5; i++) expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect(stderr).not.toContain('Debugger')
  })
})

test.each(['000', '077'])(
  'a backend under a umask of %s creates files with mode 0600 and folders with 0700',
  async (umask) => {
    const log = ['--log-file', join(home.dir, 'serve.log')]
    const { child, url, apiKey, dataDir } = await serve({}, log, ['sh', '-c', `umask ${umask}; exec "$@"`, 'sh', NODE])
    await mintOne(url, apiKey)
    const check = async (): Promise<string[]> =>
      (await readdir(dataDir, { recursive: true, withFileTypes: true }))
        .map((entry) => join(entry.parentPath, entry.name))
        .concat(dataDir, join(home.dir, 'serve.log'))
        .flatMap((path) => {
          const at = lstatSync(path)
          const isTight = at.isDirectory() ? (at.mode & 0o7777) === 0o700 : (at.mode & 0o7177) === 0
          return isTight ? [] : [`${path} ${at.mode.toString(8)}`]
        })
    expect(await check()).toEqual([])
    child.kill('SIGTERM')
    await child
    expect(await check()).toEqual([])
    const names = execFileSync('find', [dataDir, '-type', 'f'], { encoding: 'utf8' })
    for (const name of ['gdn.db', 'api-key', 'signers.json', 'url-secret']) expect(names).toContain(name)
  },
)
