/** @module-tag slow */
import { execFile, spawnSync } from 'node:child_process'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gate } from '../helpers/gate.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { startHttpServer } from '../helpers/http-server.ts'

let home: GdnHome
beforeAll(async () => {
  home = await makeHome()
})
afterAll(() => home.remove())

test.each([['--version'], ['-V'], ['version']])('gdn %s prints the version and nothing else', async (word) => {
  const { code, stdout, stderr } = await home.run([word])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test.each([[[]], [['--help']], [['-h']], [['help']]])('gdn %j prints the help to stdout', async (argv) => {
  const { code, stdout, stderr } = await home.run(argv)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toContain('EXAMPLES')
})

test('data goes to stdout and everything else to stderr', async () => {
  const { code, stdout, stderr } = await home.run(['nft', 'show', 'x', '--local'])
  expect({ code, stdout }).toEqual({ code: 6, stdout: '' })
  expect(stderr).toContain('gdn local start')
  const address = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
  expect(await home.run(['wallet', 'add', 'bob', address, '-o', 'csv', '--fields', 'name,address'])).toEqual({
    code: 0,
    stdout: `name,address\r\nbob,${address}\r\n`,
    stderr: `@bob is ${address}.\n`,
  })
})

test.each(['--help', 'nft --help'])(
  'gdn %s has colors with FORCE_COLOR, unless NO_COLOR is set and not empty',
  async (words) => {
    const help = async (env: Record<string, string>) => (await home.run(words.split(' '), { env })).stdout
    expect(await help({ FORCE_COLOR: '1', NO_COLOR: '' })).toContain('\u001b[')
    expect(await help({ FORCE_COLOR: '1', NO_COLOR: '1' })).not.toContain('\u001b[')
  },
)

test('version and help take at most three times the start of Node: 90 ms on a machine where Node takes 30', () => {
  const time = (args: string[]) => {
    const start = performance.now()
    spawnSync(process.execPath, args, { env: home.env, cwd: home.dir })
    return performance.now() - start
  }
  const commands = [['--version'], ['--help']]
  const bare: number[] = []
  const times = commands.map((): number[] => [])
  const slowest = () => Math.max(...times.map((of) => Math.min(...of))) / Math.min(...bare)
  // Compares the fastest of several tries, because a busy machine slows many of them down.
  for (let i = 0; i < 4 || (slowest() >= 3 && i < 40); i++) {
    bare.push(time(['-e', '0']))
    for (const [at, args] of commands.entries()) times[at]?.push(time([GDN_BIN, ...args]))
  }
  expect(slowest()).toBeLessThan(3)
})

test('stderr is empty in JSON mode, except for the error line', async () => {
  const { code, stderr } = await home.run(['nft', 'show', 'x', '--local', '--json'])
  expect(code).toBe(6)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(Object.keys(JSON.parse(stderr).error)).toEqual(['code', 'message', 'hint', 'details'])
})

test.each(['--version', '--help', 'nft --help', 'config path'])('gdn %s reports a full disk', async (words) => {
  const script = `"${process.execPath}" "${GDN_BIN}" ${words} > /dev/full`
  const result = await new Promise((resolve) => {
    execFile('bash', ['-c', script], { env: home.env }, (error, _, stderr) => resolve({ code: error?.code, stderr }))
  })
  expect(result).toEqual({ code: 1, stderr: "error: can't write to stdout: no space left on the disk\n" })
})

test.each(['--help', 'nft mint --help'])('gdn %s ignores a reader that closes the pipe early', async (words) => {
  const script = `"${process.execPath}" "${GDN_BIN}" ${words} | true; echo "\${PIPESTATUS[0]}"`
  const stdout = await new Promise<string>((resolve, reject) => {
    execFile('bash', ['-c', script], { env: home.env }, (error, out, err) =>
      error || err ? reject(error ?? err) : resolve(out),
    )
  })
  expect(stdout).toBe('0\n')
})

test('a closed stdout or a missing home directory causes no crash', async () => {
  const run = (script: string) =>
    new Promise<{ code: number; err: string }>((resolve) => {
      const child = execFile('bash', ['-c', script], { env: { PATH: home.env.PATH } }, (_error, _out, err) =>
        resolve({ code: child.exitCode ?? -1, err }),
      )
    })
  const gdn = `"${process.execPath}" "${GDN_BIN}"`
  expect((await run(`${gdn} --version >&-`)).err).not.toContain('    at ')
  expect(await run(`HOME=/nonexistent/none ${gdn} config list`)).toMatchObject({ code: 0 })
})

test.each<[string[], number, string]>([
  [['init'], 2, '--hosted'],
  [['auth', 'login', '--base-url', 'https://a.test'], 2, '--key-file'],
  [['wallet', 'generate', '--email', 'a@example.com', '--base-url', 'https://a.test'], 2, '--password-file'],
  [['collection', 'create'], 2, '--name'],
])('without /dev/tty, gdn %j does not wait for an answer, and names the flag', async (argv, code, flag) => {
  const { dir, env } = home
  // A process that leads a session has no terminal.
  const options = {
    cwd: dir,
    env: { ...env, GDN_API_KEY: 'k' },
    extendEnv: false,
    detached: true,
    stdin: 'ignore',
    reject: false,
  } as const
  const { exitCode, stdout, stderr } = await execa(process.execPath, [GDN_BIN, ...argv], options)
  expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' })
  expect(stderr).toContain(flag)
})

test.skipIf(process.platform === 'win32')('names a deleted working directory, and what to do', () => {
  const line = `mkdir gone && cd gone && rmdir ../gone && "${process.execPath}" "${GDN_BIN}" wallet list`
  const { status, stderr } = spawnSync('sh', ['-c', line], { cwd: home.dir, env: home.env, encoding: 'utf8' })
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr:
      'error: the working directory no longer exists\n' +
      '  Change to another directory with `cd`, and run the same command again.\n',
  })
})

describe.each([
  ['SIGINT', 130, 'interrupted'],
  ['SIGTERM', 143, 'terminated'],
] as const)('%s exits with %i', (signal, code, name) => {
  const RECORD = { nft_gdn_id: 'a', contract_address: 'c', receiver_wallet_address: 'w', status: 'initiated' }

  test.each([
    ['while it waits for an NFT', 1],
    ['without the response to a request in flight', 2],
  ])('%s', async (_when, last) => {
    const hold = gate()
    let count = 0
    const server = await startHttpServer(async () => {
      if (++count === last) void hold.pass()
      if (count === 2) await new Promise(() => {})
      return { json: { requests: { nft_gdn_ids: ['a'] }, nfts: [{ ...RECORD, request_metadata: {} }] } }
    })
    const wait = home.start(['nft', 'wait', 'a', '--base-url', server.url, '--json'], { env: { GDN_API_KEY: 'k' } })
    await hold.reached
    const start = performance.now()
    wait.kill(signal)
    const { exitCode, stderr } = await wait
    await server.close()
    // A request times out after a minute.
    expect(performance.now() - start).toBeLessThan(30_000)
    expect(exitCode).toBe(code)
    expect(JSON.parse(String(stderr)).error.code).toBe(name)
  })
})

describe('a project cannot run code in gdn', () => {
  test('configuration in JavaScript is not loaded', async () => {
    const { writeFile } = await import('node:fs/promises')
    const { join } = await import('node:path')
    await writeFile(join(home.dir, 'gdn.config.js'), 'process.exit(42)')
    const { code, stdout } = await home.run(['config', 'list', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toHaveLength(6)
  })
})
