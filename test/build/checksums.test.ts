/** @module-tag slow */
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listenLocally } from '../helpers/http-server.ts'

const SCRIPT = fileURLToPath(new URL('../../.github/checksums.mjs', import.meta.url))
const TOOLS = 'src/build/tools'
const SITE = 'docs/site'
const NATIVE = 'node_modules/native-other'
const CHECKSUM = `sha512-${'A'.repeat(86)}==`

/**
 * A project with an optional package of another system, whose lock file has no checksum for it.
 *
 * @param place the folder of that lock file; the others list no package
 */
async function project(
  served: Record<string, { version: string; integrity?: string }>,
  { locked = {}, place = '' }: { locked?: object; place?: string } = {},
) {
  const registry = createServer((request, response) => {
    const name = (request.url ?? '').slice(1)
    const found = Object.hasOwn(served, name) ? served[name] : undefined
    if (found === undefined) return response.writeHead(404).end('{}')
    const { version, integrity } = found
    const tarball = `http://${request.headers.host}/${name}-${version}.tgz`
    const entry = { name, version, os: ['haiku'], dist: { tarball, integrity } }
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ name, 'dist-tags': { latest: version }, versions: { [version]: entry } }))
  })
  const { url, close } = await listenLocally(registry)
  const folder = await mkdtemp(join(tmpdir(), 'gdn-checksums-'))
  onTestFinished(async () => {
    await close()
    await rm(folder, { recursive: true })
  })
  const root = { name: 'project', version: '1.0.0', optionalDependencies: { 'native-other': '1.0.0' } }
  const packages = { '': root, [NATIVE]: { version: '1.0.0', optional: true, os: ['haiku'], ...locked } }
  const bare = { name: 'project', version: '1.0.0' }
  for (const own of ['', TOOLS, SITE]) {
    await mkdir(join(folder, own), { recursive: true })
    const [manifest, listed] = own === place ? [root, packages] : [bare, { '': bare }]
    await writeFile(join(folder, own, 'package.json'), JSON.stringify(manifest))
    const lock = { name: 'project', version: '1.0.0', lockfileVersion: 3, requires: true, packages: listed }
    await writeFile(join(folder, own, 'package-lock.json'), JSON.stringify(lock))
  }
  const { exitCode, stdout } = await execa(process.execPath, [SCRIPT], {
    cwd: folder,
    env: {
      npm_config_registry: `${url}/`,
      npm_config_cache: join(folder, 'cache'),
      npm_config_userconfig: join(folder, 'npmrc'),
      npm_config_fetch_retries: '0',
    },
    reject: false,
  })
  const lock = JSON.parse(await readFile(join(folder, place, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, object>
  }
  return { exitCode, problems: stdout.split('\n').filter((line) => line.startsWith('::error')), lock }
}

describe.skipIf(spawnSync('npm', ['--version']).status !== 0)('the checksums of a release', () => {
  test.each(['', TOOLS, SITE])('are completed from the registry in the lock file of the folder "%s"', async (place) => {
    const served = { 'native-other': { version: '1.0.0', integrity: CHECKSUM } }
    const { exitCode, problems, lock } = await project(served, { place })
    expect({ exitCode, problems }).toEqual({ exitCode: 0, problems: [] })
    expect(lock.packages[NATIVE]).toMatchObject({ version: '1.0.0', integrity: CHECKSUM })
    expect(lock.packages[NATIVE]).not.toHaveProperty('resolved')
  })

  test.each([
    ['the registry has no checksum either', { 'native-other': { version: '1.0.0' } }, ''],
    ['the registry lacks the package', {}, ''],
    ['the registry lacks a package of the tools', {}, TOOLS],
  ])('fails if %s', async (_, served, place) => {
    const { exitCode, problems } = await project(served, { place })
    expect(exitCode).toBe(1)
    expect(problems.join('\n')).toContain(
      `${join(place, 'package-lock.json')}: ${NATIVE} has no checksum. See SECURITY.md.`,
    )
  })

  test('keep those that the lock file has', async () => {
    const { exitCode, lock } = await project({}, { locked: { integrity: CHECKSUM } })
    expect(exitCode).toBe(0)
    expect(lock.packages[NATIVE]).toMatchObject({ integrity: CHECKSUM })
  })
})
