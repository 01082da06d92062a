import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cachedNode } from '../../src/build/cached-package.mjs'
import { type Container, makeDistroless, mountHost, startContainer, whyNoContainers } from '../helpers/container.ts'
import { buildImage, type ImageConfig } from '../helpers/dockerfile.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { ownPort } from '../helpers/own-port.ts'
import { composeFile, readDeployFile } from './folder.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const why = await whyNoContainers()

let folder: string
let image: { root: string; config: ImageConfig }
const containers: Container[] = []

/** Builds the image from the packed package, with Node.js 24 and the libraries of this machine. */
beforeAll(async () => {
  if (why !== null) return
  folder = await mkdtemp(join(tmpdir(), 'gdn-image-'))
  const context = join(folder, 'context')
  await mkdir(context)
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', context], { cwd: ROOT })
  const host = await mountHost(join(folder, 'host'))
  try {
    image = await buildImage(readDeployFile('Dockerfile'), context, async (base) => {
      if (base.startsWith('gcr.io/distroless/cc-debian12:nonroot')) return await makeDistroless(join(folder, 'root'))
      if (!base.startsWith('node:24-slim')) throw new Error(`no stand-in for ${base}`)
      await cp(await cachedNode('24'), join(host.root, 'usr/local/bin/node'))
      const env = { ...process.env, PATH: `/usr/local/bin:${process.env.PATH}`, npm_config_prefer_offline: 'true' }
      return { root: host.root, env: env as Record<string, string> }
    })
  } finally {
    await host.close()
  }
}, 600_000)
afterAll(async () => {
  // A test that failed leaves its own.
  for (const { child } of containers) child.kill('SIGKILL')
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

/** Every path of the image with its type, mode and content. */
async function listing(root: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const { mode, size } = await lstat(path)
    const content = entry.isSymbolicLink()
      ? await readlink(path)
      : entry.isFile()
        ? createHash('sha256')
            .update(await readFile(path))
            .digest('hex')
        : ''
    found.set(path.slice(root.length), `${mode.toString(8)} ${entry.isFile() ? size : ''} ${content}`)
  }
  return found
}

describe('the image', () => {
  beforeEach((context) => {
    if (why !== null) context.skip(why)
  })

  it('has neither a shell, a package manager nor files that raise privileges', async () => {
    const files = await listing(image.root)
    expect([...files].filter(([, text]) => /^10[4-7]\d{3} /.test(text))).toEqual([])
    expect([...files.keys()].filter((path) => /\/bin\/(sh|bash|env|npm|npx|apt)$/.test(path))).toEqual([])
    expect(files.get('/data')).toMatch(/^41777 /)
    const size = [...files.values()].reduce((sum, text) => sum + Number(text.split(' ')[1]), 0)
    process.stdout.write(`image: ${(size / 1e6).toFixed(0)} MB in ${files.size} files\n`)
    expect(size).toBeLessThan(250e6)
  })

  it('serves as an unprivileged user on a read-only root, is healthy, and keeps a drop over a restart', async () => {
    const before = await listing(image.root)
    const volume = join(folder, 'volume')
    await run('cp', ['-a', join(image.root, 'data'), volume])

    const first = await serve(volume)
    const pid = await first.container.pid()
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    expect(status).toMatch(/^Uid:\t65532\t65532\t65532\t65532$/m)
    expect(status).toMatch(/^CapEff:\t0+$/m)
    expect(status).toMatch(/^NoNewPrivs:\t1$/m)
    expect(status).toMatch(/^NSpid:.*\t1$/m)
    expect(await first.container.exec(...image.config.healthcheck)).toMatchObject({ code: 0, stderr: '' })
    const write = (path: string) =>
      `try { fs.writeFileSync('${path}', ''); console.log('written') } catch ({ code }) { console.log(code) }`
    for (const [path, outcome] of [
      ['/usr/x', 'EROFS'],
      ['/tmp/x', 'written'],
      ['/data/x', 'written'],
    ])
      expect(await first.container.exec('node', '-e', write(path ?? ''))).toMatchObject({ stdout: outcome })

    const native = '/usr/local/lib/node_modules/gdn/node_modules/litesvm-linux-x64-gnu'
    expect(await first.container.exec('node', '-e', `require('${native}')`)).toMatchObject({ code: 0, stderr: '' })

    const key = ['--name', 'shop', '--email', 'me@example.com', '--permission', 'all']
    const made = await first.container.exec('gdn', 'key', 'create', '--data-dir', '/data/gdn', ...key, '--json')
    expect(made).toMatchObject({ code: 0 })

    const { contract, home, titles } = await mintDrop(first)
    expect(await titles()).toEqual(['Dawn', 'Dusk'])
    const startedAt = Date.now()
    expect(await first.container.stop('SIGTERM')).toBe(0)
    // Docker sends SIGKILL after 10 seconds.
    expect(Date.now() - startedAt).toBeLessThan(10_000)

    const second = await serve(volume, first.port)
    expect(second.apiKey).toBe(first.apiKey)
    expect(await titles()).toEqual(['Dawn', 'Dusk'])
    const again = await gdnAt(second, home).run('batch', 'mint', join(home, 'drop.csv'), '-c', contract)
    expect(again.exitCode).toBe(0)
    expect(await titles()).toEqual(['Dawn', 'Dusk'])
    await second.container.stop('SIGTERM')
    expect(await listing(image.root)).toEqual(before)
  })

  it('is unhealthy while nothing listens', async () => {
    const volume = join(folder, 'volume-unhealthy')
    await run('cp', ['-a', join(image.root, 'data'), volume])
    const { container: running } = await serve(volume, 0, { HEALTH_PORT: '1' })
    expect(await running.exec(...image.config.healthcheck)).toMatchObject({ code: 1 })
    await running.stop('SIGTERM')
  })

  it('runs every command of compose.yaml by its entry point', async () => {
    const { services } = composeFile()
    for (const { build, command = [] } of Object.values(services)) {
      if (build === undefined) continue
      const [name = ''] = command
      const started = startContainer(image, { volume: join(image.root, 'data'), argv: [name, '--help'] })
      const output: string[] = []
      started.child.stdout?.on('data', (chunk) => output.push(String(chunk)))
      const [code] = await once(started.child, 'close')
      expect({ code, output: output.join('') }).toEqual({ code: 0, output: expect.stringContaining(`gdn ${name}`) })
    }
  })
})

interface Serving {
  container: Container
  url: string
  apiKey: string
  port: number
}

async function serve(volume: string, port = 0, env: Record<string, string> = {}): Promise<Serving> {
  const free = port === 0 ? await ownPort() : port
  const argv = ['serve', '--host=0.0.0.0', `--port=${free}`, '--data-dir=/data/gdn', '--rate-limits=off', '--json']
  const started = startContainer(image, { volume, argv, env: { HEALTH_PORT: `${free}`, ...env } })
  containers.push(started)
  let stderr = ''
  started.child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  const output = started.child.stdout
  if (output !== null)
    for await (const line of createInterface(output)) {
      const event = JSON.parse(line)
      if (event.event !== 'ready') continue
      output.resume()
      return { container: started, url: `http://127.0.0.1:${free}`, apiKey: event.api_key, port: free }
    }
  throw new Error(`the container ended: ${stderr}`)
}

/** Mints two rows through a backend, as a user of another machine. */
async function mintDrop(backend: Serving) {
  const home = await mkdtemp(join(folder, 'home-'))
  const gdn = gdnAt(backend, home)
  const { contract_address: contract } = await gdn.json<{ contract_address: string }>(
    ...['collection', 'create', '--name', 'Container', '--wallet', WALLET],
  )
  await writeFile(join(home, 'drop.csv'), `title,description,receiver\nDawn,first,${WALLET}\nDusk,second,${WALLET}\n`)
  const minted = await gdn.run('batch', 'mint', join(home, 'drop.csv'), '-c', contract)
  expect(minted).toMatchObject({ exitCode: 0 })
  const titles = async () => {
    const nfts = await gdn.json<{ request_metadata: { title: string } }[]>('nft', 'list', '-c', contract)
    return nfts.map(({ request_metadata: { title } }) => title).toSorted()
  }
  return { contract, home, titles }
}
