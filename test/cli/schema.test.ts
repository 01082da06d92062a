import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readApiBody } from '../../src/cli/request/api-body.ts'
import { JSON_ENDPOINTS } from '../../src/cli/request/api-endpoint.ts'
import { loadSchema, SCHEMA_NAMES } from '../../src/cli/schema/schemas.ts'
import { COLUMN_NOTES } from '../../src/manifest/json-schema.ts'
import { ENDPOINTS } from '../helpers/endpoints.ts'
import { fakeApi } from './fake-api.ts'
import { cli, tempHome } from './harness.ts'

test('lists the schemas, and prints one', async () => {
  const listed = await cli(['schema', '--json'])
  expect(JSON.parse(listed.stdout).map(({ name }: { name: string }) => name)).toEqual(SCHEMA_NAMES)
  const printed = await cli(['schema', 'backend'])
  expect(printed).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(printed.stdout)).toEqual(await loadSchema('backend'))
  const short = await cli(['schema', 'backend', '--json'])
  expect(short.stdout.trim().split('\n')).toHaveLength(1)
})

test.each([
  ['-o', 'table'],
  ['-o', 'csv'],
  ['-o', 'ids'],
  ['--fields', 'name'],
])('refuses %s %s with a name', async (...flags) => {
  const { code, stdout, stderr } = await cli(['schema', 'backend', ...flags])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toContain('a schema is printed as JSON')
})

test('prints the same line with --json and with -o json', async () => {
  const { stdout } = await cli(['schema', 'backend', '--json'])
  expect(await cli(['schema', 'backend', '-o', 'json'])).toMatchObject({ code: 0, stdout })
})

test('has the requests of all endpoints that create something', () => {
  const creating = JSON_ENDPOINTS.filter((name) => ENDPOINTS[name].creates !== null)
  expect(SCHEMA_NAMES).toEqual(expect.arrayContaining(creating))
})

test('suggests the nearest name', async () => {
  const { code, stderr } = await cli(['schema', 'manifset'])
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean manifest?') })
})

test('describes columns as docs/manifest.md does', async () => {
  const page = await readFile('docs/manifest.md', 'utf8')
  for (const note of Object.values(COLUMN_NOTES)) expect(page).toContain(`| ${note} |`)
})

test('the build has each schema as a file', async () => {
  expect((await readdir('dist/schemas')).sort()).toEqual(SCHEMA_NAMES.map((name) => `${name}.json`).sort())
  expect(JSON.parse(await readFile('dist/schemas/config.json', 'utf8'))).toEqual(await loadSchema('config'))
})

test.each([
  ['{"$schema": "./x.json", "nft_gdn_ids": ["a"]}', '{ "nft_gdn_ids": ["a"]}'],
  ['{"nft_gdn_ids": ["a"], "$schema": "./x.json"}', '{"nft_gdn_ids": ["a"]}'],
  ['{"$schema": "./x.json"}', '{}'],
  ['{"n": 12345678901234567890, "\\u0024schema" : "x,}" , "m": 1}', '{"n": 12345678901234567890 , "m": 1}'],
  ['{"$schema": 1}', '{"$schema": 1}'],
])('gdn api sends %s without $schema, and the rest as it is', async (text, sent) => {
  expect((await readApiBody({ stdin: Readable.from([Buffer.from(text)]) } as never, '-', [])).text).toBe(sent)
})

test('ignores $schema in a project file and in the user configuration, and keeps it there', async () => {
  const { dir, env: home } = await tempHome()
  await writeFile(join(dir, '.gdnrc.json'), '{"$schema": "./config.schema.json", "blockchain": "polygon"}')
  const file = join(dir, 'user.json')
  await writeFile(file, '{"$schema": "./user.schema.json", "profiles": {"default": {"rate": 1}}}', { mode: 0o600 })
  const options = { env: { ...home, GDN_CONFIG: file }, cwd: dir }
  const { code, stdout } = await cli(['config', 'get', 'blockchain'], options)
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'polygon\n' })
  expect((await cli(['config', 'set', 'rate', '2'], options)).code).toBe(0)
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
    $schema: './user.schema.json',
    profiles: { default: { rate: 2 } },
  })
})

test('publishes no $schema of a request or of metadata', async () => {
  const { url, calls } = await fakeApi({})
  const { dir, env: home } = await tempHome()
  const request = {
    $schema: './createnft.schema.json',
    contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    blockchain: 'polygon',
    receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    metadata: { title: 'Dawn', description: '', file_fields: [] },
  }
  const file = join(dir, 'one.json')
  await writeFile(file, JSON.stringify(request))
  const options = { env: { ...home, GDN_API_KEY: 'k', GDN_BASE_URL: url }, cwd: dir }
  const { code, stdout, stderr } = await cli(['nft', 'mint', '-f', file, '--dry-run', '--json'], options)
  expect({ code, calls: calls.length, stderr }).toMatchObject({ code: 0, calls: 0 })
  expect(stdout).not.toContain('$schema')
  const batch = await cli(['batch', 'validate', file, '--json'], options)
  expect({ code: batch.code, out: JSON.parse(batch.stdout) }).toMatchObject({ code: 0 })
})
