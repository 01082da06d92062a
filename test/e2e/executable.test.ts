import { createHash } from 'node:crypto'
import { cp, link, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { arch, platform, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { packExecutable } from '../../src/build/executable.mjs'
import { SHELLS } from '../../src/cli/commands/completion.ts'
import { expectNoProcesses } from '../helpers/processes.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../helpers/solana.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const KILLED_ROWS = 60

/** A folder with the archive, and in it an empty home and a PATH that has gdn and nothing else. */
let folder: string
let archive: string
let program: string
let env: Record<string, string>

const start = (args: readonly string[], stdin: 'ignore' | 'pipe' = 'ignore') =>
  execa(join(env.PATH ?? '', 'gdn'), args, {
    cwd: join(folder, 'elsewhere'),
    env,
    extendEnv: false,
    reject: false,
    stdin,
  })

async function run(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await start(args)
  if (exitCode !== 0) throw new Error(`gdn ${args.join(' ')} ended with ${exitCode}: ${stderr}`)
  return stdout
}

const json = async <Value>(...args: string[]): Promise<Value> => JSON.parse(await run(...args, '--json'))

/** Path, size and time of everything in the unpacked archive. */
async function contents(): Promise<string[]> {
  const found = await readdir(program, { recursive: true })
  const lines = found.map(async (path) => {
    const { size, mtimeMs } = await stat(join(program, path))
    return `${path} ${size} ${mtimeMs}`
  })
  return (await Promise.all(lines)).sort()
}

let unpacked: string[]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gdn-executable-'))
  archive = await packExecutable(folder)
  const place = join(folder, 'a place with spaces')
  for (const path of [place, join(folder, 'home'), join(folder, 'bin'), join(folder, 'tmp'), join(folder, 'elsewhere')])
    await mkdir(path)
  await execa('tar', ['-xzf', archive, '-C', place])
  // Moved after it was unpacked, and then not writable.
  program = join(place, 'moved')
  await rename(join(place, (await readdir(place))[0] ?? ''), program)
  await execa('chmod', ['-R', 'a-w', program])
  await symlink(join(program, 'gdn'), join(folder, 'bin', 'gdn'))
  env = {
    PATH: join(folder, 'bin'),
    HOME: join(folder, 'home'),
    TMPDIR: join(folder, 'tmp'),
    GDN_PACE_DIR: join(folder, 'pace'),
    GDN_KEYRING: 'off',
    NODE_OPTIONS: '--require=/does/not/exist',
  }
  unpacked = await contents()
}, 300_000)

afterAll(async () => {
  await start(['local', 'stop'])
  await execa('chmod', ['-R', 'u+w', program])
  await rm(folder, { recursive: true, force: true })
})

