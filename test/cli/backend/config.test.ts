import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { cli } from '../harness.ts'

let dir: string

beforeEach(async () => {
  dir = await temporaryFolder('gdn-config-')
})

async function settings(name: string, blockchain: string): Promise<string> {
  const path = join(dir, name)
  const operators = '[{ keystore: one.json, password_file: one }]'
  const text = `chains:\n  ${blockchain}: { rpc_urls: ['http://127.0.0.1:1'], operators: ${operators} }\n`
  await writeFile(path, text, { mode: 0o600 })
  return path
}

const listed = async (env: Record<string, string>, ...flags: string[]) => {
  const { stdout } = await cli(['chain', 'list', '--json', ...flags], { env })
  const rows: { blockchain: string; network: string }[] = JSON.parse(stdout)
  return rows.filter(({ network }) => network === 'rpc').map(({ blockchain }) => blockchain)
}

test('reads the backend configuration from GDN_BACKEND_CONFIG for administration too; --config overrides it', async () => {
  const env = { GDN_BACKEND_CONFIG: await settings('a.yaml', 'polygon') }
  expect(await listed(env)).toEqual(['polygon'])
  expect(await listed(env, '--config', await settings('b.yaml', 'fantom'))).toEqual(['fantom'])
  expect(await listed({ GDN_BACKEND_CONFIG: '' })).toEqual([])
})

test.each(['key list', 'db status', 'webhook list', 'tx list'])(
  "%s names the configuration file that can't be read",
  async (command) => {
    const path = join(dir, 'nowhere.yaml')
    const { code, stderr } = await cli([...command.split(' '), '--json'], { env: { GDN_BACKEND_CONFIG: path } })
    expect(code).toBe(2)
    expect(stderr).toContain(path)
  },
)
