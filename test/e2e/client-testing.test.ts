/** @module-tag slow */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { execa } from 'execa'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { createClient } from '../../src/lib/create-client.ts'
import { startLocal } from '../../src/lib/testing.ts'
import { whenFileDone } from '../helpers/clean-up.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const root = join(import.meta.dirname, '../..')

/** A project that has this package as a dependency. */
let project: string
beforeAll(async () => {
  project = await temporaryFolder('gdn-project-', whenFileDone)
  await mkdir(join(project, 'node_modules'))
  await symlink(root, join(project, 'node_modules/gdn'))
  await symlink(join(root, 'node_modules/vitest'), join(project, 'node_modules/vitest'))
})

const MINT = `
import { createClient } from 'gdn'
export async function mintOne(gdn = createClient()) {
  const wallet_address = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
  const { response } = await gdn.api.createcollection({ wallet_address, name: 'Test', blockchain: 'polygon' })
  let contract_address
  while (!contract_address) {
    const { collections } = await gdn.api.getcollections({ transaction_gdn_ids: [response.transaction_gdn_id] })
    contract_address = collections[0]?.contract_address
  }
  const metadata = { title: 'Dawn', description: '', file_fields: [] }
  const request = { contract_address, blockchain: 'polygon', receiver_wallet_address: wallet_address, metadata }
  return (await gdn.mint(request, { idempotencyKey: 'order-42' })).nfts[0].status
}
`

const isListening = async (url: string) =>
  await fetch(`${url}/healthz`).then(
    () => true,
    () => false,
  )

const env = { GDN_BASE_URL: undefined, GDN_API_KEY: undefined, GDN_STATE_DIR: undefined }

test('vitest starts the backend by one line of its configuration', async () => {
  await writeFile(join(project, 'mint.mjs'), MINT)
  await writeFile(join(project, 'vitest.config.mjs'), "export default { test: { globalSetup: 'gdn/testing' } }")
  await writeFile(
    join(project, 'mint.test.mjs'),
    `import { expect, test } from 'vitest'
     import { mintOne } from './mint.mjs'
     test('mints', async () => expect(await mintOne()).toBe('deployed'), 30_000)`,
  )
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const { all, exitCode } = await execa('node', [vitest, 'run'], { cwd: project, env, all: true, reject: false })
  expect([exitCode, all]).toEqual([0, expect.stringContaining('1 passed')])
})

test('node:test starts the backend in a hook, and ends without stopping it', async () => {
  await writeFile(join(project, 'mint.mjs'), MINT)
  await writeFile(
    join(project, 'node-test.mjs'),
    `import assert from 'node:assert'
     import { test } from 'node:test'
     import { createClient } from 'gdn'
     import { startLocal } from 'gdn/testing'
     import { mintOne } from './mint.mjs'
     test('mints', async () => assert.equal(await mintOne(createClient(await startLocal())), 'deployed'))`,
  )
  const { all, exitCode } = await execa('node', ['--test', 'node-test.mjs'], {
    cwd: project,
    env,
    all: true,
    reject: false,
  })
  expect([exitCode, all]).toEqual([0, expect.stringMatching(/pass 1/)])
})

test('stop() ends the backend and deletes its state', async () => {
  const local = await startLocal()
  await createClient(local)
    .api.getnfts({ nft_gdn_ids: ['00000000-0000-0000-0000-000000000000'] })
    .catch(() => null)
  expect(await isListening(local.baseUrl)).toBe(true)
  await local.stop()
  expect(await isListening(local.baseUrl)).toBe(false)
  expect(existsSync(dirname(local.stateDir))).toBe(false)
})

test('a backend ends when the process that started it is killed', async () => {
  const script = `const { startLocal } = await import('gdn/testing')
    console.log(JSON.stringify(await startLocal()))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(child.stdout, 'data')
  const { baseUrl, stateDir } = JSON.parse(String(line))
  expect(await isListening(baseUrl)).toBe(true)
  child.kill('SIGKILL')
  await vi.waitFor(
    async () => expect([await isListening(baseUrl), existsSync(dirname(stateDir))]).toEqual([false, false]),
    { timeout: 20_000 },
  )
})

test('a backend that does not start is an error with its output', async () => {
  await expect(startLocal({ faults: '/nonexistent.yaml' })).rejects.toMatchObject({
    code: 'unexpected',
    message: expect.stringMatching(/did not start: .*nonexistent\.yaml/),
  })
})

test('a missing optional package has the code and the hint that docs/client.md names', async () => {
  const folder = await temporaryFolder('gdn-no-libsql-')
  const preload = join(folder, 'without-sqlite.cjs')
  await writeFile(
    preload,
    `const Module = require('node:module')
    const load = Module._load
    Module._load = function (name, ...rest) {
      if (/libsql|node:sqlite/.test(name)) throw Object.assign(new Error(name), { code: 'MODULE_NOT_FOUND' })
      return Reflect.apply(load, this, [name, ...rest])
    }`,
  )
  vi.stubEnv('NODE_OPTIONS', `--require=${preload}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  await expect(startLocal()).rejects.toMatchObject({
    code: 'native_missing',
    message: 'the local backend did not start: this Node.js has no built-in SQLite',
    hint: expect.stringContaining('npm install --include=optional libsql'),
  })
})