describe('the executable', () => {
  test('is packed to the same bytes twice', async () => {
    const digest = async (path: string) =>
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex')
    expect(await digest(await packExecutable(join(folder, 'again')))).toBe(await digest(archive))
  }, 300_000)

  test('contains no path of the checkout in which it was packed', async () => {
    expect((await readFile(join(program, 'gdn'))).includes(ROOT)).toBe(false)
  })

  test('says what to do if it was copied without its files', async () => {
    const copy = join(folder, 'copy')
    await link(join(program, 'gdn'), copy)
    const { exitCode, stdout, stderr } = await execa(copy, ['--version'], { reject: false })
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 1,
      stdout: '',
      stderr:
        'error: files that belong to this executable are missing\n' +
        '  Unpack its archive again and keep its files together. Link the executable instead of copying it.',
    })
  })

  test('says what to do if its native parts are missing', async () => {
    const part = join(folder, 'part')
    await mkdir(part)
    await link(join(program, 'gdn'), join(part, 'gdn'))
    await cp(join(program, 'dist'), join(part, 'dist'), { recursive: true })
    await execa('chmod', ['-R', 'u+w', join(part, 'dist')])
    const { stderr } = await execa(join(part, 'gdn'), ['local', 'start'], { env, extendEnv: false, reject: false })
    expect(stderr).toMatch(/need anvil: the package \S+ is not installed\n {2}Unpack the gdn archive again/)
  })

  test('is packed with what it needs, licenses and documentation', async () => {
    const has = [
      ...['gdn', 'LICENSE', 'THIRD_PARTY_LICENSES.txt', 'README.md', 'man/man1/gdn.1', 'completions/_gdn'],
      ...['docs/install.md', 'dist/main.cjs'],
    ]
    expect(await readdir(program, { recursive: true })).toEqual(expect.arrayContaining(has))
    const { stdout } = await execa('tar', ['-tvzf', archive])
    expect(stdout.split('\n').filter((line) => !line.includes(' root/root '))).toEqual([])
    expect(stdout).not.toMatch(/libsql|musl|dist\/(?:lib|types)\/|package\/|\/bin\/gdn\.js/)
    const licenses = await readFile(join(program, 'THIRD_PARTY_LICENSES.txt'), 'utf8')
    for (const name of ['Node.js 24.', '@foundry-rs/anvil-', 'litesvm-', '@napi-rs/keyring-', 'fastify ']) {
      expect(licenses).toContain(name)
    }
  })

  test('prints version, help, topics and completions', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect(await run('--version')).toBe(version)
    expect(await run('--help')).toContain(join(program, 'README.md'))
    expect(await run('help', 'manifest')).toContain('drop.csv')
    const files = { bash: 'gdn.bash', zsh: '_gdn', fish: 'gdn.fish', powershell: 'gdn.ps1' }
    for (const shell of SHELLS) {
      const expected = await readFile(join(ROOT, 'completions', files[shell]), 'utf8')
      expect(await run('completion', shell)).toBe(expected.replace(/\n$/, ''))
    }
    expect(await run('__complete', 'profiles')).toContain('local\t')
  })

  test('passes the check of the release workflow', async () => {
    const { jobs } = parse(await readFile(join(ROOT, '.github/workflows/release.yml'), 'utf8'))
    const steps: { name?: string; run: string }[] = jobs.executables.steps
    const script = steps.find(({ name }) => name === 'A first drop from the archive')?.run ?? 'exit 1'
    const job = join(folder, 'job')
    await mkdir(join(job, 'out'), { recursive: true })
    await symlink(archive, join(job, 'out', basename(archive)))
    const { NODE_OPTIONS, ...home } = env
    await execa('/bin/bash', ['-eo', 'pipefail', '-c', script], {
      cwd: job,
      env: { ...home, PATH: '/bin' },
      extendEnv: false,
    })
  })

  test('finds the native parts', async () => {
    const checks = await json<{ checks: { name: string; status: string; detail: string }[] }>('doctor')
    expect(JSON.stringify(checks)).toMatch(new RegExp(`v24\\.\\d+\\.\\d+ on ${platform()} ${arch()}`))
    const said = JSON.stringify(checks)
    for (const part of ['anvil', 'litesvm', 'SQLite']) expect(said).toContain(part)
    expect(said).not.toContain('"error"')
  })

  test('says that images of art need the npm package', async () => {
    const art = join(ROOT, 'examples/art/art.yaml')
    const { exitCode, stderr } = await start(['art', 'generate', art, '--count', '24', '--out', join(folder, 'drop')])
    expect(exitCode).not.toBe(0)
    expect(stderr).toContain("the gdn executable doesn't contain sharp, which renders the images")
    expect(stderr).toContain('To generate images, install gdn with npm.')
  })

  test('starts a backend, mints a drop and a Solana NFT, and stops it', async () => {
    const { pid } = await json<{ pid: number }>('local', 'start', '--port', '0')
    const at = ['--local', '-b', 'polygon']
    const created = await json<{ contract_address: string }>(
      ...['collection', 'create', ...at, '--name', 'Tide', '--wallet', WALLET],
    )
    const collection = [...at, '-c', created.contract_address]
    await run('batch', 'mint', join(program, 'examples/drop.csv'), ...collection, '--run', 'drop')
    expect((await run('nft', 'list', ...collection, '-o', 'ids')).split('\n')).toHaveLength(24)

    const solana = ['--local', '-b', 'solana']
    const { description, image } = SOLANA_COLLECTION
    const onSolana = await json<{ contract_address: string }>(
      ...['collection', 'create', ...solana, '--wallet', solanaWallet(0)],
      ...['--name', 'Tide', '--description', description, '--image', image],
    )
    const nft = await json<{ status: string }>(
      ...['nft', 'mint', ...solana, '-c', onSolana.contract_address, '--receiver', solanaWallet(1), '--title', 'Dawn'],
    )
    expect(nft.status).toBe('deployed')

    await run('local', 'stop')
    expect(() => process.kill(pid, 0)).toThrow()
  })

  test('resumes a batch that SIGKILL ended, and mints no row twice', async () => {
    await run('local', 'start', '--port', '0')
    const at = ['--local', '-b', 'polygon']
    const created = await json<{ contract_address: string }>(
      ...['collection', 'create', ...at, '--name', 'Killed', '--wallet', WALLET],
    )
    const collection = [...at, '-c', created.contract_address]
    const rows = Array.from({ length: KILLED_ROWS }, (_, index) => `Piece ${index},One of many,${WALLET}\n`)
    await writeFile(join(folder, 'elsewhere/killed.csv'), `title,description,receiver\n${rows.join('')}`)
    const mint = ['batch', 'mint', 'killed.csv', ...collection, '--run', 'killed', '--chunk-size', '2']
    const listed = async () => (await run('nft', 'list', ...collection, '-o', 'ids')).split('\n').filter(Boolean).length
    const batch = start([...mint, '--rate', '2'])
    await vi.waitFor(async () => expect(await listed()).toBeGreaterThan(3), { timeout: 60_000, interval: 100 })
    batch.kill('SIGKILL')
    expect((await batch).signal).toBe('SIGKILL')
    expect(await listed()).toBeLessThan(KILLED_ROWS)
    await run(...mint)
    expect(await listed()).toBe(KILLED_ROWS)
    await run('local', 'stop')
  })

  test('gives the command of local exec a backend and its NODE_OPTIONS, and leaves nothing if SIGKILL ends it', async () => {
    const script = 'gdn collection list --json && echo "$NODE_OPTIONS" && read -r line'
    const exec = start(['local', 'exec', '--', '/bin/sh', '-c', script], 'pipe')
    const lines: string[] = []
    for await (const line of exec) {
      lines.push(line)
      if (line !== env.NODE_OPTIONS) continue
      exec.kill('SIGKILL')
      // Ends the command of local exec, which holds the output open.
      exec.stdin?.end()
    }
    expect((await exec).signal).toBe('SIGKILL')
    expect(lines).toEqual(['[]', env.NODE_OPTIONS])
    await vi.waitFor(async () => expect(await readdir(join(folder, 'tmp'))).toEqual([]), { timeout: 60_000 })
  })

  test('writes nothing into its own folder, and leaves no process', async () => {
    await expectNoProcesses(join(program, 'gdn'))
    expect(await contents()).toEqual(unpacked)
  })
})
